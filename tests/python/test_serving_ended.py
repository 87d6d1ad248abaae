"""What a client showed when it connected, and what has ended since."""

import http.client
import json
import ssl
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving_fakes import parties
from test_serving_client import https_certificate
from test_serving_identity import certificate


def test_a_certificate_that_ends_while_its_connection_is_kept(tmp_path):
    (path, key), _ = certificate(tmp_path, "hospital", days=9)
    own, own_key = https_certificate(tmp_path)
    clients = ([{"name": "hospital", "certificate": str(path)}],) * 3
    more = {"certificate": str(own), "key": str(own_key)}
    with parties(tmp_path, clients, **more) as (running, _):
        trust = ssl.create_default_context(cafile=own)
        trust.load_cert_chain(path, key)
        kept = http.client.HTTPSConnection("localhost", running[0].port, context=trust, timeout=5)

        def ask(days):
            running[0].party.policy.clock = lambda: time.time() + 86400 * days
            kept.request("GET", "/v2/models/digits")
            answer = kept.getresponse()
            return answer.status, json.loads(answer.read()), answer.will_close

        for days in (0, 8.9):
            status, told, closes = ask(days)
            assert (status, told["name"], closes) == (200, "digits", False)
        status, told, closes = ask(9)
        assert (status, told["code"], closes) == (401, "unknown-client", True)
        assert "has ended" in told["error"]
