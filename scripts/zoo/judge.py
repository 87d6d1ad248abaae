"""One row of the zoo: a model compiled, or predicted on a protocol, beside onnxruntime."""

import resource
import time

import numpy as np

import tacit

PRIVATE = ("falcon", "bicoptor", "shamir", "sirnn")
"""Protocols that what a model costs is counted under when it is compiled."""
SAMPLES = 8
"""Inputs that ranges are estimated from, which are not among those predicted."""
BOUND = 0.01
"""The largest error over the deviation of the outputs."""
NUDGES = 16
"""Copies of an input beside it."""


def data(entry, n):
    """Samples, and inputs to predict."""
    return [entry.make(np.random.default_rng(seed), k) for seed, k in ((1, SAMPLES), (2, n))]


def peak():
    """The most memory of this process until now, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def compiled(entry, folder, protocol=None, n=1):
    """The model, the seconds that compiling took, and inputs to predict."""
    path = entry.file(folder)
    samples, x = data(entry, n)
    start = time.monotonic()
    model = tacit.compile(path, samples=samples, protocol=protocol, **entry.options)
    return model, time.monotonic() - start, x


def plan(entry, folder):
    """What compiling alone gives."""
    before = peak()
    model, seconds, _ = compiled(entry, folder)
    counted = {protocol: declared(model, protocol) for protocol in PRIVATE}
    return {
        "seconds": seconds,
        "before": before,
        "peak": peak(),
        "parameters": model.plan["parameters"],
        "layers": len(model.plan["layers"]),
        "counted": counted,
        "warnings": len(model.warnings),
    }


def declared(model, protocol):
    """MB that one input sends offline and online, and the rounds of both, as a protocol says."""
    cost = model.predict_cost(1, protocol=protocol)
    phases = [cost["offline"], cost["online"]]
    sent = [sum(phase["bytes_sent"]) / 1e6 for phase in phases]
    return {"sent": sent, "rounds": [phase["rounds"] for phase in phases]}


def predict(entry, folder, where, n, budget):
    """What a private prediction of `n` inputs gives, or of as many as take `budget` seconds."""
    model, seconds, x = compiled(entry, folder, where["protocol"], n)
    done, sent, wall = [], [0.0, 0.0], 0.0
    some = batch(model, n)
    parts = (_some(x, slice(at, at + some), entry.axes) for at in range(0, n, some))
    start = time.monotonic()
    for result in tacit.local(**where, timeout=600.0).predict_batches(model, parts):
        wall = time.monotonic() - start
        done.append(result.outputs)
        report = result.report.data
        for i, phase in enumerate(("offline", "online")):
            sent[i] += sum(report[phase]["bytes_sent"]) / 1e6
        if wall > budget:
            break
    n = min(n, some * len(done))
    plans = model.plan["outputs"]
    joined = {
        each["name"]: np.concatenate([part[each["name"]] for part in done], each["batch"])
        for each in plans
    }
    x = _some(x, slice(n), entry.axes)
    expected = oracle(entry, folder, x, plans)
    found, ties = judged(joined, expected, plans, lambda at: nudged(entry, folder, x, plans, at))
    return {
        "inputs": n,
        "compile": seconds,
        "wall": wall / n,
        "sent": [mb / n for mb in sent],
        "peak": peak(),
        "warnings": len(report["warnings"]),
        "ties": ties,
        **found,
    }


def batch(model, n):
    """Items at a time, as many as keep values of all layers within some memory."""
    values = sum(int(np.prod(layer["shape"])) for layer in model.plan["layers"])
    return max(1, min(n, 20_000_000 // max(values, 1)))


def _some(x, items, axes):
    """Some of the items, which stand along such axes of the inputs, along the first of others."""
    if not isinstance(x, dict):
        return x[items]
    return {name: v[(slice(None),) * axes.get(name, 0) + (items,)] for name, v in x.items()}


def oracle(entry, folder, x, plans):
    """The outputs of onnxruntime by their names, of one input at a time."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        entry.file(folder), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    given = x if isinstance(x, dict) else {session.get_inputs()[0].name: x}
    fixed = {name: np.array(value) for name, value in entry.options.get("fix", {}).items()}
    runs, axes = [], {output["name"]: output["batch"] for output in plans}
    first = next(iter(given))
    for i in range(given[first].shape[entry.axes.get(first, 0)]):
        one = _some(given, i if entry.whole else slice(i, i + 1), entry.axes)
        found = [_rows(each) for each in session.run(names, {**one, **fixed})]
        runs.append([each[None] if entry.whole else each for each in found])
    parts = zip(*runs, strict=True)
    named = zip(names, parts, strict=True)
    return {name: np.concatenate(part, axes.get(name, 0)) for name, part in named}


def _rows(output):
    """An output as an array, also one that is a list of probabilities by their classes."""
    if isinstance(output, list):
        return np.array([list(each.values()) for each in output], np.float32)
    return np.asarray(output)


def nudged(entry, folder, x, plans, at):
    """The outputs of onnxruntime where each number of input `at` is a float32's last place off."""
    rng = np.random.default_rng(at)

    def near(v, axis):
        v = np.repeat(v.take([at], axis), NUDGES, axis)
        if v.dtype.kind != "f":
            return v
        place = np.spacing(np.abs(v).astype(np.float32)).astype(v.dtype)
        return v + np.where(rng.random(v.shape) < 0.5, place, -place)

    if not isinstance(x, dict):
        return oracle(entry, folder, near(x, 0), plans)
    copies = {name: near(v, entry.axes.get(name, 0)) for name, v in x.items()}
    return oracle(entry, folder, copies, plans)


def judged(outputs, expected, plans, nudges):
    """What `compare` finds, but for inputs whose answer onnxruntime itself does not keep.

    Where two neighbours are as far to the last place of float32, the answer is not the model's but
    that place's. Of an input that is off, `nudges` gives onnxruntime's outputs beside it: where
    ours are right beside one of them, the input is a tie and not judged. The second result is the
    number of ties.
    """
    deviations = {
        name: wanted.std() for name, wanted in expected.items() if wanted.dtype.kind == "f"
    }
    axes = {each["name"]: each["batch"] for each in plans}

    def of(values, items):
        return {name: v.take(items, axes[name]) for name, v in values.items() if name in axes}

    def is_right(found):
        return found["error"] <= BOUND and found["agree"] == found["judged"]

    found = compare(outputs, expected, plans, deviations)
    if is_right(found):
        return found, 0
    named = {name: np.asarray(v).reshape(expected[name].shape) for name, v in outputs.items()}
    first = next(iter(named))
    all_of = range(named[first].shape[axes[first]])
    ties = []
    for i in all_of:
        ours = of(named, [i])
        if is_right(compare(ours, of(expected, [i]), plans, deviations)):
            continue
        near = nudges(i)
        copies = (of(near, [k]) for k in range(NUDGES))
        if any(is_right(compare(ours, copy, plans, deviations)) for copy in copies):
            ties.append(i)
    rest = [i for i in all_of if i not in ties]
    return compare(of(named, rest), of(expected, rest), plans, deviations), len(ties)


def compare(outputs, expected, plans, deviations):
    """The largest error over the outputs' deviation, and classes that should agree and do.

    Of an output of one number in a row there are no classes. Where the margin between the two
    largest is at most twice the bound, either may be given.
    """
    worst, agree, judged = 0.0, 0, 0
    labels = [each["name"] for each in plans if each["classes"]]
    for name, given in outputs.items():
        wanted = expected[name]
        got = np.asarray(given).reshape(wanted.shape)
        if name in labels or wanted.dtype.kind not in "f":
            same = got == wanted
            agree, judged = agree + int(same.sum()), judged + same.size
            continue
        deviation = deviations[name]
        errors = np.nan_to_num(np.abs(got - wanted), nan=np.inf)
        worst = max(worst, float(errors.max(initial=0) / max(deviation, 1e-30)))
        rows, mine = (v.reshape(len(v), -1) for v in (wanted, got))
        if rows.shape[1] > 1:
            top = np.sort(rows, axis=1)
            clear = top[:, -1] - top[:, -2] > 2 * BOUND * deviation
            judged += int(clear.sum())
            agree += int((rows.argmax(1) == mine.argmax(1))[clear].sum())
    return {"error": worst, "agree": agree, "judged": judged}
