"""Services whose keys come from elsewhere, and of which one changes its key while they run."""

import json
import os
import ssl

import httpx
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import serving_config
import serving_fakes
from ports import free_ports

import tacit
from tacit import TacitError
from tacit.cli import main
from tacit.operating.members import certificates, secret
from tacit.serving.https import tls_of
from tacit.serving.log import LEVELS
from tacit.serving.notices import ending, ends_of


class Live:
    """Three processes of `tacit serve`: the keys of two come from a variable and a command."""

    def __init__(self, folder, model):
        self.folder, self.ports = folder, free_ports(6)
        serving_config.write(folder, model, self.ports, "bicoptor")
        self.homes = [folder / f"party{party}" for party in range(3)]
        self.edit(0, '{ env = "TACIT_TEST_KEY" }')
        kept = self.homes[2] / "kept.pem"
        (self.homes[2] / "key.pem").rename(kept)
        self.edit(2, f'{{ command = ["cat", "{kept}"] }}')
        os.environ["TACIT_TEST_KEY"] = (self.homes[0] / "key.pem").read_text()
        self.key_of_first = (self.homes[0] / "key.pem").read_text()
        (self.homes[0] / "key.pem").unlink()
        self.processes = [serving_config.start(folder, party) for party in range(3)]

    def edit(self, party, source):
        path = self.homes[party] / "serve.toml"
        path.write_text(path.read_text().replace('key = "key.pem"', f"key = {source}"))

    def restart(self, party):
        self.processes[party].terminate()
        assert self.processes[party].wait(15) == 0
        self.processes[party] = serving_config.start(self.folder, party)

    def cert(self, party, *words):
        path = str(self.homes[party] / "serve.toml")
        assert main(["cert", *map(str, words), "--config", path]) == 0

    def answers(self, x, timeout=20):
        urls = [f"http://127.0.0.1:{port}" for port in self.ports[:3]]
        with tacit.connect(urls, timeout=timeout) as client:
            return client.predict("digits", x).classes().tolist()

    def ready(self):
        found = [httpx.get(f"http://127.0.0.1:{port}/v2/health/ready") for port in self.ports[:3]]
        return all(answer.status_code == 200 for answer in found)

    def stop(self):
        for process in self.processes:
            process.terminate()
        return [process.wait(15) for process in self.processes]

    def logs(self):
        return "".join((home / "log").read_text() for home in self.homes)


@pytest.fixture
def live(tmp_path, digits_path):
    made = Live(tmp_path, digits_path)
    yield made
    assert made.stop() == [0, 0, 0], made.logs()
    os.environ.pop("TACIT_TEST_KEY")


def test_a_key_is_changed_while_all_others_run(live, digits):
    x, right = digits[0][:3], digits[1][:3].tolist()
    expected = live.answers(x)
    assert sum(a == b for a, b in zip(expected, right, strict=True)) >= 2
    others = [live.processes[party].pid for party in (0, 2)]

    live.cert(1, "rotate")
    new = live.homes[1] / "next-cert.pem"
    print_ = certificates(new)[0].fingerprint
    for party in (0, 2):
        live.cert(party, "accept", new, "--party", 1, "--fingerprint", print_)
    # Both are known, the old one is still shown.
    live.restart(1)
    assert live.answers(x) == expected
    live.cert(1, "switch")
    live.restart(1)
    assert live.answers(x) == expected
    for party in (0, 2):
        live.cert(party, "drop", "--party", 1)
    live.restart(1)
    assert live.answers(x) == expected
    assert [live.processes[party].pid for party in (0, 2)] == others

    # Whoever has the old key is nobody now.
    for name in ("key.pem", "cert.pem"):
        (live.homes[1] / f"old-{name}").replace(live.homes[1] / name)
    (live.homes[1] / "party1.pem").unlink(missing_ok=True)
    live.restart(1)
    serving_fakes.wait_for(lambda: "does not know this party's certificate" in live.logs(), 30)
    with pytest.raises(tacit.ServiceError):
        live.answers(x, timeout=2)
    assert not live.ready()

    lines = (live.homes[0] / "audit.jsonl").read_text().splitlines()
    met = [json.loads(line) for line in lines if '"kind":"ready"' in line]
    shown = [each["certificates"]["beta"] for each in met]
    assert shown[0] != print_ and shown[-1] == print_
    for secret_text in (live.key_of_first, (live.homes[2] / "kept.pem").read_text()):
        body = secret_text.splitlines()[1]
        assert body not in live.logs()
        assert body not in (live.homes[0] / "audit.jsonl").read_text()


def test_the_audit_log_is_signed_by_the_key_from_elsewhere(live, digits):
    live.answers(digits[0][:1])
    live.stop()
    for home in live.homes:
        line = ["audit", "verify", str(home / "audit.jsonl")]
        assert main([*line, "--certificate", str(home / "cert.pem")]) == 0
    live.processes = [serving_config.start(live.folder, party) for party in range(3)]
    serving_fakes.wait_for(lambda: all((home / "log").exists() for home in live.homes))
    live.answers(digits[0][:1])


def test_a_secret_that_cannot_be_had_names_its_setting(tmp_path, monkeypatch):
    monkeypatch.delenv("TACIT_NOT_SET", raising=False)
    shell = "echo the-secret; echo the-secret >&2; exit 4"
    for source, words in [
        ({"env": "TACIT_NOT_SET"}, "no variable TACIT_NOT_SET"),
        ({"command": ["sh", "-c", shell]}, "exit status: 4"),
        ({"command": ["/not/there"]}, "cannot be run"),
        ({"vault": "x"}, "command ="),
        ({"env": "A", "command": ["b"]}, "command ="),
    ]:
        with pytest.raises(TacitError, match=r"service.key") as caught:
            secret(source, "service.key")
        assert words in str(caught.value) and "the-secret" not in str(caught.value)
    monkeypatch.setenv("TACIT_EMPTY", "")
    with pytest.raises(TacitError, match="is empty"):
        secret({"env": "TACIT_EMPTY"}, "service.key")


def test_https_with_a_key_from_a_variable(tmp_path, monkeypatch):
    serving_fakes.keys(tmp_path)
    home = tmp_path / "party0"
    monkeypatch.setenv("HTTPS_KEY", (home / "key.pem").read_text())
    made = serving_fakes.config(tmp_path, 0, 8100, certificate=str(home / "cert.pem"))["service"]
    made["key"] = {"env": "HTTPS_KEY"}
    assert tls_of(made).minimum_version == ssl.TLSVersion.TLSv1_3
    for wrong in ((tmp_path / "party1" / "key.pem").read_text(), "no key"):
        monkeypatch.setenv("HTTPS_KEY", wrong)
        with pytest.raises(TacitError, match=r"service\.key is not its key"):
            tls_of(made)


def test_certificates_are_looked_at_while_it_runs(tmp_path, capfd):
    with serving_fakes.parties(tmp_path) as (running, _):
        party, home = running[0].party, tmp_path / "party0"
        # All are known by one file here: it is the others' as well.
        days = 'tacit_certificate_days{certificate="beta"}'
        assert f"{days} 364." in party.metrics.text().decode()
        assert main(["cert", "renew", "--config", str(home / "party.toml"), "--days", "3"]) == 0
        (home / "next-cert.pem").replace(home / "cert.pem")
        party.log.level = 0
        party.look_at_certificates(warn=False)
        assert f"{days} 2.9" in party.metrics.text().decode()
        assert "ends in" not in capfd.readouterr().err
        party.look_at_certificates(warn=True)
        assert "beta ends in 3 days" in capfd.readouterr().err
        (home / "cert.pem").write_text("damaged")
        party.look_at_certificates(warn=True)
        assert "cannot be read" in capfd.readouterr().err
        party.log.level = LEVELS.index("off")


def test_certificates_that_end_are_warned_of(tmp_path):
    serving_fakes.keys(tmp_path)
    made = serving_fakes.config(tmp_path, 0, 8100)
    assert list(ending(made)) == []
    home = tmp_path / "party0"
    assert main(["cert", "renew", "--config", str(home / "party.toml"), "--days", "3"]) == 0
    made["party"]["certificate"] = str(home / "next-cert.pem")
    (warned,) = ending(made)
    assert "alpha ends in 3 days" in warned and "tacit cert rotate" in warned
    # Of another party the last to end counts: it has a new one that is accepted already.
    made = serving_fakes.config(tmp_path, 1, 8100)
    both = (home / "next-cert.pem").read_text() + (home / "cert.pem").read_text()
    (home / "both.pem").write_text(both)
    made["parties"][0]["certificate"] = str(home / "both.pem")
    assert list(ending(made)) == []
    assert len(ends_of(made)) == 3
