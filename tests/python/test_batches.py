"""Batches that are predicted one after the other, and predictions among other tasks."""

import asyncio
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tacit
from tacit.batches import is_batches


def pieces(x, size, y=None):
    """Batches of a size, with labels if there are any."""
    for first in range(0, len(x), size):
        part = slice(first, first + size)
        yield x[part] if y is None else (x[part], y[part])


@pytest.mark.parametrize("protocol", ["falcon", "clear"])
def test_batches_give_one_result(protocol, digits_model, digits):
    x, y = digits
    session = tacit.local(protocol=protocol)
    with session:
        apart = [session.predict(digits_model, *piece) for piece in pieces(x[:7], 3, y[:7])]
    result = session.predict(digits_model, pieces(x[:7], 3, y[:7]))
    joined = np.concatenate([each.output for each in apart])
    np.testing.assert_allclose(result.output, joined, atol=1e-3)
    report, alone = result.report, [each.report for each in apart]
    assert (report.images, report.runs, len(report.batches)) == (7, 3, 3)
    for phase in ("setup", "offline", "online"):
        costs = [each.data[phase] for each in alone]
        assert report.data[phase]["rounds"] == sum(cost["rounds"] for cost in costs)
    for phase in ("offline", "online"):
        sent = zip(*(each.data[phase]["bytes_sent"] for each in alone), strict=True)
        assert report.data[phase]["bytes_sent"] == [sum(party) for party in sent]
    assert sum(layer["rounds"] for layer in report.layers) == report.online["rounds"]
    assert report.accuracy == pytest.approx(digits_model.accuracy(result.output, y[:7]))
    assert [entry["count"] for entry in report.revealed] == [7]
    assert "3 runs" in str(report)


def test_the_parties_stay_together_in_between(digits_model, digits):
    x, _ = digits
    session = tacit.local()
    first, second = session.predict_batches(digits_model, pieces(x[:4], 2))
    assert max(second.report.setup["bytes_sent"]) < max(first.report.setup["bytes_sent"]) / 2


def test_batches_are_read_as_they_are_asked_for(digits_model, digits):
    x, _ = digits
    read = []

    def endless():
        while True:
            read.append(len(read))
            yield x[:2]

    with tacit.local(protocol="clear") as session:
        results = session.predict_batches(digits_model, endless())
        for _ in range(3):
            assert next(results).output.shape == (2, 10)
        results.close()
        assert read == [0, 1, 2]
        assert len(session.predict(digits_model, x[:1]).output) == 1


def test_a_loader_of_torch(digits_model, digits):
    data = pytest.importorskip("torch.utils.data", reason="torch is not installed")
    import torch

    x, y = (torch.from_numpy(np.array(each[:5])) for each in digits)
    session = tacit.local(protocol="clear")
    wanted = digits_model.reference(x)
    for held, labelled in (((x,), False), ((x, y), True)):
        loader = data.DataLoader(data.TensorDataset(*held), batch_size=2)
        assert is_batches(loader)
        result = session.predict(digits_model, loader, check=True)
        np.testing.assert_allclose(result.output, wanted, atol=1e-3)
        assert (result.report.accuracy is not None) is labelled
        assert result.report.agreement == 1
        assert result.report.max_abs_error == pytest.approx(
            np.abs(result.output - wanted).max(), abs=1e-6
        )


def test_what_is_an_array_is_no_iterable_of_batches(digits):
    x, _ = digits
    for given in (x, x.tolist(), tuple(x), {"x": x}, "x"):
        assert not is_batches(given)
    for given in (iter([x]), (each for each in [x]), map(np.array, [x]), {"a": x}.values()):
        assert is_batches(given)


def test_batches_that_cannot_be(digits_model, digits):
    x, y = digits
    session = tacit.local(protocol="clear")

    def refused(words, batches, **more):
        with pytest.raises(tacit.TacitError, match=words):
            session.predict(digits_model, batches, **more)

    refused("there is no batch", iter([]))
    refused("batch 1 has no labels", iter([(x[:1], y[:1]), x[1:2]]))
    refused("batch 1 has labels", iter([x[:1], (x[1:2], y[1:2])]))
    refused("tuple of 3", iter([(x[:1], y[:1], 1)]))
    refused("bring their labels", iter([x[:1]]), labels=y[:1])
    refused("shape", iter([x[0]]))


def test_batches_that_come_in_time(digits_model, digits):
    """From an asynchronous generator; each is predicted when it is there."""
    x, y = digits

    async def coming(*batches):
        for batch in batches:
            await asyncio.sleep(0)
            yield batch

    def predict(*batches, **labels):
        given = coming(*batches)
        return asyncio.run(tacit.local().predict_async(digits_model, given, **labels))

    result = predict((x[:2], y[:2]), (x[2:5], y[2:5]))
    np.testing.assert_allclose(result.output, digits_model.reference(x[:5]), atol=1e-3)
    assert result.report.images == 5 and result.report.accuracy is not None
    for wrong, match in (((), "no batch"), ((x[:2], (x[2:5], y[2:5])), "some batches")):
        with pytest.raises(tacit.InputError, match=match):
            predict(*wrong)
    with pytest.raises(tacit.InputError, match="bring their labels"):
        predict(x[:1], labels=y[:1])


def test_predictions_among_other_tasks(digits_model, digits):
    x, y = digits
    seen = []

    async def main():
        with tacit.local() as session:
            first = session.predict_async(
                digits_model, x[:3], y[:3], progress=lambda *step: seen.append(step)
            )
            second = session.predict_async(digits_model, pieces(x[:3], 2))
            return await asyncio.gather(first, second)

    for result in asyncio.run(main()):
        np.testing.assert_allclose(result.output, digits_model.reference(x[:3]), atol=1e-3)
    assert {"fc1", "conv"} <= {layer for _, layer, _, _ in seen}


def test_a_task_that_is_cancelled_ends_its_run_alone(digits_model, digits):
    x, _ = digits

    async def main():
        with tacit.local(network="60ms,1000Mbps") as slow, tacit.local(protocol="clear") as other:
            await slow.predict_async(digits_model, x[:1])
            task = asyncio.create_task(slow.predict_async(digits_model, x[:2]))
            await asyncio.sleep(0.3)
            task.cancel()
            began = time.monotonic()
            beside = await other.predict_async(digits_model, x[:2])
            with pytest.raises(asyncio.CancelledError):
                await task
            took = time.monotonic() - began
            again = await slow.predict_async(digits_model, x[:1])
            return beside, took, again

    beside, took, again = asyncio.run(main())
    assert beside.output.shape == (2, 10) and again.output.shape == (1, 10)
    # The whole run takes some 47 hops of 30 ms, a step of it at most 18.
    assert took < 1.2


CTRL_C = """
import asyncio, sys, numpy as np, tacit
model = tacit.compile(sys.argv[1])
x = np.zeros((2, 1, 8, 8), np.float32)
async def main():
    session = tacit.local(network="200ms,1000Mbps")
    await session.predict_async(model, x, progress=lambda phase, *_: print(phase, flush=True))
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""


def test_control_c_ends_a_task(digits_path):
    process = subprocess.Popen(
        [sys.executable, "-c", CTRL_C, digits_path], stdout=subprocess.PIPE, text=True
    )
    while "online" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    shown, _ = process.communicate(timeout=60)
    assert shown.endswith("interrupted\n")
    assert time.monotonic() - began < 4
