"""Runs small networks on inputs unlike their samples; fills `off-samples` of docs/results.md.

    make off-samples

Every network is planned with and without samples for every setting of a protocol, and run on inputs
that are all zero, a hundredth of the samples, at the far end of the declared range, and mirrored. A
network with one setting counts by the worst of its inputs: `right`, `warned` (right, but a warning
was given), `refused` (when it was planned or when an input was given), `wrong, warned` or `silently
wrong`. An output is right within the tolerance of `graphs/judge.py`.
"""

import argparse
import collections
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tacit
from graphs.judge import told, tolerance
from results import markdown, write_section

INPUTS, HIDDEN, OUTPUTS = 16, 16, 4
SETTINGS = {
    "falcon 64": ({}, {"protocol": "falcon"}),
    "falcon 32": ({"ring": 32}, {"protocol": "falcon"}),
    "bicoptor ubl 64": ({}, {"protocol": "bicoptor", "sharing": "ubl"}),
    "bicoptor rss 32": ({"ring": 32}, {"protocol": "bicoptor", "sharing": "rss"}),
    "shamir 61": ({}, {"protocol": "shamir"}),
    "shamir 31": ({"field": 31}, {"protocol": "shamir"}),
    "sirnn": ({}, {"protocol": "sirnn"}),
}
VERDICTS = ("right", "warned", "refused", "wrong, warned", "silently wrong")


def weights(rng, name, *shape):
    """A random tensor with the spread that training starts from."""
    fan_in = int(np.prod(shape[:-1])) if len(shape) == 2 else int(np.prod(shape[1:]) or 1)
    return numpy_helper.from_array(rng.normal(0, fan_in**-0.5, shape).astype(np.float32), name=name)


def constant(name, value, kind=np.float32):
    """A tensor of the file."""
    return numpy_helper.from_array(np.asarray(value, kind), name=name)


def middle(kind):
    """The nodes from `h` to `a`, with their constants."""
    node = helper.make_node
    if kind == "layer-norm":
        ones, zeros = constant("s", np.ones(HIDDEN)), constant("z", np.zeros(HIDDEN))
        return [node("LayerNormalization", ["h", "s", "z"], ["a"], name="norm")], [ones, zeros]
    if kind == "rms-norm":
        return [
            node("Pow", ["h", "two"], ["square"], name="norm.square"),
            node("ReduceMean", ["square"], ["mean"], name="norm.mean", axes=[-1]),
            node("Add", ["mean", "eps"], ["kept"], name="norm.eps"),
            node("Sqrt", ["kept"], ["root"], name="norm.root"),
            node("Div", ["h", "root"], ["a"], name="norm.div"),
        ], [constant("two", 2.0), constant("eps", 1e-5)]
    return [node(kind, ["h"], ["a"], name="function")], []


def network(kind, folder):
    """The path of a network around one operation, and the shape of its inputs."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    node = helper.make_node
    if kind == "Flatten":
        shape, flat = [2, 6, 6], 4 * 4 * 4
        fixed = [
            weights(rng, "w1", 4, 2, 3, 3),
            weights(rng, "b1", 4),
            weights(rng, "w2", flat, OUTPUTS),
        ]
        nodes = [
            node("Conv", ["x", "w1", "b1"], ["h"], name="conv"),
            node("Relu", ["h"], ["a"], name="relu"),
            node("Flatten", ["a"], ["f"], name="flatten", axis=-3),
            node("Gemm", ["f", "w2"], ["y"], name="last"),
        ]
    else:
        shape = [INPUTS]
        within, extra = middle(kind)
        fixed = [
            weights(rng, "w1", INPUTS, HIDDEN),
            weights(rng, "b1", HIDDEN),
            weights(rng, "w2", HIDDEN, OUTPUTS),
            *extra,
        ]
        nodes = [
            node("Gemm", ["x", "w1", "b1"], ["h"], name="first"),
            *within,
            node("Gemm", ["a", "w2"], ["y"], name="last"),
        ]
    graph = helper.make_graph(
        nodes,
        kind,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *shape])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", OUTPUTS])],
        fixed,
    )
    opset = 20 if kind == "Gelu" else 17
    path = Path(folder) / f"{kind}.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.save(model, path)
    return path, shape


NETWORKS = ["Softmax", "Sigmoid", "Tanh", "Gelu", "layer-norm", "rms-norm", "Flatten"]


def unlike(samples, reach):
    """Inputs that no sample shows, all within the declared range."""
    far = samples * (0.99 * reach / np.abs(samples).max())
    return {
        "zero": np.zeros_like(samples),
        "quiet": samples / 100,
        "scaled": far,
        "mirrored": -samples,
    }


def verdict(path, samples, setting, with_samples):
    """How one network fares under a setting, and what was seen."""
    compile_options, session = SETTINGS[setting]
    given = {"samples": samples} if with_samples else {}
    reach = 2 * np.abs(samples).max() if with_samples else 8.0
    inputs = unlike(samples, reach)
    results = {}
    try:
        model = tacit.compile(path, **compile_options, **given)
        with tacit.local(**session) as parties:
            for name, x in inputs.items():
                results[name] = parties.predict(model, x)
    except tacit.TacitError as refusal:
        return "refused", str(refusal)
    expected = {name: model.reference(x) for name, x in inputs.items()}
    report = next(iter(results.values())).report
    bound = tolerance(np.concatenate([*expected.values()]), 2.0**-report.fraction_bits)
    errors = {name: np.abs(results[name].output - expected[name]).max() for name in inputs}
    note = ", ".join(f"{name} {error:.2g}" for name, error in errors.items())
    warnings = told(report)
    note = "; ".join([f"{note} of {bound:.2g}", *warnings])
    if all(error <= bound for error in errors.values()):
        return ("warned" if warnings else "right"), note
    return ("wrong, warned" if warnings else "silently wrong"), note


def runs(networks, settings, seed):
    """Every network with every setting, with and without samples: its verdict and what was seen."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        for kind in networks:
            path, shape = network(kind, folder)
            samples = rng.normal(0, 1, (16, *shape)).astype(np.float32)
            for setting in settings:
                for with_samples in (True, False):
                    yield (
                        kind,
                        setting,
                        with_samples,
                        *verdict(path, samples, setting, with_samples),
                    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=[*SETTINGS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-table", action="store_true", help="leave docs/results.md alone")
    options = parser.parse_args()
    counts = collections.defaultdict(collections.Counter)
    for kind, setting, with_samples, found, note in runs(
        options.networks, options.settings, options.seed
    ):
        counts[setting][found] += 1
        counts["all"][found] += 1
        given = "samples" if with_samples else "no samples"
        print(f"{kind}, {setting}, {given}: {found}: {note[:400]}", flush=True)
    settings = [*options.settings, "all"]
    rows = [[setting, *(counts[setting][v] for v in VERDICTS)] for setting in settings]
    table = markdown(["setting", *VERDICTS], rows)
    print(table)
    if not options.no_table:
        write_section("off-samples", table)


if __name__ == "__main__":
    main()
