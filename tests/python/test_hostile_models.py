"""Small files that ask for much memory or time are refused by a sentence, and end no process."""

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

FLOATS = TensorProto.FLOAT


def write(path, nodes, constants=(), shape=("n", 4), *, opset=17, functions=()):
    x, y = (helper.make_tensor_value_info(n, FLOATS, s) for n, s in (("x", shape), ("y", None)))
    graph = helper.make_graph(nodes, "g", [x], [y], list(constants))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    opsets.append(helper.make_opsetid("ai.onnx.ml", 3))
    model = helper.make_model(graph, opset_imports=opsets, functions=list(functions))
    path.write_bytes(model.SerializeToString())
    return path


def tensor(name, shape, data=b"", kind=FLOATS):
    made = TensorProto(name=name, data_type=kind, raw_data=data)
    made.dims.extend(shape)
    return made


def whole(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def refused(path, words):
    with pytest.raises(tacit.TacitError, match=words):
        tacit.compile(path)


SIZES = [
    helper.make_node("Shape", ["c"], ["s"]),
    helper.make_node("Cast", ["s"], ["f"], to=FLOATS),
    helper.make_node("ReduceMax", ["f"], ["m"], keepdims=0),
    helper.make_node("Add", ["x", "m"], ["y"]),
]


@pytest.mark.parametrize("shape", [(2**40, 0), (2**20, 2**20, 0), (2**62, 0)])
@pytest.mark.parametrize("op", ["Transpose", "Concat", "Identity"])
def test_an_axis_of_no_elements_hides_no_others(tmp_path, op, shape):
    more = {"axis": 1} if op == "Concat" else {}
    nodes = [helper.make_node(op, ["a"], ["c"], **more), *SIZES]
    refused(write(tmp_path / "m.onnx", nodes, [tensor("a", shape)]), "more than 134217728 elements")


def test_padding_is_refused_before_it_is_made(tmp_path):
    axes = 600
    pads = whole("p", [2**20 - 1] * (2 * axes))
    nodes = [helper.make_node("Pad", ["a", "p"], ["c"]), *SIZES]
    constant = tensor("a", [1] * axes, b"\0" * 4)
    refused(write(tmp_path / "m.onnx", nodes, [constant, pads]), "more than 134217728 elements")


def test_points_between_many_axes_are_refused(tmp_path):
    axes = 14
    grid = tensor("g", [1] * (axes + 1) + [axes], b"\0" * 4 * axes)
    nodes = [helper.make_node("GridSample", ["x", "g"], ["y"], mode="cubic")]
    path = write(tmp_path / "m.onnx", nodes, [grid], ["n", 1] + [1] * axes, opset=20)
    refused(path, "it reads along 14 axes, at most 3")


def test_copies_in_a_circle_are_no_search(tmp_path):
    floats = [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in
              (("table", [1, 2]), ("one", 1), ("nothing", 0))]  # fmt: skip
    nodes = [
        helper.make_node("Gather", ["table", "zero"], ["g"]),
        helper.make_node("Less", ["g", "x"], ["c"]),
        helper.make_node("Expand", ["e", "s"], ["e"]),
        helper.make_node("And", ["e", "c"], ["both"]),
        helper.make_node("Where", ["both", "one", "nothing"], ["y"]),
    ]
    path = write(tmp_path / "m.onnx", nodes, [*floats, whole("zero", 0), whole("s", [1])])
    refused(path, "cycle")


def test_a_search_that_is_none_ends_at_once(tmp_path):
    """Of a hundred values that look like the end of a search each takes no longer than another."""
    floats = [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in
              (("table", range(1024)), ("one", 1), ("nothing", 0))]  # fmt: skip
    nodes = [
        helper.make_node("Gather", ["table", "zero"], ["g"]),
        helper.make_node("Less", ["g", "x"], ["c"]),
        helper.make_node("Less", ["nothing", "one"], ["d"]),
        helper.make_node("And", ["c", "d"], ["both"]),
    ]
    for i in range(360):
        nodes.append(helper.make_node("Add", [f"p{i - 1}" if i else "nothing", "one"], [f"p{i}"]))
    nodes += [helper.make_node("Where", ["both", "p359", "nothing"], [f"w{i}"]) for i in range(300)]
    nodes.append(helper.make_node("Relu", ["x"], ["y"]))
    path = write(tmp_path / "m.onnx", nodes, [*floats, whole("zero", 0)])
    assert tacit.compile(path).plan["layers"][-1]["op"] == "Relu"


def test_functions_that_multiply_are_refused(tmp_path):
    """Each calls the next one twice: what the last has is copied eight thousand times."""
    many, opset = 14, [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    numbers = helper.make_node("Constant", [], ["k"], value_ints=[1] * 10**5)
    last = [numbers, helper.make_node("Relu", ["a"], ["b"])]
    functions = [helper.make_function("own", "f0", ["a"], ["b"], last, opset)]
    for i in range(1, many):
        calls = [helper.make_node(f"f{i - 1}", [a], [b], domain="own") for a, b in ("am", "mb")]
        functions.append(helper.make_function("own", f"f{i}", ["a"], ["b"], calls, opset))
    call = helper.make_node(f"f{many - 1}", ["x"], ["y"], domain="own")
    path = write(tmp_path / "m.onnx", [call], functions=functions)
    refused(path, "its functions become more than 536870912 bytes")


def test_attributes_without_numbers_are_counted(tmp_path):
    """Two bytes of the file each, and some hundred of memory."""
    node = helper.make_node("Relu", ["x"], ["y"]).SerializeToString() + b"\x2a\x00" * 4_000_000
    model = onnx.load_from_string(write(tmp_path / "m.onnx", []).read_bytes())
    graph = model.graph.SerializeToString()

    def field(number, of):
        size, words = len(of), bytearray([number << 3 | 2])
        while size > 127:
            words.append(size & 127 | 128)
            size >>= 7
        return bytes(words) + bytes([size]) + of

    model.ClearField("graph")
    path = tmp_path / "many.onnx"
    path.write_bytes(model.SerializeToString() + field(7, graph + field(1, node)))
    refused(path, "its nodes, attributes and names alone take more than")


def test_numbers_that_are_only_moved_are_found_once(tmp_path):
    """Two parts of a row that change places, forty times: each was looked through twice."""
    nodes, last = [], "x"
    for i in range(40):
        parts = [helper.make_node("Gather", [last, k], [f"{k}{i}"], axis=1) for k in "pq"]
        nodes += [*parts, helper.make_node("Concat", [f"p{i}", f"q{i}"], [f"c{i}"], axis=1)]
        last = f"c{i}"
    trees = helper.make_node(
        "TreeEnsembleRegressor", [last], ["y"], domain="ai.onnx.ml", n_targets=1,
        nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2], nodes_featureids=[0] * 3,
        nodes_values=[1.0, 0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        nodes_missing_value_tracks_true=[1, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2],
        target_ids=[0, 0], target_weights=[1.0, 2.0],
    )  # fmt: skip
    path = write(tmp_path / "m.onnx", [*nodes, trees], [whole("p", [1, 2]), whole("q", [3, 0])])
    x = np.array([[0, 5, 0, 0], [0, 0, 5, 0], [5, 0, 0, 0]], np.float32)
    right = np.where(np.roll(x, -40, 1)[:, :1] <= 1, 1, 2)
    found = tacit.local("clear").predict(tacit.compile(path, samples=x), x).output
    np.testing.assert_allclose(found, right, atol=1e-3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_is_no_external_data(tmp_path):
    os.mkfifo(tmp_path / "data")
    outside = tensor("a", [4])
    outside.data_location = TensorProto.EXTERNAL
    entry = outside.external_data.add()
    entry.key, entry.value = "location", "data"
    path = write(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "a"], ["y"])], [outside])
    refused(path, "is no file")


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
import tacit
print(max(len(layer["name"]) for layer in tacit.compile(sys.argv[1]).plan["layers"]))
"""


def test_names_of_turns_are_cut(tmp_path):
    """A loop of a thousand turns, whose one node has a name of 8 MB: kept whole they take 8 GB."""
    one = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    goes = helper.make_tensor_value_info("g", TensorProto.BOOL, [])
    state = helper.make_tensor_value_info("s", FLOATS, None)
    made = [helper.make_node("Neg", ["s"], ["t"], name="n" * 2**23),
            helper.make_node("Identity", ["g"], ["h"])]  # fmt: skip
    ends = [helper.make_tensor_value_info("h", TensorProto.BOOL, []),
            helper.make_tensor_value_info("t", FLOATS, None)]  # fmt: skip
    body = helper.make_graph(made, "body", [one, goes, state], ends)
    loop = helper.make_node("Loop", ["many", "", "x"], ["y"], body=body)
    path = write(tmp_path / "m.onnx", [loop], [whole("many", 1000)])
    command = [sys.executable, "-c", LIMITED, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0 and int(done.stdout) <= 256, done.stderr
