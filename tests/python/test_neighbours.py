"""The nearest of many rows: the first of long rows, and distances from constants."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import tacit

RNG = np.random.default_rng(3)
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
MANY = 1500


def write(path, nodes, constants, width, out=FLOAT):
    ends = [
        [helper.make_tensor_value_info("x", FLOAT, ["N", width])],
        [helper.make_tensor_value_info("y", out, None)],
    ]
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    graph = helper.make_graph(nodes, "test", *ends, tensors)
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


def right(path, x):
    session = onnxruntime.InferenceSession(str(path))
    return session.run(None, {session.get_inputs()[0].name: x})


def private(path, x, protocol="clear"):
    model = tacit.compile(path, samples=x, protocol=protocol)
    return list(tacit.local(protocol=protocol).predict(model, x).outputs.values())


@pytest.mark.parametrize("size", [256, 257, 300, 1000])
@pytest.mark.parametrize(("k", "largest"), [(1, 1), (3, 0), (40, 1)])
def test_the_first_of_long_rows(tmp_path, size, k, largest):
    """Equal elements come in their order, in one block and in several."""
    x = RNG.integers(0, 50, (8, size)).astype(np.float32) / 4
    nodes = [
        helper.make_node("TopK", ["x", "k"], ["v", "i"], largest=largest),
        helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
        helper.make_node("Concat", ["v", "f"], ["y"], axis=1),
    ]
    path = write(tmp_path / "m.onnx", nodes, {"k": np.array([k])}, size)
    (found,), (expected,) = private(path, x), right(path, x)
    assert np.abs(found - expected).max() < 1e-3


@pytest.mark.parametrize("protocol", ["falcon", "bicoptor", "shamir", "sirnn"])
def test_the_first_of_long_rows_under_every_protocol(tmp_path, protocol):
    x = RNG.permutation(300)[None].astype(np.float32) / 8
    nodes = [
        helper.make_node("TopK", ["x", "k"], ["v", "i"]),
        helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
        helper.make_node("Concat", ["v", "f"], ["y"], axis=1),
    ]
    path = write(tmp_path / "m.onnx", nodes, {"k": np.array([2])}, 300)
    (found,), (expected,) = private(path, x, protocol), right(path, x)
    assert np.abs(found - expected).max() < 0.1


def test_more_than_blocks_serve_is_refused(tmp_path):
    nodes = [helper.make_node("TopK", ["x", "k"], ["y", ""], largest=0)]
    path = write(tmp_path / "m.onnx", nodes, {"k": np.array([200])}, 1100)
    with pytest.raises(tacit.CompileError, match="of which it takes 200"):
        tacit.compile(path)


@pytest.mark.parametrize("options", [None, {"optim": "cdist"}])
@pytest.mark.parametrize("kind", [KNeighborsClassifier, KNeighborsRegressor])
def test_neighbours_among_many_rows(tmp_path, kind, options):
    """More rows than a Scan has turns, some of them the same, as skl2onnx writes them."""
    rows = RNG.standard_normal((MANY, 5)).astype(np.float32)
    rows[MANY // 2 :: 7] = rows[: len(rows[MANY // 2 :: 7])]
    target = rows[:, 0] + rows[:, 1] ** 2
    model = kind(4).fit(rows, (target > 1).astype(int) if "Class" in kind.__name__ else target)
    given = {id(model): options} if options else None
    path = tmp_path / "m.onnx"
    onnx.save(to_onnx(model, rows[:1], options=given, target_opset=17), path)
    x = RNG.standard_normal((40, 5)).astype(np.float32)
    found, expected = private(path, x)[0], right(path, x)[0]
    assert np.abs(found.reshape(expected.shape) - expected).max() < 1e-2


def test_kernels_of_scaled_rows(tmp_path):
    """A Gaussian process divides its rows and the items by a length before their distances."""
    rows = RNG.standard_normal((1100, 3)).astype(np.float32)
    model = GaussianProcessRegressor(RBF(1.5), alpha=0.1, optimizer=None)
    model.fit(rows, rows[:, 0] + rows[:, 1] ** 2)
    path = tmp_path / "m.onnx"
    onnx.save(to_onnx(model, rows[:1], target_opset=17), path)
    x = RNG.standard_normal((40, 3)).astype(np.float32)
    found, expected = private(path, x)[0], right(path, x)[0]
    assert np.abs(found.reshape(expected.shape) - expected).max() < 1e-3


def test_kernels_of_doubles(tmp_path):
    """Constants that kernels add are products of tensors of doubles, which stay doubles."""
    rows = RNG.standard_normal((60, 3))
    kernel = ConstantKernel(2.0) * RBF(1.5) + ConstantKernel(0.5)
    model = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None)
    model.fit(rows, rows[:, 0] + rows[:, 1] ** 2)
    path = tmp_path / "m.onnx"
    onnx.save(to_onnx(model, rows[:1], target_opset=17), path)
    x = RNG.standard_normal((40, 3))
    found, expected = private(path, x)[0], right(path, x)[0]
    assert np.abs(found.reshape(expected.shape) - expected).max() < 2e-3


@pytest.mark.parametrize("options", [{"p": 3}, {"metric": "cosine"}, {"p": 1}])
def test_neighbours_by_other_distances(tmp_path, options):
    """A power of a distance, which may be 0, has the order of the distance; doubles."""
    rows = RNG.standard_normal((80, 4))
    model = KNeighborsRegressor(3, **options).fit(rows, rows[:, 0] + rows[:, 1] ** 2)
    path = tmp_path / "m.onnx"
    onnx.save(to_onnx(model, rows[:1], target_opset=17), path)
    x = np.concatenate([RNG.standard_normal((30, 4)), rows[:5]])
    found, expected = private(path, x)[0], right(path, x)[0]
    assert np.abs(found.reshape(expected.shape) - expected).max() < 1e-3


BODIES = {
    "sums of sizes": [
        ("Sub", ["s", "r"], "d"), ("Abs", ["d"], "a"), ("ReduceSum", ["a", "1"], "o"),
    ],
    "powers": [
        ("Sub", ["r", "s"], "d"), ("Abs", ["d"], "a"), ("Pow", ["a", "3"], "p"),
        ("ReduceSum", ["p", "1"], "t"), ("Pow", ["t", "third"], "o"),
    ],
    "products": [("Mul", ["s", "r"], "d"), ("ReduceMax", ["d"], "o")],
    "of the row alone": [
        ("Mul", ["r", "3"], "q"), ("Sub", ["s", "q"], "d"), ("ReduceL1", ["d"], "o"),
    ],
    "of the items alone": [("Mul", ["s", "s"], "q"), ("ReduceSumSquare", ["q"], "o")],
    "of the items, then of both": [
        ("ReduceSumSquare", ["s"], "q"), ("Sub", ["s", "r"], "d"), ("ReduceL1", ["d"], "e"),
        ("Add", ["q", "e"], "o"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("form", BODIES)
@pytest.mark.parametrize("kept", [True, False])
def test_scans_over_constant_rows(tmp_path, form, kept):
    """Written for all rows at once where that is the same, and as turns where not."""
    size = 12
    names = {"s": "state", "r": "row"}
    body = []
    for op, inputs, output in BODIES[form]:
        more = {}
        if op.startswith("Reduce"):
            more = {"keepdims": 0} | ({} if op == "ReduceSum" else {"axes": [1]})
        read = [names.get(name, name) for name in inputs]
        body.append(helper.make_node(op, read, [output], **more))
    state = ["Identity", ["state"]] if kept else ["Add", ["state", "half"]]
    body.append(helper.make_node(*state, ["next"]))
    inner = {
        "1": np.array([1]), "3": np.float32(3), "third": np.float32(1 / 3), "half": np.float32(0.5),
    }  # fmt: skip
    infos = [helper.make_tensor_value_info(n, FLOAT, None) for n in ("state", "row", "next", "o")]
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in inner.items()]
    graph = helper.make_graph(body, "body", infos[:2], infos[2:], tensors)
    nodes = [
        helper.make_node("Scan", ["x", "rows"], ["last", "all"], body=graph, num_scan_inputs=1),
        helper.make_node("Transpose", ["all"], ["y"], perm=[1, 0]),
    ]
    rows = RNG.standard_normal((size, 3)).astype(np.float32)
    path = write(tmp_path / "m.onnx", nodes, {"rows": rows}, 3)
    x = RNG.standard_normal((20, 3)).astype(np.float32)
    (found,), (expected,) = private(path, x), right(path, x)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 2e-3 * max(1, np.abs(expected).max())
