import json

import numpy as np
import pytest

import tacit
from tacit.flags import OPERATIONS

KEYS = {
    "protocol", "parties", "security", "ring", "fraction_bits", "network", "batch",
    "offline", "online", "layers", "accuracy", "agreement", "max_abs_error",
}  # fmt: skip
PHASE_KEYS = {"seconds", "rounds", "bytes_sent"}
LAYER_KEYS = {"name", "op", "shape", "seconds", "rounds", "bytes"}


@pytest.fixture(scope="module")
def result(digits_model, digits):
    x, y = digits
    with tacit.local() as session:
        return session.predict(digits_model, x[:40], labels=y[:40], check=True)


def test_predicts_as_in_clear_text(result, digits_model, digits):
    x, _ = digits
    expected = digits_model.reference(x[:40])
    assert result.output.dtype == np.float32
    np.testing.assert_allclose(result.output, expected, atol=1e-3)
    assert result.report.agreement == 1
    assert result.report.max_abs_error == pytest.approx(np.abs(result.output - expected).max())


def test_accuracy_is_that_of_the_labels(result, digits_model, digits):
    labels = digits[1][:40]
    right = np.mean(result.output.argmax(1) == labels)
    assert result.report.accuracy == digits_model.accuracy(result.output, labels) == right
    with pytest.raises(tacit.TacitError, match="40 integers, one for each"):
        digits_model.accuracy(result.output, labels[:39])


def test_thirty_two_bits(digits_path, digits_samples, digits):
    x, y = digits
    model = tacit.compile(digits_path, samples=digits_samples, ring=32)
    report = tacit.local().predict(model, x, labels=y, check=True).report
    assert report.ring == 32
    assert report.agreement >= 0.99


def test_key_bits_are_in_the_plan(digits_path, digits_samples, digits):
    def shown(model):
        return {la["name"]: la["key_bits"] for la in model.plan["layers"] if la["key_bits"]}

    model = tacit.compile(digits_path, key_bits="5.2")
    assert set(shown(model)) >= {"relu1", "relu2"}
    assert set(shown(model).values()) == {"5.2"}
    assert "key bits" in str(model)
    assert "key bits" not in str(tacit.compile(digits_path))
    with pytest.raises(tacit.TacitError, match="falcon takes every sign exactly"):
        tacit.local().predict(model, digits[0][:1])
    auto = {"samples": digits_samples, "key_bits": "auto", "key_bits_loss": 0.05}
    found = tacit.compile(digits_path, **auto)
    assert set(shown(found)) == set(shown(model))
    # So few samples cannot show what is lost, so nothing is given up.
    assert any("all key bits are kept" in warning for warning in found.plan["warnings"])
    assert shown(tacit.compile(digits_path, **auto)) == shown(found)


def test_report_has_the_promised_keys(result):
    report = result.report.to_dict()
    assert set(report) >= KEYS
    assert report["protocol"] == "falcon"
    assert report["parties"] == 3
    assert "semi-honest" in report["security"]
    for phase in ("offline", "online"):
        assert set(report[phase]) >= PHASE_KEYS
        assert len(report[phase]["bytes_sent"]) == 3
    assert all(n > 0 for n in report["online"]["bytes_sent"])
    assert report["offline"]["bytes_sent"] == [0, 0, 0], "nothing is made beforehand"
    for layer in report["layers"]:
        assert set(layer) >= LAYER_KEYS


def test_layers_add_up_to_the_online_phase(result):
    report = result.report.to_dict()
    assert sum(layer["rounds"] for layer in report["layers"]) == report["online"]["rounds"]
    total = sum(layer["bytes"] for layer in report["layers"])
    assert max(report["online"]["bytes_sent"]) <= total <= sum(report["online"]["bytes_sent"])


def test_every_batch_has_its_times(digits_model, digits_samples):
    report = tacit.local().predict(digits_model, digits_samples[:5], batch=2).report
    assert len(report.batches) == 3
    assert all(b["offline_seconds"] > 0 and b["online_seconds"] > 0 for b in report.batches)


def test_report_prints_and_converts(result, tmp_path):
    report = result.report
    assert "fc1" in str(report)
    assert "<table>" in report._repr_html_()
    assert list(report.to_dataframe()["name"]) == [x["name"] for x in report.to_dict()["layers"]]
    report.save_json(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text()) == report.to_dict()


def test_html_escapes_names(result):
    data = result.report.to_dict()
    data["layers"][0]["name"] = "<script>"
    assert "<script>" not in tacit.Report(data)._repr_html_()


def test_predicted_cost_is_metered_cost(digits_model, digits):
    x, _ = digits
    predicted = digits_model.predict_cost(8)
    report = tacit.local().predict(digits_model, x[:8]).report
    for phase in ("offline", "online"):
        assert predicted[phase]["rounds"] == report.data[phase]["rounds"]
        assert predicted[phase]["bytes_sent"] == report.data[phase]["bytes_sent"]


def test_batches_give_the_answers_of_one(digits_model, digits):
    x, _ = digits
    parts = tacit.local().predict(digits_model, x[:10], batch=4)
    assert parts.report.batch == 4
    np.testing.assert_allclose(parts.output, digits_model.reference(x[:10]), atol=1e-3)


def test_processes_give_the_same_answers(digits_model, digits):
    x, _ = digits
    session = tacit.local(processes=True, truncation="exact")
    apart = session.predict(digits_model, x[:10])
    together = tacit.local(truncation="exact").predict(digits_model, x[:10])
    # `exact` rounds down always, so that equal inputs give equal outputs to the last bit.
    np.testing.assert_array_equal(apart.output, together.output)
    for phase in ("offline", "online"):
        ours, theirs = apart.report.data[phase], together.report.data[phase]
        assert ours["bytes_sent"] == theirs["bytes_sent"]
        assert ours["rounds"] == theirs["rounds"]


def test_public_model_gives_the_same_answers(digits_path, digits_samples, digits):
    x, _ = digits
    model = tacit.compile(digits_path, samples=digits_samples, public_model=True)
    output = tacit.local().predict(model, x[:10]).output
    np.testing.assert_allclose(output, model.reference(x[:10]), atol=1e-3)


def test_truncate_then_multiply(digits_path, digits_samples, digits):
    x, _ = digits
    model = tacit.compile(digits_path, samples=digits_samples, order="truncate-then-multiply")
    output = tacit.local().predict(model, x[:20]).output
    assert (output.argmax(1) == model.reference(x[:20]).argmax(1)).mean() >= 0.9


@pytest.mark.parametrize("truncation", ["gap", "exact", "aby3"])
def test_every_truncation(truncation, digits_model, digits):
    x, _ = digits
    output = tacit.local(truncation=truncation).predict(digits_model, x[:10]).output
    np.testing.assert_allclose(output, digits_model.reference(x[:10]), atol=1e-3)


def test_clear_has_one_party_and_no_privacy(digits_model, digits):
    x, _ = digits
    result = tacit.local("clear").predict(digits_model, x[:10])
    assert result.report.parties == 1
    assert "none" in result.report.security
    np.testing.assert_allclose(result.output, digits_model.reference(x[:10]), atol=1e-3)


@pytest.mark.parametrize("parties", [2, 7])
def test_clear_between_several_parties(parties, digits_model, digits):
    x, _ = digits
    where = {"protocol": "clear", "parties": parties}
    result = tacit.local(**where).predict(digits_model, x[:10])
    assert result.report.parties == parties
    predicted = digits_model.predict_cost(10, **where)
    for phase in ("offline", "online"):
        assert len(predicted[phase]["bytes_sent"]) == parties
        assert predicted[phase]["bytes_sent"] == result.report.data[phase]["bytes_sent"]
    np.testing.assert_allclose(result.output, digits_model.reference(x[:10]), atol=1e-3)


def test_the_plan_follows_the_protocol(digits_path, digits_model):
    for protocol in ("falcon", "clear"):
        assert digits_model.plan_for(protocol)["numbers"] == "64-bit ring"
    field = tacit.compile(digits_path, field=61)
    assert field.plan["numbers"] == "61-bit field"
    assert "61-bit field" in str(field)
    with pytest.raises(tacit.TacitError, match="falcon computes in the 32-bit ring"):
        field.plan_for("falcon")


def test_progress_reaches_the_end(digits_model, digits):
    x, _ = digits
    seen = []
    tacit.local().predict(digits_model, x[:4], progress=lambda *event: seen.append(event))
    assert {"fc1", "conv"} <= {layer for _, layer, _, _ in seen}
    assert all(0 <= done <= total for _, _, done, total in seen)


def test_an_interrupt_in_the_callback_stops_the_run(digits_model, digits):
    x, _ = digits

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tacit.local().predict(digits_model, x[:4], progress=interrupt)


@pytest.mark.parametrize("op", OPERATIONS)
def test_bench(op):
    report = tacit.bench(op, 16, ring=32, repeat=2)
    assert report.online["rounds"] > 0
    assert report.online["seconds"] > 0


def test_bench_in_chunks():
    """What chunks cost adds up, and the callback hears of each."""
    told = []

    def listen(*step):
        told.append(step)

    where = {"ring": 32, "repeat": 1}
    cut = tacit.bench("relu", 100, chunk=40, progress=listen, **where)
    parts = [tacit.bench("relu", n, **where) for n in (40, 40, 20)]
    for phase in ("offline", "online"):
        costs = [getattr(part, phase) for part in parts]
        metered = getattr(cut, phase)
        assert metered["rounds"] == sum(cost["rounds"] for cost in costs)
        sent = zip(*(cost["bytes_sent"] for cost in costs), strict=True)
        assert metered["bytes_sent"] == [sum(each) for each in sent]
    words = [f"relu, chunk {i} of 3" for i in (1, 1, 2, 2, 3, 3)]
    assert told == list(zip(["offline", "online"] * 3, words, range(6), [6] * 6, strict=True))
    assert cut.batch == 40 and "batches of 40" in str(cut)
    whole = [tacit.bench("relu", 100, chunk=chunk, **where) for chunk in (None, 100, 10**6)]
    assert [report.batch for report in whole] == [100] * 3
    assert len({tuple(report.online["bytes_sent"]) for report in whole}) == 1


def test_chunks_that_cannot_be_are_refused():
    with pytest.raises(tacit.TacitError, match="chunk 0: give at least 1"):
        tacit.bench("relu", 10, chunk=0)
    with pytest.raises(tacit.TacitError, match="'matmul' is not cut; leave it out"):
        tacit.bench("matmul", 10, chunk=5)


def test_bench_between_several_parties():
    report = tacit.bench("relu", 16, protocol="clear", parties=4)
    assert (report.parties, report.ring) == (4, 64)


def test_a_model_and_a_report_show_themselves(digits_model, result):
    assert "fc1" in str(digits_model)
    assert "layers" in repr(digits_model)
    assert "falcon" in repr(result.report)
    with pytest.raises(AttributeError, match="protocol"):
        result.report.no_such_key  # noqa: B018


@pytest.mark.parametrize("processes", [False, True])
def test_a_torch_module(processes):
    torch = pytest.importorskip("torch")
    layers = [torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU()]
    module = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(72, 3)).eval()
    x = np.random.default_rng(0).random((4, 1, 8, 8), dtype=np.float32)
    output = tacit.local(processes=processes).predict(tacit.compile(module, samples=x), x).output
    np.testing.assert_allclose(output, module(torch.from_numpy(x)).detach(), atol=1e-3)
