"""What a run would cost, told before it: seconds of computing, and all protocols side by side."""

import json

import numpy as np
import pytest

import tacit
from tacit import cli, planning, speeds
from tacit.report import render


@pytest.fixture(autouse=True)
def kept(tmp_path_factory, monkeypatch, request):
    """Measurements of this module's tests alone."""
    base = tmp_path_factory.getbasetemp() / request.module.__name__
    monkeypatch.setenv("XDG_CACHE_HOME", str(base))


def test_computing_is_told_beside_the_network(digits_model):
    plain = digits_model.predict_cost(4)
    told = digits_model.predict_cost(4, measure=True)
    phases = {"setup", "offline", "online"}
    assert "computing" not in plain and set(told["computing"]) == phases
    assert told["computing"]["setup"] > 0 and told["computing"]["online"] > 0
    for phase in phases:
        assert told[phase] == plain[phase], "bytes and rounds stay as declared"
    more = digits_model.predict_cost(64, measure=True)
    assert more["computing"]["online"] > told["computing"]["online"]


@pytest.mark.parametrize("settings", [way for way, _ in planning.WAYS], ids=planning.named)
def test_the_setup_is_told(digits_model, digits, settings):
    """The set-up's bytes are those of a first prediction, but for how long numbers are in words."""
    planned = digits_model.predict_cost(1, **settings)["setup"]
    taken = tacit.local(**settings).predict(digits_model, digits[0][:1]).report.data["setup"]
    assert planned["bytes_sent"] == pytest.approx(taken["bytes_sent"], abs=64)


def test_memory_is_told(digits_model):
    """Memory grows with the batch, and is most where all parties are in one process."""
    few, many = (digits_model.predict_cost(n)["memory"] for n in (1, 100))
    assert len(few["parties"]) == 3
    assert all(less < more for less, more in zip(few["parties"], many["parties"], strict=True))
    assert many["together"] > max(many["parties"])
    assert planning.memory_words({"parties": [7e7, 5e7], "together": 8e7}) == (
        "memory at most: 70, 50 MB (party 0, 1, ...); one process with all parties 80 MB"
    )


class Rehearsed:
    """A model that counts how often it is rehearsed, and says what that took."""

    def __init__(self, took='{"items": 2, "seconds": {"offline": 1.0, "online": 2.0}}'):
        self.took, self.asked = took, []

    def plan(self, run):
        return '{"numbers": "64-bit ring"}'

    def rehearse(self, run, items, progress):
        self.asked.append(items)
        return self.took


def test_a_model_is_rehearsed_once():
    speeds.forget()
    model, falcon = Rehearsed(), {"protocol": "falcon"}
    took = [speeds.rehearsed(model, {**falcon, "timeout": wait}, 2) for wait in (1, 2)]
    assert took == [json.loads(model.took)] * 2 and model.asked == [2]
    speeds.rehearsed(model, falcon, 3)
    speeds.rehearsed(model, {**falcon, "network": "wan"}, 2)
    assert model.asked == [2, 3, 2], "of other items, or where protocols choose otherwise, anew"
    speeds.forget()
    speeds.rehearsed(model, falcon, 2)
    assert len(model.asked) == 4
    long = Rehearsed("null")
    assert [speeds.rehearsed(long, falcon, 7) for _ in range(2)] == [None] * 2
    assert long.asked == [7, 7], "the machine may have been busy"
    speeds.forget()


def test_the_latest_rehearsals_are_kept(monkeypatch):
    speeds.forget()
    monkeypatch.setattr(speeds, "MOST", 2)
    model = Rehearsed()
    for items in (1, 2, 3, 3, 2, 1):
        speeds.rehearsed(model, {"protocol": "falcon"}, items)
    assert model.asked == [1, 2, 3, 1]
    speeds.forget()


def test_of_a_long_model_the_machine_is_measured_once(digits_model, monkeypatch):
    monkeypatch.setattr(speeds, "rehearsed", lambda *given: None)
    told = digits_model.predict_cost(1, measure=True)
    assert told["computing"]["online"] > 0 and "calls" in told["note"]
    asked = []
    monkeypatch.setattr(tacit._tacit, "speeds", lambda *given: asked.append(given) or "{}")
    digits_model.predict_cost(2, measure=True, network="wan")
    assert not asked, "the network is no part of it"
    # Half of the items tell of all, by how much more these are.
    few = {"items": 1, "seconds": {"setup": 0.5, "offline": 0.0, "online": 4.0}}
    monkeypatch.setattr(speeds, "rehearsed", lambda *given: few)
    one, two = (digits_model.predict_cost(n, measure=True)["computing"] for n in (1, 64))
    assert one["online"] == 4.0 and one["setup"] == two["setup"] == 0.5
    assert two["online"] > 4.0 and not asked
    speeds.forget()
    with pytest.raises(tacit.TacitError, match="speeds"):
        digits_model.predict_cost(2, measure=True)
    assert len(asked) == 1
    speeds.forget()


@pytest.mark.parametrize("name", ["speeds.json", "rehearsals.json"])
def test_a_file_of_measurements_that_is_none_is_measured_anew(digits_model, name):
    speeds.folder().mkdir(parents=True, exist_ok=True)
    (speeds.folder() / name).write_text("[1, 2", encoding="utf-8")
    assert digits_model.predict_cost(1, measure=True)["computing"]["online"] > 0


def test_all_protocols_side_by_side(digits_model):
    found = digits_model.compare(2, network="wan", measure=False)
    names = [planning.named(row["settings"]) for row in found.rows]
    assert names[:2] == ["falcon", "falcon, malicious"] and "sirnn" in names
    costs = {
        name: planning.seconds(row["cost"]) for name, row in zip(names, found.rows, strict=True)
    }
    assert costs[planning.named(found.best)] == min(costs.values())
    for row in found.rows:
        plain = digits_model.predict_cost(2, network="wan", **row["settings"])
        assert row["cost"] == plain
    assert found.best["protocol"] == "bicoptor", "the fewest rounds count on a wide network"


def test_what_is_asked_narrows_the_choice(digits_model):
    malicious = digits_model.compare(security="malicious", measure=False)
    assert [row["settings"]["protocol"] for row in malicious.rows] == ["falcon"]
    many = digits_model.compare(parties=5, measure=False)
    assert many.best == {"protocol": "shamir", "parties": 5}
    refused = {row["settings"]["protocol"]: row["refused"] for row in many.rows}
    assert "not 5" in refused["falcon"]
    with pytest.raises(tacit.TacitError, match="no protocol can run this model as asked"):
        _ = digits_model.compare(security="malicious", parties=5, measure=False).best


def test_the_command_compares(digits_path, tmp_path, capsys):
    file = tmp_path / "cost.json"
    given = ["plan", str(digits_path), "--compare", "--no-measure", "--network", "wan"]
    assert cli.main([*given, "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "is the quickest" in shown and "shamir" in shown
    assert json.loads(file.read_text())["best"]["protocol"] == "bicoptor"


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_terminal_shows_the_comparison_whole(columns, digits_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("NO_COLOR", "1")
    given = ["plan", str(digits_path), "--compare", "--no-measure", "--batch", "2000"]
    assert cli.main([*given, "--network", "40ms,100Mbps"]) == 0
    shown = capsys.readouterr().out
    assert "…" not in shown and max(map(len, shown.splitlines())) <= int(columns)
    assert shown.count("semi-honest") == 5 and shown.count("malicious") >= 3
    for name in ("protocol", "security", "parties", "offline,", "online,", "rounds", "memory,"):
        assert name in shown
    told = [line for line in shown.splitlines() if "  against " in line]
    assert len(told) == len(planning.WAYS)


def comparison(*taken):
    """A comparison of ways that take so many seconds; what has none is refused."""
    rows = []
    for (settings, protects), took in zip(planning.WAYS, taken, strict=True):
        phase = {"seconds": took, "rounds": 1, "bytes_sent": [1, 2, 3]}
        none = {"seconds": 0.0, "rounds": 0, "bytes_sent": []}
        memory = {"parties": [1e8] * 3}
        cost = {"setup": phase, "offline": none, "online": phase, "memory": memory}
        row = {"settings": settings, "protects": protects}
        rows.append({**row, "cost": cost if took else None, "refused": None if took else "no: why"})
    return planning.Comparison(rows, 1, "wan")


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        (
            (1.0, 3.0, 1.5, 4.0, 5.0, 6.0),
            "falcon is the quickest: 1 s a batch, offline and online together. Next is bicoptor "
            "with 1.5 s, 50 % more. Both protect against one curious party of three. Against "
            "parties that cheat it gives no protection; falcon, malicious does, with 3 s.",
        ),
        (
            (4.0, None, 5.0, 5.0, 5.0, 0.001),
            "Next is falcon with 4 s, 4000.0 times as long. It protects against one curious party "
            "of three; the quickest against the other party, curious. No way that can compute "
            "this notices a party that cheats.",
        ),
        (
            (4.0, 1.0, 5.0, 5.0, 5.0, 1.001),
            "Next is sirnn with 1 s, about as long. It protects against the other party, curious; "
            "the quickest against one cheating party of three, by ending the run. It notices a "
            "party that cheats, which no other does.",
        ),
        (
            (None, 1.0, None, None, None, None),
            "together. No other can compute this as asked. It notices a party that cheats.",
        ),
    ],
)
def test_the_advice_tells_what_is_given_up(taken, words):
    assert words in comparison(*taken).advice()


def test_without_seconds_none_is_the_quickest(digits_path, capsys):
    assert cli.main(["plan", str(digits_path), "--compare", "--no-measure"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "none is the quickest" in shown and "local (none)" in shown


def test_what_is_refused_says_why(capsys):
    print(render(comparison(1.0, None, 2e5, 3.14159, 99.9999, 1234.5)))
    shown = capsys.readouterr().out
    assert "falcon, malicious  refused: no: why" in shown and "against one cheating" not in shown
    for number in (" 1.000", "200000", " 3.142", "100.00", "1234.5"):
        assert number in shown


def test_the_command_tells_seconds(digits_path, capsys):
    assert cli.main(["plan", str(digits_path), "--batch", "3"]) == 0
    shown = capsys.readouterr().out
    assert "A batch of 3 items" in shown and "expected, s" in shown
    assert "set-up" in shown and "memory at most" in shown


class Costs:
    """A model of which only costs are known: seconds of the network, and with computing."""

    def __init__(self, network, expected):
        self.network, self.expected = network, expected
        self.measured = []

    def predict_cost(self, batch, *, protocol, measure, network, progress=None, **options):
        name = ", ".join([protocol, *(str(value) for value in options.values())])
        if name not in self.network:
            raise tacit.TacitError("refused")
        phases = {"offline": {"seconds": 0.0}, "online": {"seconds": self.network[name]}}
        if not measure:
            return phases
        self.measured.append(name)
        return {**phases, "expected": {"offline": 0.0, "online": self.expected[name]}}


def test_what_cannot_be_the_quickest_is_not_measured():
    network = {"falcon": 2.0, "bicoptor": 1.0, "shamir": 4.0, "sirnn": 3.5}
    slow = Costs(network, {"falcon": 2.5, "bicoptor": 3.0, "shamir": 4.1, "sirnn": 9.0})
    assert planning.quickest(slow, 1, network="wan") == {"protocol": "falcon"}
    assert slow.measured == ["bicoptor", "falcon"]
    quick = Costs(network, dict.fromkeys(network, 1.5))
    assert planning.quickest(quick, 1, network="wan") == {"protocol": "bicoptor"}
    assert quick.measured == ["bicoptor"]
    with pytest.raises(tacit.TacitError, match="no protocol can run this model as asked"):
        planning.quickest(Costs({}, {}), 1)


def test_the_quickest_runs(digits_path, digits, tmp_path, capsys):
    """`auto` takes a protocol by its cost, and says which."""
    x = tmp_path / "x.npy"
    np.save(x, digits[0][:2])
    given = ["run", str(digits_path), "--input", str(x), "--protocol", "auto", "--network", "wan"]
    assert cli.main(given) == 0
    said = capsys.readouterr()
    assert "takes bicoptor" in said.err and "bicoptor" in said.out
