"""Keys of an identity provider that are fetched from its own address."""

import http.server
import json
import ssl
import threading
from contextlib import suppress

import pytest

pytest.importorskip("httpx")
pytest.importorskip("jwt", reason="PyJWT is not installed")

from serving_fakes import config, wait_for
from test_serving_client import https_certificate
from test_serving_identity import Provider

from tacit import TacitError
from tacit.serving import keysets
from tacit.serving.clients import clients_of
from tacit.serving.keysets import FetchedKeys, keys_from
from tacit.serving.policy import Policy
from tacit.serving.tokens import tokens_of


class Address:
    """An address of keys, whose answer may be changed."""

    def __init__(self, folder, monkeypatch):
        self.status, self.body, self.asked, self.headers = 200, b"{}", 0, {}
        own, key = https_certificate(folder)
        monkeypatch.setenv("SSL_CERT_FILE", str(own))
        address = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                address.asked += 1
                self.send_response(address.status)
                for name, value in address.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(address.body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(own, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"https://localhost:{self.server.server_port}/keys"

    def shows(self, *providers):
        self.body = json.dumps({"keys": [each.public for each in providers]}).encode()


@pytest.fixture
def address(tmp_path, monkeypatch):
    made = Address(tmp_path, monkeypatch)
    yield made
    made.server.shutdown()
    made.server.server_close()


def policy_of(folder, address, warned):
    made = config(folder, 0, 8100, clients=[{"name": "lab", "subject": "lab"}])
    made["issuers"] = [
        {"issuer": "https://login.example", "audience": "tacit-alpha", "keys": address.url}
    ]
    return Policy(clients_of(made), None, tokens=tokens_of(made, warned.append)), made


def is_known(policy, token):
    try:
        return policy.who([f"Bearer {token}"]).name == "lab"
    except Exception as error:
        assert error.code == "unknown-client", error
        return False


def test_keys_are_fetched_once_and_when_another_is_named(tmp_path, address, monkeypatch):
    """The provider changes its keys: within a minute tokens by the new one are taken."""
    one, two = Provider(tmp_path, "one"), Provider(tmp_path, "two")
    address.shows(one)
    warned = []
    policy, _ = policy_of(tmp_path, address, warned)
    assert all(is_known(policy, one.token()) for _ in range(20))
    assert address.asked == 1
    address.shows(one, two)
    # So soon after the last time nothing is fetched, however many ask by keys that are not there.
    assert not any(is_known(policy, two.token()) for _ in range(20))
    assert address.asked == 1
    monkeypatch.setattr(keysets, "PAUSE_S", 0.0)
    wait_for(lambda: is_known(policy, two.token()))
    assert is_known(policy, one.token())
    assert warned == []


def test_keys_that_cannot_be_fetched_stay_for_a_day(tmp_path, address):
    one = Provider(tmp_path)
    address.shows(one)
    warned, now = [], [1000.0]
    keys = FetchedKeys(address.url, warned.append, lambda: now[0])
    keys.refresh()
    assert keys.find("one")
    for status, body, words in [
        (500, b"", "status 500"),
        (302, b"", "status 302"),
        (200, b"<html>", "no JSON Web Key Set"),
        (200, b"[" * 100_000, "no JSON Web Key Set"),
        (200, b'{"keys": []}', "no JSON Web Key Set"),
        (200, b" " * (keysets.MOST + 1), "more than"),
    ]:
        address.status, address.body = status, body
        address.headers = {"location": "/elsewhere"} if status == 302 else {}
        before = len(warned)
        keys.refresh()
        assert len(warned) == before + 1 and words in warned[-1], (words, warned[-1])
        assert keys.find("one")
    now[0] += keysets.DEAD_S
    keys.tried = now[0]
    assert keys.find("one") is None


def test_keys_that_drip_are_given_up(address, monkeypatch):
    monkeypatch.setattr(keysets, "PATIENCE_S", 0.0)
    with pytest.raises(TacitError, match=r"not within|cannot be reached"):
        keysets.fetched(address.url)


def test_a_config_that_is_read_anew_keeps_what_was_fetched(tmp_path, address):
    one, warned = Provider(tmp_path), []
    address.shows(one)
    policy, made = policy_of(tmp_path, address, warned)
    address.status = 503
    again = tokens_of(made, warned.append)
    again.keep(policy.tokens)
    policy.tokens = again
    assert len(warned) == 1 and is_known(policy, one.token())


def test_only_https_and_only_who_is_trusted(tmp_path, address, monkeypatch):
    with pytest.raises(TacitError, match="anyone on the way"):
        keys_from("http://127.0.0.1/keys", print)
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(TacitError, match="cannot be reached"):
        keysets.fetched(address.url)
    assert address.asked == 0
