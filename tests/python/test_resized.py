"""Images resized and read at points beside onnxruntime, and what has no one answer."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tacit

FLOAT = TensorProto.FLOAT
F32 = np.float32
RNG = np.random.default_rng(0)


def node(kind, *names, **attributes):
    *inputs, output = names
    return helper.make_node(kind, inputs, [output], **attributes)


def saved(path, nodes, x, tensors, opset=20):
    shape = ["N", *x.shape[1:]] if tensors.get("batch", True) else list(x.shape)
    ends = [
        [helper.make_tensor_value_info("x", FLOAT, shape)],
        [helper.make_tensor_value_info("y", FLOAT, None)],
    ]
    named = [numpy_helper.from_array(np.asarray(v), k) for k, v in tensors.items() if k != "batch"]
    graph = helper.make_graph(nodes, "test", *ends, named)
    imports = [helper.make_opsetid("", opset)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=9), path)


def check(path, nodes, x, atol=1e-3, **tensors):
    saved(path, nodes, x, tensors)
    right = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    model = tacit.compile(path, samples=x, protocol="clear")
    found = tacit.local(protocol="clear").predict(model, x).output
    np.testing.assert_allclose(found.reshape(right.shape), right, atol=atol, rtol=1e-3)


def refused(path, nodes, x, reason, **tensors):
    saved(path, nodes, x, tensors)
    with pytest.raises(tacit.CompileError, match=reason):
        tacit.compile(path, samples=x)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
@pytest.mark.parametrize("how", ["asymmetric", "half_pixel", "align_corners"])
def test_one_scale_for_all_axes(tmp_path, how, policy, mode):
    """An image of 4 by 6 that becomes 7 by 8 has one scale for both axes."""
    x = RNG.standard_normal((3, 1, 4, 6)).astype(F32)
    options = {"coordinate_transformation_mode": how, "keep_aspect_ratio_policy": policy}
    resize = node("Resize", "x", "", "", "sizes", "y", mode=mode, axes=[2, 3], **options)
    check(tmp_path / "m.onnx", [resize], x, sizes=np.int64([7, 8]))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_region_of_one_place_is_its_middle(tmp_path, size, mode):
    x = RNG.standard_normal((1, 1, 5)).astype(F32)
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    resize = node("Resize", "x", "roi", "", "sizes", "y", mode=mode, **crop)
    roi = F32([0, 0, 0.1, 1, 1, 0.7])
    check(tmp_path / "m.onnx", [resize], x, roi=roi, sizes=np.int64([1, 1, size]), batch=False)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("outside", ["zeros", "border", "reflection"])
def test_points_of_cubic_maps_beside_an_edge(tmp_path, outside, corners):
    """Of a border the places around a point are kept inside, the point is not."""
    x = RNG.standard_normal((1, 2, 4, 5)).astype(F32)
    points = RNG.uniform(-1.5, 1.5, (1, 6, 6, 2)).astype(F32)
    options = {"mode": "cubic", "padding_mode": outside, "align_corners": corners}
    check(
        tmp_path / "m.onnx",
        [node("GridSample", "x", "g", "y", **options)],
        x,
        g=points,
        batch=False,
    )


@pytest.mark.parametrize("deviation", [1.0, 1e-3, 1e-4])
def test_small_deviations_are_made_1(tmp_path, deviation):
    """Of 1e-9 beside the deviation nothing is seen; beside the variance it is much."""
    x = (deviation * RNG.standard_normal((8, 1, 4, 4))).astype(F32)
    check(
        tmp_path / "m.onnx",
        [node("MeanVarianceNormalization", "x", "y", axes=[2, 3])],
        x,
        atol=1e-2,
    )


def test_branches_that_hold_at_once_are_refused(tmp_path):
    shrink = node("Shrink", "x", "y", lambd=-0.3, bias=0.3)
    refused(tmp_path / "m.onnx", [shrink], np.ones((2, 3), F32), "its lambd is negative")


def test_an_axis_that_is_cropped_and_wrapped_is_refused(tmp_path):
    x = np.ones((2, 5), F32)
    pad = node("Pad", "x", "p", "y", mode="wrap")
    refused(tmp_path / "m.onnx", [pad], x, "and crops the same axis", p=np.int64([0, -1, 0, 1]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("kind", "name"),
    [("LeakyRelu", "alpha"), ("Elu", "alpha"), ("Selu", "gamma"), ("HardSigmoid", "beta")],
)
def test_attributes_that_are_not_finite_are_refused(tmp_path, kind, name, value):
    """Of an infinite factor 0 times it is no number: it ended in a panic."""
    made = node(kind, "x", "y", **{name: value})
    refused(tmp_path / "m.onnx", [made], np.ones((2, 3), F32), "must be finite")


def test_products_of_attributes_beyond_all_numbers_are_refused(tmp_path):
    selu = node("Selu", "x", "y", alpha=3e38, gamma=3e38)
    refused(tmp_path / "m.onnx", [selu], np.ones((2, 3), F32), "the number inf")
