"""A service serves what its party has approved, takes up what it approves, and nothing else."""

import json
import time

import httpx
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import serving_config
import serving_fakes
from ports import free_ports

import tacit
from tacit import TacitError, _tacit
from tacit.cli import main
from tacit.operating.approve import Offered, keep_offer, layers, offer_file

TABLE = {"name": "digits", "version": "2"}


@pytest.fixture
def homes(tmp_path, digits_path):
    """Folders of three parties, of which the second approves by a file."""
    ports = free_ports(6)
    serving_config.write(
        tmp_path,
        digits_path,
        ports,
        "bicoptor",
        service=lambda party: 'approved = "approved.json"' if party == 1 else "",
    )
    homes = [tmp_path / f"party{party}" for party in range(3)]
    for home, port in zip(homes, ports, strict=False):
        (home / "url").write_text(f"http://127.0.0.1:{port}")
    return homes


def meant(offer):
    """What approves this offer and no other: a digest alone would take any weights."""
    return ["--digest", offer["digest"], "--commitment", offer["commitment"]]


def url(home):
    return (home / "url").read_text()


def config(home):
    return str(home / "serve.toml")


def approve(home, *words):
    return main(["approve", "digits", "--config", config(home), *words])


def is_ready(home):
    try:
        return httpx.get(f"{url(home)}/v2/health/ready", timeout=2).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def offer(homes):
    """What the owner offers, written down at the second party as its service does."""
    found = _tacit.Service(config(homes[0]), "digits").offered()
    keep_offer(homes[1] / "approved.json", TABLE, found)
    return json.loads(found)


def test_an_unapproved_model_is_served_once_it_is_approved(tmp_path, homes, digits, capfd):
    processes = [serving_config.start(tmp_path, party) for party in range(3)]
    try:
        kept = offer_file(homes[1] / "approved.json", "digits", "2")
        serving_fakes.wait_for(kept.exists, 20)
        time.sleep(0.5)
        assert not any(is_ready(home) for home in homes)
        log = (homes[1] / "log").read_text()
        assert "has not approved version 2" in log and "tacit approve" in log
        client = tacit.connect([url(home) for home in homes], timeout=1)
        with client, pytest.raises(tacit.ServiceError):
            client.predict("digits", digits[0][:1])

        offered = json.loads(kept.read_text())
        digest, named = offered["digest"], meant(offered)
        assert approve(homes[1]) == 0
        assert "Nothing was approved. To approve it: " + " ".join(named) in capfd.readouterr().out
        assert not (homes[1] / "approved.json").exists()
        assert approve(homes[1], *named) == 0
        serving_fakes.wait_for(lambda: all(is_ready(home) for home in homes), 20)
        with tacit.connect([url(home) for home in homes], timeout=20) as client:
            assert client.predict("digits", digits[0][:2], digest=digest).output.shape == (2, 10)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(15)


def test_the_difference_to_what_was_approved(homes, offer, capsys, tmp_path):
    """The owner offers another plan: layers, bits and what it reveals are shown."""
    assert approve(homes[1], "--yes") == 0
    first = json.loads((homes[1] / "approved.json").read_text())["models"]
    assert [each["digest"] for each in first] == [offer["digest"]]
    assert approve(homes[1]) == 0
    assert "It is what was approved before" in capsys.readouterr().out

    for home in homes:
        text = (home / "serve.toml").read_text().replace('version = "2"', 'version = "3"')
        text = text.replace('ring = 64, reveal = "logits"', 'ring = 64, reveal = "class"')
        (home / "serve.toml").write_text(text)
    text = (homes[0] / "serve.toml").read_text()
    text = text.replace('reveal = "class"', 'reveal = "class", fraction_bits = 14')
    (homes[0] / "serve.toml").write_text(text)
    other = _tacit.Service(config(homes[0]), "digits").offered()
    keep_offer(homes[1] / "approved.json", {**TABLE, "version": "3"}, other)
    path = tmp_path / "told.json"
    assert approve(homes[1], "--json", str(path)) == 0
    said = capsys.readouterr().out
    assert "It differs from version 2" in said
    for words in ("reveal: logits -> class", "version: 2 -> 3", "fraction_bits: "):
        assert words in said
    told = json.loads(path.read_text())
    where = {each["where"] for each in told["changes"]}
    assert {"version", "reveal", "digest", "fraction_bits"} <= where
    assert "commitment" not in where and "protocol" not in where
    # The file is the same, and so is what the owner is bound to.
    assert json.loads(other)["commitment"] == offer["commitment"]
    assert approve(homes[1], *meant(json.loads(other))) == 0
    kept = json.loads((homes[1] / "approved.json").read_text())["models"]
    assert [each["version"] for each in kept] == ["2", "3"]


def test_layers_that_differ():
    before = {"layers": [{"name": "a", "op": "Conv"}, {"name": "b", "op": "Relu", "trunc": 3}]}
    now = {"layers": [{"name": "b", "op": "Relu", "trunc": 4}, {"name": "c", "op": "Gemm"}]}
    assert layers(before, now) == [
        ("layer c", "none", "Gemm"),
        ("layer a", "Conv", "none"),
        ("layer b, trunc", 3, 4),
    ]
    swapped = {"layers": list(reversed(before["layers"]))}
    assert layers(before, swapped) == [("layers", "another order", "another order")]


def test_layers_of_one_name_hide_nothing():
    """Plans with such layers are refused when they are read; the last of a name stood for all."""
    one = {"name": "a", "op": "Relu"}
    before, now = {"layers": [one]}, {"layers": [{"name": "a", "op": "Sign"}, one]}
    assert layers(before, now) == [("layers", "1", "2, which differ")]


@pytest.mark.parametrize(
    ("key", "value"),
    [("digest", "00" * 32), ("reveal", "class"), ("security", "malicious"), ("version", "7")],
)
def test_an_offer_that_is_not_what_would_be_served(homes, offer, key, value, capsys):
    """Somebody has changed the file, or the config since."""
    other = {**offer, key: value}
    keep_offer(homes[1] / "approved.json", TABLE, json.dumps(other).encode())
    assert approve(homes[1], "--yes") == 2
    assert f"its {key} is not what this party would serve" in said(capsys)
    assert not (homes[1] / "approved.json").exists()


def said(capsys):
    return capsys.readouterr().err.replace("\n", " ")


def test_a_plan_that_is_not_its_digests(homes, offer, capsys):
    other = json.loads(json.dumps(offer))
    other["plan"]["opening"]["reveal"] = "class"
    keep_offer(homes[1] / "approved.json", TABLE, json.dumps(other).encode())
    assert approve(homes[1], "--yes") == 2
    for text in (b"", b"[]", b'{"plan": 1}', b"\xff"):
        keep_offer(homes[1] / "approved.json", TABLE, text)
        assert approve(homes[1], "--yes") == 2
    assert "offer" in said(capsys)
    assert not (homes[1] / "approved.json").exists()


def test_what_is_refused(homes, capsys):
    assert approve(homes[1], "--yes") == 2
    assert "nothing is offered" in said(capsys)
    assert approve(homes[2], "--yes") == 2
    assert 'approved = "approved.json"' in said(capsys)
    assert main(["approve", "other", "--config", config(homes[1])]) == 2
    assert "not served" in said(capsys)


def test_another_digest_than_the_one_that_was_meant(homes, offer, capsys):
    for key in ("digest", "commitment"):
        assert approve(homes[1], *meant({**offer, key: "ab" * 32})) == 2
        told = said(capsys)
        assert "nothing was approved" in told and f"has the {key} {offer[key]}" in told
        assert approve(homes[1], f"--{key}", offer[key]) == 2
        assert "both: " + " ".join(meant(offer)) in said(capsys)
    text = (homes[1] / "serve.toml").read_text()
    (homes[1] / "serve.toml").write_text(
        text.replace('version = "2"', f'version = "2"\ndigest = "{"cd" * 32}"')
    )
    assert approve(homes[1], *meant(offer)) == 2
    assert "change or remove that line first" in said(capsys)
    assert not (homes[1] / "approved.json").exists()


def test_a_file_of_approvals_that_cannot_be_read(homes, offer, capsys):
    path = homes[1] / "approved.json"
    texts = ("", "{}", '{"models": [1]}', '{"models": [{"name": "digits"}]}', "[" * 100_000)
    for text in texts:
        path.write_text(text)
        assert approve(homes[1], "--yes") == 2
        assert "no file of approvals" in said(capsys)
        assert path.read_text() == text


def test_names_of_an_owner_do_nothing_to_what_is_shown(monkeypatch, tmp_path, capsys):
    """A name could turn a line, or make another one, and so hide what is to be approved."""
    layer = {"name": "fc\u202e\u2028  digest 00\u2066x\u200b\x1b[2J\n\x9b", "op": "Gemm"}
    plan = {"modulus": 64, "fraction_bits": 12, "layers": []}
    same = dict.fromkeys(("protocol", "security", "reveal", "digest", "commitment"), "a\u2067b")
    offer = {"name": "m", "version": "1", "owner": 0, **same}
    now, before = {**offer, "plan": {**plan, "layers": [layer]}}, {**offer, "plan": plan}
    offered = Offered("serve.toml", tmp_path / "approved.json", now, before)
    monkeypatch.setattr(Offered, "of", lambda *_: offered)
    assert main(["approve", "m", "--config", "serve.toml"]) == 0
    said = capsys.readouterr().out
    assert all(line.isprintable() for line in said.split("\n"))
    told = "layer fc\\u202e\\u2028  digest 00\\u2066x\\u200b\\x1b[2J\\n\\x9b: none -> Gemm"
    assert told in said and "reveal       a\\u2067b" in said


def test_the_owner_approves_what_its_own_file_makes(homes):
    text = (homes[0] / "serve.toml").read_text()
    text = text.replace("[service]", '[service]\napproved = "approved.json"')
    (homes[0] / "serve.toml").write_text(text)
    found = Offered.of(config(homes[0]), "digits")
    assert found.before is None and found.changes == []
    assert approve(homes[0], "--yes") == 0
    (kept,) = json.loads((homes[0] / "approved.json").read_text())["models"]
    assert kept["digest"] == found.offer["digest"] and kept["approved"].startswith("20")
    assert (homes[0] / "approved.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(TacitError, match="not served"):
        Offered.of(config(homes[0]), "faces")
