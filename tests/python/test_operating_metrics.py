"""`tacit metrics`: a party's metrics in a terminal; whoever answers may answer as it likes."""

import json
import socket
import sys
import time

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from ports import free_ports
from serving_fakes import client_table, keys, parties
from test_operating_http import answering
from test_serving_http import ask_all, body, good, shares

from tacit import TacitError
from tacit.cli import main
from tacit.operating import scrape as scraping
from tacit.operating.levels import MOST_ROWS, Levels, quantile
from tacit.operating.scrape import MOST, MOST_LINE, samples, scrape

STATE = 'tacit_state{model="digits",state="ready",version="1"} 1.0\n'


@pytest.fixture
def three(tmp_path):
    with parties(tmp_path) as (running, worlds):
        yield running, worlds["digits"]


def said(capsys):
    """What the command wrote, without the spaces that fit a terminal."""
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def of(text):
    return Levels.of("http://127.0.0.1:1", samples(text.encode(), "http://127.0.0.1:1"))


def test_a_party_as_its_operator_sees_it(three, capsys, tmp_path):
    running, world = three
    for _ in range(3):
        good((running, world))
    running[0].services["digits"].said = {"code": "budget", "message": "spent"}
    ask_all(running[:1] * 3, [body(world, part) for part in shares(np.ones((2, 4)))])
    assert main(["metrics", running[0].url, "--json", str(tmp_path / "all.json")]) == 0
    lines = said(capsys)
    assert lines[0].startswith(f"{running[0].url}: 1 of 1 models ready; counted for ")
    for words in (
        "digits ready 3 0 0 0 0",
        "digits 1 0 0 - 1.5 s 16",
        "queue 3 1 ms 1 ms 1.98 ms",
        "batch 3 0.5 ms 1 ms 1.98 ms",
        "digits beta 3 B 6 B",
        "gamma 4 B 2 B",
        "not answered 3 budget (digits)",
        "errors none",
        "certificates beta 365, gamma 365, alpha 365 days left",
    ):
        assert words in lines
    assert max(len(line) for line in lines) <= 80
    told = json.loads((tmp_path / "all.json").read_text())
    assert told["models"][0]["pool"] == 16 and told["peers"][0]["peer"] == "beta"
    assert [each["phase"] for each in told["phases"]][:3] == ["read", "queue", "batch"]


def test_a_party_that_is_not_ready(three, capsys):
    one = three[0][0]
    one.services["digits"].breaks("quarantined", "a check failed", [1])
    until = time.monotonic() + 5
    while not one.party.host.reasons() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.2)
    assert main(["metrics", one.url]) == 0
    lines = said(capsys)
    assert "0 of 1 models ready" in lines[0]
    assert "digits quarantined 0 0 0 0 0" in lines
    assert "errors 1 cheating (digits)" in lines


def test_a_key_from_another_machine(tmp_path, monkeypatch):
    """A party that takes this machine for another one asks for a key."""
    monkeypatch.setattr("tacit.serving.routes._is_near", lambda _: False)
    watches = client_table("prometheus", "a-key", models=[], metrics=True)
    clients = [[watches, client_table("lab", "another-key")]] * 3
    with parties(tmp_path, clients) as (running, _):
        for key in (None, "another-key"):
            with pytest.raises(TacitError, match="whose table has metrics = true; give it by"):
                scrape(running[0].url, key)
        assert "tacit_state" in scrape(running[0].url, "a-key")


def test_https_by_the_partys_own_certificate(tmp_path):
    keys(tmp_path)
    home = tmp_path / "party0"
    own = {"certificate": str(home / "cert.pem"), "key": str(home / "key.pem")}
    with parties(tmp_path, **own) as (running, _):
        url = running[0].url.replace("http:", "https:")
        with pytest.raises(TacitError, match=r"its certificate is not trusted.*--certificate"):
            scrape(url)
        assert "tacit_state" in scrape(url, None, [own["certificate"]])
        (tmp_path / "not.pem").write_text("no certificate")
        for path in ("not.pem", "absent.pem"):
            with pytest.raises(TacitError, match="is no certificate that can be read"):
                scrape(url, None, [str(tmp_path / path)])


def test_quantiles_are_those_of_prometheus():
    """As `histogram_quantile` estimates them."""
    inf = float("inf")
    buckets = [(1.0, 10.0), (2.0, 30.0), (4.0, 40.0), (inf, 40.0)]
    assert quantile(0.5, buckets) == 1.5
    assert quantile(0.25, buckets) == 1.0
    assert quantile(0.1, buckets) == pytest.approx(0.4)
    assert quantile(0.99, buckets) == pytest.approx(2 + 2 * 9.6 / 10)
    assert quantile(0.99, buckets[::-1]) == quantile(0.99, buckets)
    # Beyond the last bound nothing is known but that.
    assert quantile(0.99, [(1.0, 10.0), (inf, 40.0)]) == inf
    assert quantile(0.5, [(1.0, 0.0), (inf, 0.0)]) is None
    assert quantile(0.5, []) is None


def test_a_time_beyond_the_largest_bucket_is_told_as_more(capsys):
    head = 'tacit_request_seconds_bucket{model="digits",phase="all",le='
    text = f'{STATE}{head}"60.0"}} 0\n{head}"+Inf"}} 2\n'
    found = of(text)
    assert found.phases[0].median == float("inf") and found.told()["phases"][0]["median"] is None
    console(found)
    assert "digits all 2 - > 60 s > 60 s" in said(capsys)


def test_several_versions_of_a_model_are_told_apart(capsys):
    other = STATE.replace('version="1"', 'version="2"').replace("ready", "connecting")
    console(of(STATE + other))
    lines = said(capsys)
    assert "1 of 2 models ready" in lines[0]
    assert "digits 1 ready 0 0 0 0 0" in lines and "digits 2 connecting 0 0 0 0 0" in lines


def test_names_of_others_are_shown_and_never_taken(capsys):
    name = "x\u202e[red]y" + "z" * 500
    text = f'{STATE}tacit_errors_total{{model="{name}",kind="\u001b[31m"}} 1\n'
    console(of(text))
    whole = capsys.readouterr().out
    assert "\\u202e[red]y" in whole and "\\x1b[31m" in whole
    assert "\u202e" not in whole and "\x1b[31m" not in whole and "z" * 60 not in whole


def test_many_rows_are_counted(capsys):
    text = "".join(STATE.replace("digits", f"m{i}") for i in range(3 * MOST_ROWS))
    console(of(text))
    lines = said(capsys)
    assert "and 200 more" in lines and len(lines) < 4 * MOST_ROWS


def test_a_large_answer_is_read_in_time():
    """A model takes as long however many there are, and a label no more than its line may have."""
    each = len(STATE) + 8
    text = "".join(STATE.replace("digits", f"m{i}") for i in range(MOST // 8 // each))
    label = '\\"' * ((MOST_LINE - 99) // 2)
    text += f'tacit_errors_total{{model="m",kind="{label}"}} 1\n' * (MOST // 8 // MOST_LINE)
    begun = time.monotonic()
    assert len(of(text).models) > 1000
    assert time.monotonic() - begun < 20


def console(levels):
    from rich.console import Console

    Console(width=80, file=sys.stdout).print(levels)


def http(status, text, more=""):
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n{more}\r\n"

    def answer(connection, over):
        connection.sendall(head.encode() + text)

    return answer


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (http("200 OK", b"<html><body>{hello}</body></html>"), "cannot be read as metrics"),
        (http("200 OK", b'{"live": true}'), "cannot be read as metrics"),
        (http("200 OK", b"\xff\xfe\x00"), "cannot be read as metrics"),
        (http("200 OK", b""), "has no tacit_state"),
        (http("200 OK", b"node_load1 0.5\n"), "has no tacit_state"),
        (http("200 OK", STATE.encode() + b"tacit_core_pool NaN\n"), "tacit_core_pool is not"),
        (http("200 OK", STATE.encode() + b"tacit_core_pool +Inf\n"), "tacit_core_pool is not"),
        (http("200 OK", b"#" * (MOST + 1)), f"more than {MOST} bytes"),
        (http("200 OK", b"#" * (MOST_LINE + 1)), f"a line of more than {MOST_LINE} bytes"),
        (http("404 Not Found", b"{}"), "answers with status 404"),
        (http("500 Oh", b"{}"), "answers with status 500"),
        (http("302 Found", b"", "Location: http://127.0.0.1:1/\r\n"), "answers with status 302"),
        (http("401 No", b"{}"), "asks for the key of a client"),
    ],
)
def test_an_answer_that_is_no_partys(answer, why, capsys):
    with answering(answer) as (url, _):
        assert main(["metrics", url]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert why in told and told.startswith(f"error: {url}") and "Traceback" not in told


def test_an_answer_that_is_no_http(capsys):
    with answering(lambda connection, _: connection.sendall(b"SSH-2.0-x\r\n\r\n")) as (url, _):
        assert main(["metrics", url]) == 2
    assert "cannot be reached" in capsys.readouterr().err


def test_an_answer_that_drips_is_not_waited_for(monkeypatch):
    def drip(connection, over):
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not over.wait(0.05):
            connection.sendall(b"a")

    with answering(drip) as (url, _):
        begun = time.monotonic()
        with pytest.raises(TacitError, match=r"did not answer within 0\.5 s") as failed:
            scrape(url, seconds=0.5)
        assert time.monotonic() - begun < 3 and failed.value.code == "timeout"


def test_nobody_there(capsys):
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    assert main(["metrics", url]) == 2
    assert f"error: {url} cannot be reached (" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "127.0.0.1:8100",
        "http://",
        "http://[::1",
        "http://127.0.0.1:99999999",
        "http://user:word@127.0.0.1:8100",
        "http://127.0.0.1:8100/v2",
        "http://127.0.0.1:8100?key=1",
        "",
    ],
)
def test_an_address_that_is_none(url):
    with pytest.raises(TacitError, match="is no address of a party: give scheme, host and port"):
        scrape(url)


@pytest.mark.parametrize("host", ["192.0.2.1", "alpha.example", "127.0.0.1.example"])
def test_a_key_never_goes_over_plain_http(host, monkeypatch):
    def never(*_):
        raise AssertionError("it was asked")

    monkeypatch.setattr(socket, "create_connection", never)
    with pytest.raises(TacitError, match="plain HTTP is for this machine alone"):
        scrape(f"http://{host}:8100", "a-key")


def test_a_public_name_is_checked():
    assert scraping._trust("alpha.example", ()).check_hostname
    assert not scraping._trust("127.0.0.1", ()).check_hostname
