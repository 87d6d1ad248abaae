"""`tacit doctor`: what keeps parties from running is found at both ends, with what to do."""

import datetime
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import serving_config
import serving_fakes
from ports import free_ports, move_ports
from test_serving_client import https_certificate

from tacit import TacitError, __version__, _tacit
from tacit.cli import main
from tacit.operating import echo, local, peers
from tacit.operating.doctor import _addresses, examine, url_of
from tacit.operating.members import Member
from tacit.operating.ports import listening


@pytest.fixture
def parties(tmp_path):
    """Folders of three parties with free ports."""
    _tacit.init(str(tmp_path), json.dumps({"protocol": "falcon", "port": 7100}))
    homes = [tmp_path / f"party{party}" for party in range(3)]
    move_ports([home / "party.toml" for home in homes])
    return homes


def found(home, wait=6.0):
    return list(examine(str(home / "party.toml"), wait))


def all_found(homes, wait=6.0):
    """What doctors find that run at once."""
    with ThreadPoolExecutor(len(homes)) as threads:
        return list(threads.map(lambda home: found(home, wait), homes))


def bad(findings):
    return [each for each in findings if each.level != "ok"]


def errors(findings, check=None):
    return [each for each in findings if each.level == "error" and check in (None, each.check)]


def edit(home, old, new):
    text = (home / "party.toml").read_text()
    assert old in text
    (home / "party.toml").write_text(text.replace(old, new))


def certificate(home, days, *, begins=-1.0):
    """A key and certificate of so many days, in place of a party's."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "made")])
    now = datetime.datetime.now(datetime.timezone.utc)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    built = built.public_key(key.public_key()).serial_number(7)
    built = built.not_valid_before(now + datetime.timedelta(days=begins))
    built = built.not_valid_after(now + datetime.timedelta(days=days))
    made = built.sign(key, hashes.SHA256())
    form = serialization.PrivateFormat.PKCS8
    pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (home / "key.pem").write_bytes(pem)
    (home / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))


def test_three_doctors_at_once(parties):
    for number, findings in enumerate(all_found(parties)):
        assert bad(findings) == []
        met = [each for each in findings if each.check == "network"]
        assert len(met) == 2
        for each in met:
            assert 0 < each.facts["round_trip_s"] < 1
            assert each.facts["up"] > 1e6 and each.facts["down"] > 1e6
            assert each.facts["party"] != number
        clocks = [each.facts["ahead_s"] for each in findings if each.check == "clock"]
        assert all(abs(ahead) < 1 for ahead in clocks)


def test_the_command_has_a_code_and_json(parties, tmp_path, capsys):
    path = tmp_path / "found.json"
    line = ["doctor", "--config", str(parties[2] / "party.toml"), "--wait", "0.2"]
    assert main([*line, "--json", str(path)]) == 2
    told = json.loads(path.read_text())
    assert told["worst"] == "error"
    unmet = [each for each in told["findings"] if each["level"] == "error"]
    assert {each["party"] for each in unmet} == {0, 1}
    assert all("start `tacit doctor`" in each["do"] for each in unmet)
    assert "nobody listens" in capsys.readouterr().out.replace("\n", " ")


def test_who_does_not_come_is_named(parties):
    """Parties above this one come to it: it cannot tell why they do not."""
    findings = found(parties[0], 0.3)
    assert errors(findings) == []
    assert sum("has not come in" in each.words for each in bad(findings)) == 2


def test_a_stranger_at_either_end(parties):
    """Party 1 has a new key that the others do not know: all three find out."""
    certificate(parties[1], 90)
    zero, one, two = all_found(parties, 4.0)
    assert any("turned away" in each.words and "not that of party 1" in each.words for each in zero)
    told = errors(one, "peer")
    assert any("does not accept this party's certificate" in each.words for each in told)
    assert any("not that of party 1" in each.words for each in errors(two, "peer"))
    # Those two know each other all the same.
    assert any(each.check == "network" and each.level == "ok" for each in zero)


@pytest.mark.parametrize(
    ("days", "begins", "level", "words"),
    [
        (-0.5, -1, "error", "has expired"),
        (5, -1, "warning", "ends in 5 days"),
        (90, 2, "error", "not valid yet"),
    ],
)
def test_periods(parties, days, begins, level, words):
    certificate(parties[0], days, begins=begins)
    told = [each for each in found(parties[0], 0.0) if each.check == "certificate"]
    own = next(each for each in told if "party 0" in each.words)
    assert own.level == level and words in own.words and own.do


def test_an_expired_certificate_is_refused_between_doctors(parties):
    certificate(parties[0], -0.5)
    for home in parties[1:]:
        (home / "party0.pem").write_bytes((parties[0] / "cert.pem").read_bytes())
    _, one, _ = all_found(parties, 3.0)
    assert any("expired" in each.words for each in errors(one, "peer"))


def test_keys_that_are_wrong(parties):
    zero, one, two = parties
    (zero / "key.pem").chmod(0o640)
    assert "chmod 600" in errors(found(zero, 0.0), "key")[0].words
    (one / "key.pem").write_bytes((two / "key.pem").read_bytes())
    told = errors(found(one, 0.0), "key")[0]
    assert "does not fit" in told.words and "cert.pem" in told.words
    (two / "key.pem").unlink()
    findings = found(two, 0.0)
    assert errors(findings, "key")
    assert any("has no key" in each.words for each in findings)


def test_a_certificate_that_is_another_partys(parties):
    home = parties[0]
    (home / "party2.pem").write_bytes((home / "party1.pem").read_bytes())
    told = errors(found(home, 0.0), "certificate")
    assert any("have the same certificate" in each.words for each in told)
    (home / "party2.pem").write_text("nothing")
    told = errors(found(home, 0.0), "certificate")
    assert any("not a certificate" in each.words for each in told)


def test_what_is_listed_is_what_is_shown(parties):
    home = parties[0]
    (home / "another.pem").write_bytes((home / "cert.pem").read_bytes())
    before, listed = (home / "party.toml").read_text().split("[[parties]]", 1)
    listed = listed.replace('"cert.pem"', '"another.pem"', 1)
    (home / "party.toml").write_text(f"{before}[[parties]]{listed}")
    assert errors(found(home, 0.0)) == []
    certificate(home, 90)
    told = errors(found(home, 0.0), "key")
    assert told and "put its own there" in told[0].do


def test_ports(parties):
    home = parties[0]
    host, _, port = Member.read(str(home / "party.toml")).listen.rpartition(":")
    with socket.create_server((host, int(port))):
        told = next(each for each in found(home, 0.0) if each.check == "port")
    assert told.level == "warning" and "cannot be listened at" in told.words
    edit(home, "[run]", 'listen = "192.0.2.77:7777"\n\n[run]')
    told = next(each for each in found(home, 0.0) if each.check == "port")
    assert told.level == "error" and "an address of this machine" in told.do


@pytest.mark.parametrize("secured", [False, True])
def test_a_port_that_this_partys_service_holds(tmp_path, secured):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    pytest.importorskip("cryptography")
    more = {}
    if secured:
        paths = https_certificate(tmp_path)
        more = dict(zip(("certificate", "key"), map(str, paths), strict=True))
    with serving_fakes.parties(tmp_path, **more) as (running, _):
        one = running[0]
        addresses = {"clients": one.address}
        (told,) = local.ports(addresses, url_of(one.config["service"]))
        assert told.level == "ok" and "this party's service runs" in told.words
    # Whatever else holds it is none, though it answers.
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        threading.Thread(target=babble, args=(other,), daemon=True).start()
        (told,) = local.ports({"clients": address}, f"http://{address}")
        assert told.level == "warning" and "cannot be listened at" in told.words


def babble(listener):
    """Answers by what is not HTTP."""
    with suppress(OSError):
        plain, _ = listener.accept()
        with plain:
            plain.sendall(b"220 smtp.example ESMTP\r\n" * 99)


def test_every_session_of_a_model_has_a_port(parties):
    member = Member.read(str(parties[0] / "party.toml"))
    host, _, port = member.listen.rpartition(":")
    models = [
        {"name": "a", "version": "1", "place": 0, "sessions": 2},
        {"name": "b", "version": "2", "place": 5, "sessions": 1},
    ]
    found = _addresses(member, {"models": models, "service": {"listen": "127.0.0.1:1"}})
    assert found == {
        "a version 1, session 0": f"{host}:{port}",
        "a version 1, session 1": f"{host}:{int(port) + 1}",
        "b version 2": f"{host}:{int(port) + 5}",
        "clients": "127.0.0.1:1",
    }
    assert _addresses(member, None) == {"the parties": member.listen}


def test_a_config_that_cannot_be_read(parties, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("[party\n")
    told = list(examine(str(path), 0.0))
    assert [each.check for each in errors(told)] == ["config"]


def test_versions_and_clocks_that_differ(parties):
    peer = Member.read(str(parties[0] / "party.toml")).parties[1]
    met = echo.Met("doctor", "0.0.0", 300.0, 0.01, 1e8, 1e8)
    told = list(peers.told_of(peer, met))
    assert any(each.level == "error" and __version__ in each.words for each in told)
    slow = next(each for each in told if each.check == "clock")
    assert slow.level == "warning" and "300.0 s ahead" in slow.words and "NTP" in slow.do
    # What cannot be told from the way there is not warned of.
    assert peers.clock(peer, 61.0, 2.0).level == "ok"


def test_a_clock_is_told_by_http(parties):
    """A service that has met all parties listens to clients alone."""

    class Late(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"live": true}')

        def date_time_string(self, timestamp=None):
            return "Wed, 01 Jan 2020 00:00:00 GMT"

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Late)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        edit(parties[2], 'name = "model-owner"', f'name = "model-owner"\nhttp = "{url}"')
        findings = found(parties[2], 0.2)
    finally:
        server.shutdown()
        server.server_close()
    assert not any(each.facts.get("party") == 0 for each in errors(findings))
    assert any(each.check == "clock" and each.level == "warning" for each in findings)
    assert any("are not checked" in each.words for each in findings)


def test_strangers_at_the_doctors_port(parties):
    """Whatever comes in, the others are met."""
    host, _, port = Member.read(str(parties[0] / "party.toml")).listen.rpartition(":")
    over = threading.Event()

    def noise():
        silent = []
        while not over.is_set():
            for text in (b"", b"GET / HTTP/1.1\r\n\r\n", echo.KNOCK.pack(echo.MAGIC, 9, 0)):
                try:
                    stranger = socket.create_connection((host, int(port)), 1)
                    stranger.sendall(text)
                    silent.append(stranger) if not text and len(silent) < 3 else stranger.close()
                except OSError:
                    pass
            time.sleep(0.05)
        for each in silent:
            each.close()

    thread = threading.Thread(target=noise)
    thread.start()
    try:
        zero = all_found(parties, 8.0)[0]
    finally:
        over.set()
        thread.join()
    assert sum(each.check == "network" for each in zero) == 2
    strays = [each for each in zero if "turned away" in each.words]
    assert 0 < len(strays) <= peers.TOLD


def test_strangers_hold_no_place_against_a_party(parties):
    """Parties are met though there are more silent connections than places when they come."""
    host, _, port = Member.read(str(parties[0] / "party.toml")).listen.rpartition(":")
    silent = []

    def hold():
        """Strangers that say nothing, or no more than whose they claim to be."""
        with suppress(OSError):
            stranger = socket.create_connection((host, int(port)), 1)
            silent.append(stranger)
            knock = echo.KNOCK.pack(echo.MAGIC, 1 + len(silent) % 2, 0)
            stranger.sendall(knock if len(silent) % 3 else b"")
        return len(silent) > 2 * peers.AT_ONCE

    with ThreadPoolExecutor(1) as threads:
        zero = threads.submit(found, parties[0], 10.0)
        try:
            serving_fakes.wait_for(hold)
            all_found(parties[1:], 8.0)
        finally:
            for each in silent:
                each.close()
        told = zero.result()
    assert sum(each.check == "network" for each in told) == 2
    assert 0 < sum("turned away" in each.words for each in told) <= peers.TOLD


def test_a_party_that_hangs_up_within_tls_is_dialled_again(parties):
    """A full party hangs up, too: it is met as soon as it has a place."""
    listen = Member.read(str(parties[0] / "party.toml")).listen
    hung_up = []
    with ThreadPoolExecutor(1) as threads:
        with listening(listen) as full:
            full.settimeout(10)
            one = threads.submit(found, parties[1], 15.0)
            for _ in range(2):
                plain, _ = full.accept()
                plain.setblocking(True)
                with plain:
                    hung_up.append(plain.recv(echo.KNOCK.size + 1, socket.MSG_WAITALL))
                    plain.shutdown(socket.SHUT_RDWR)
        all_found(parties[::2], 15.0)
    assert [len(each) for each in hung_up] == [echo.KNOCK.size + 1] * 2
    assert any(each.check == "network" and each.facts["party"] == 0 for each in one.result())


def test_a_false_doctor(parties):
    """Numbers and lines that are none end the connection, with words."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b'"text"\n')
        with pytest.raises(ValueError, match="no object"):
            echo._heard(ours)
        theirs.sendall(b"x" * 5000)
        with pytest.raises(ValueError, match="too long"):
            echo._heard(ours)
        with pytest.raises(echo.Unmet, match="does not speak"):
            member = Member.read(str(parties[0] / "party.toml"))
            echo.greet(member, ours, b"")


def test_a_party_that_waits_is_seen_and_not_disturbed(tmp_path, digits_path):
    """A waiting party is met as far as its hello; it goes on waiting for the real one."""
    serving_config.write(tmp_path, digits_path, free_ports(6), "falcon")
    configs = [str(tmp_path / f"party{party}" / "serve.toml") for party in range(3)]
    said, services = [], [_tacit.Service(path, "digits") for path in configs]

    def live(service):
        with suppress(TacitError):
            service.run(said.append)

    threads = [threading.Thread(target=live, args=(services[0],))]
    threads[0].start()
    told = [each for each in examine(configs[1], 1.0) if each.facts.get("party") == 0]
    assert any("waits to run" in each.words for each in told)
    assert any("hung up" in words for words in said)
    for service in services[1:]:
        threads.append(threading.Thread(target=live, args=(service,)))
        threads[-1].start()
    serving_fakes.wait_for(lambda: all(each.described() for each in services), 20)
    for service in services:
        service.leave()
    for thread in threads:
        thread.join()


def test_memory_that_does_not_suffice(monkeypatch):
    monkeypatch.setattr(local, "available", lambda: 2_000_000_000)
    told = local._fits("all models", 3_000_000_000, 1_000_000)
    assert told.level == "warning" and "3.0 GB" in told.words and "smaller batch" in told.do
    monkeypatch.setattr(local, "available", lambda: None)
    assert local._fits("all models", 1, 1).level == "warning"


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":' + b"[" * 4000 + b"]" * 80 + b"}",
        b'{"version": "1", "time": 1' + b"0" * 400 + b"}",
        b'{"version": "1", "time": Infinity}',
        b"[1]",
        b"\xff",
    ],
)
def test_what_another_doctor_says_is_hostile(parties, line):
    """A peer that is accepted may still send anything: it is not met, and nothing else happens."""
    peer = Member.read(str(parties[0] / "party.toml")).parties[1]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(line + b"\n" + bytes(8 * echo.ROUNDS + 1))
        ours.settimeout(2)
        with pytest.raises(echo.Unmet):
            echo._measured(ours, peer)


def test_files_that_cannot_be_read_leave_the_other_findings(parties):
    """Of each party something is found, though the certificate of one is not there."""
    (parties[2] / "party0.pem").write_text("no certificate")
    member = Member.read(str(parties[2] / "party.toml"))
    with socket.create_server(tuple_of(member.parties[0].address)):
        found = list(examine(str(parties[2] / "party.toml"), 0.5, models=False))
    assert any("cannot be met from here" in each.words for each in found), found
    assert any(str(member.parties[1]) in each.words for each in found)


def tuple_of(address):
    host, _, port = address.rpartition(":")
    return host, int(port)
