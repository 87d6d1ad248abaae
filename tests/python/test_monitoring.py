"""The files of examples/service/: what Prometheus scrapes and warns of, and systemd's unit."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

pytest.importorskip("yaml")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import yaml
from prometheus_client.parser import text_string_to_metric_families
from serving_fakes import client_table, parties
from test_serving_http import body, good, post, refused

from tacit import _tacit, cli
from tacit.serving import commands
from tacit.serving.clients import clients_of
from tacit.serving.limits import Limits
from tacit.serving.policy import check_listener
from tacit.serving.serve import GRACE_S
from tacit.serving.service import read_config

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "service"
PAGE = (ROOT / "docs" / "operator.md").read_text(encoding="utf-8")
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
PROMETHEUS = (FOLDER / "prometheus.yml").read_text()
OWN = {"up": {"job", "instance"}}
"""The metric that Prometheus adds, and the labels of it that are used."""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The labels of every sample that a party tells, by its name."""
    found = dict(OWN)
    with parties(tmp_path_factory.mktemp("watched")) as (running, worlds):
        one = running[0]
        good((running, worlds["digits"]))
        one.party.changed(("digits", "1"), "failed", {"why": None, "suspects": [], "code": None})
        text = httpx.get(f"{one.url}/metrics").text
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
    return found


def names(text):
    return set(re.findall(r"\b(?:tacit_\w+|up\b)", text))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_is_of_metrics_that_a_party_tells(rule, told):
    used = names(rule["expr"])
    assert used and used <= set(told)
    labels = set().union(*(told[name] for name in used)) | {"instance"}
    words = " ".join(rule["annotations"].values())
    assert set(re.findall(r"\$labels\.(\w+)", words)) <= labels
    assert set(re.findall(r"(\w+)=~?\"", rule["expr"])) <= labels
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert set(rule["annotations"]) == {"summary", "do"}


def test_a_metric_that_nobody_tells_is_seen(told):
    assert not names("rate(tacit_core_idle_total[5m]) > 0") <= set(told)


def test_every_metric_of_the_page_is_told(told):
    """Metrics of the table, whose names are given whole or by their ends."""
    section = PAGE.split("#### Metrics\n")[1].split("\n### ")[0]
    for row in re.findall(r"^\| (`tacit.*?) \|", section, re.MULTILINE):
        first, *others = re.findall(r"`(\w+)`", row)
        for name in (first, *others):
            stem = first[: first.index("_", len("tacit_"))] if name.startswith("_") else ""
            whole = stem + name
            assert whole in told or f"{whole}_bucket" in told, whole


def test_every_metric_is_on_the_page(told):
    section = PAGE.split("#### Metrics\n")[1].split("\n### ")[0]
    for name in told:
        if name.startswith("tacit_") and not name.endswith("_created"):
            bare = re.sub(r"_(bucket|sum|count)$", "", name)
            end = bare.replace("tacit_core", "")
            assert f"`{bare}`" in section or f"`{end}`" in section, name


def test_prometheus_scrapes_this_partys_metrics_alone():
    config = yaml.safe_load(PROMETHEUS)
    assert all((FOLDER / name).is_file() for name in config["rule_files"])
    (job,) = config["scrape_configs"]
    assert job["job_name"] == re.search(r'job="(\w+)"', str(RULES))[1] and job["scheme"] == "https"
    (target,) = job["static_configs"]
    # From there no key is asked, and no other organisation's party is named.
    assert [each.split(":")[0] for each in target["targets"]] == ["127.0.0.1"]


def test_a_client_for_prometheus_may_ask_no_model(tmp_path, monkeypatch):
    assert re.search(r'name = "prometheus"\n.*\n.*models = \[\]\n.*metrics = true', PROMETHEUS)
    monkeypatch.setattr("tacit.serving.routes._is_near", lambda _: False)
    clients = [client_table("prometheus", "a-key", models=[], metrics=True)]
    clients.append(client_table("lab", "another-key"))
    with parties(tmp_path, [clients] * 3) as (running, worlds):
        one, key = running[0], {"authorization": "Bearer a-key"}
        assert httpx.get(f"{one.url}/metrics", headers=key).status_code == 200
        other = {"authorization": "Bearer another-key"}
        refused(httpx.get(f"{one.url}/metrics", headers=other), 403, "not-allowed")
        refused(httpx.get(f"{one.url}/metrics"), 401, "unknown-client")
        assert httpx.get(f"{one.url}/v2", headers=key).json()["models"] == []
        answer = post(one, *body(worlds["digits"], bytes(64)), **key)
        refused(answer, 403, "not-allowed")


def test_the_page_leads_to_each_file():
    for path in FOLDER.iterdir():
        assert f"(../examples/service/{path.name})" in PAGE, path.name
    shown = set(re.findall(r"^\| `(Tacit\w+)` \|", PAGE, re.MULTILINE))
    assert shown == {rule["alert"] for rule in RULES}


def test_the_pages_config_is_one(tmp_path):
    """With the page's tables in the place of those that `tacit init` writes."""
    _tacit.init(str(tmp_path / "own"), json.dumps({"protocol": "falcon", "service": True}))
    path = tmp_path / "own" / "party0" / "serve.toml"
    head, rest = path.read_text().split("\n[[models]]", 1)
    block = re.search(r"^   \[\[models\]\].*?(?=^   ```)", PAGE, re.MULTILINE | re.DOTALL)[0]
    block = block.replace("9f86...", "9f" * 32)
    client = re.search(
        r"^  #   \[\[clients\]\].*?metrics = true", PROMETHEUS, re.MULTILINE | re.DOTALL
    )
    more = client[0].replace("  # ", "").replace('"..."', f'"{"ab" * 32}"')
    peers = rest[rest.index("[[parties]]") :]
    path.write_text("\n".join([head, block, more, peers]))
    config = read_config(str(path))
    assert [each["name"] for each in config["clients"]] == ["hospital-b", "prometheus"]
    assert config["clients"][1]["models"] == [] and config["service"]["approved"]
    assert check_listener(config) == []
    assert [client.metrics for client in clients_of(config)] == [False, True]


def unit():
    """The settings of the unit; one that is there several times as a list."""
    found = {}
    for line in (FOLDER / "tacit.service").read_text().splitlines():
        if re.match(r"[A-Z]\w+=", line):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def test_the_unit_starts_a_command_that_there_is():
    (line,) = unit()["ExecStart"]
    program, *words = shlex.split(line)
    assert Path(program).name == "tacit"
    args = cli.parser().parse_args(words)
    assert args.action is commands.serve
    (home,) = unit()["WorkingDirectory"]
    assert str(Path(args.config).parent) == home == f"/var/lib/{unit()['StateDirectory'][0]}"


def test_the_unit_waits_for_what_a_party_drains():
    (seconds,) = unit()["TimeoutStopSec"]
    assert int(seconds) > Limits.of({"body_mb": 1, "request_s": 60.0}).request_s + GRACE_S
    assert unit()["Restart"] == ["on-failure"] and "HUP" in unit()["ExecReload"][0]


def test_systemd_finds_nothing_in_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    copy = tmp_path / "tacit.service"
    text = (FOLDER / "tacit.service").read_text()
    copy.write_text(text.replace("/opt/tacit/bin/tacit", "/bin/true"))
    line = ["systemd-analyze", "verify", "--man=no", str(copy)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and "tacit.service" not in done.stderr, done.stderr


def promtool(*words):
    if shutil.which("promtool") is None:
        pytest.skip("there is no promtool")
    done = subprocess.run(
        ["promtool", *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_reads_its_files():
    promtool("check", "rules", str(FOLDER / "alerts.yml"))
    promtool("check", "config", "--syntax-only", str(FOLDER / "prometheus.yml"))


def series(name, values, **labels):
    text = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return {"series": f"{name}{{{text}}}", "values": values}


DIGITS = {"instance": "a", "model": "digits", "version": "1"}
READY, STUCK = {**DIGITS, "state": "ready"}, {**DIGITS, "state": "quarantined"}
SINCE = {
    "TacitDown": [series("up", "1 0x40", job="tacit", instance="a")],
    "TacitQuarantined": [
        series("tacit_state", "1 0x40", **READY),
        series("tacit_state", "0 1x40", **STUCK),
    ],
    "TacitNotReady": [
        series("tacit_state", "1 0x40", **READY),
        series("tacit_state", "0x41", **STUCK),
    ],
    "TacitCertificateEnds": [series("tacit_certificate_days", "13x41", certificate="https")],
    "TacitBusy": [
        series("tacit_core_busy_total", "0+10x40", **DIGITS),
        series("tacit_core_answered_total", "0+90x40", **DIGITS),
    ],
    "TacitPoolEmpty": [
        series("tacit_core_pool", "16 0x40", **DIGITS),
        series("tacit_core_batches_total", "0+60x40", **DIGITS),
    ],
    "TacitErrors": [
        series("tacit_errors_total", "_x38 1 1", instance="a", model="digits", kind="peer-lost")
    ],
}
"""What each alert is to fire by, and nothing else, after 40 minutes."""
WELL = [
    series("up", "1x41", job="tacit", instance="a"),
    series("tacit_state", "1x41", **READY),
    series("tacit_state", "0x41", **STUCK),
    series("tacit_certificate_days", "300x41", certificate="https"),
    series("tacit_core_busy_total", "0+1x40", **DIGITS),
    series("tacit_core_answered_total", "0+600x40", **DIGITS),
    series("tacit_core_batches_total", "0+60x40", **DIGITS),
    # Without a pool.
    series("tacit_core_pool", "0x41", **DIGITS),
    series("tacit_errors_total", "3x41", instance="a", model="digits", kind="peer-lost"),
]


@pytest.mark.parametrize("name", [rule["alert"] for rule in RULES] + [None])
def test_what_an_alert_fires_by(name, tmp_path):
    """Each by its own trouble alone, and none while all is well."""
    given = SINCE[name] if name else WELL
    fires = [
        f"count(ALERTS{{alertstate='firing',alertname='{each['alert']}'}}) or vector(0)"
        for each in RULES
    ]
    wanted = [float(each["alert"] == name) for each in RULES]
    tests = {
        "rule_files": [str(FOLDER / "alerts.yml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": given,
                "promql_expr_test": [
                    {
                        "expr": expr,
                        "eval_time": "40m",
                        "exp_samples": [{"labels": "{}", "value": value}],
                    }
                    for expr, value in zip(fires, wanted, strict=True)
                ],
            }
        ],
    }
    path = tmp_path / "tests.yml"
    path.write_text(yaml.safe_dump(tests))
    promtool("test", "rules", str(path))
