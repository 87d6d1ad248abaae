"""Files whose weights ONNX Runtime's dynamic quantiser made integers."""

import numpy as np
import onnx
import onnxruntime
import pytest
from nets import normals
from onnx import TensorProto, helper, numpy_helper
from test_runtime_forms import check, own, write

import tacit

RNG = np.random.default_rng(13)
normal = normals(RNG)


def dynamically(path):
    """The file with weights of integers, as the runtime's quantiser of weights writes it."""
    quantization = pytest.importorskip("onnxruntime.quantization")
    out = path.with_name("quantised.onnx")
    quantization.quantize_dynamic(path, out, weight_type=quantization.QuantType.QUInt8)
    return out


def test_attention_of_integers(tmp_path):
    """A product of integers with its bias, as it is quantised with the model's other weights."""
    inputs = {"x": normal(1, 5, 8)}
    constants = {"w": normal(8, 24, scale=0.4), "b": normal(24)}
    node = own("Attention", ["x", "w", "b"], num_heads=2)
    write(tmp_path / "m.onnx", [node], constants, inputs=inputs)
    path = dynamically(tmp_path / "m.onnx")
    assert any(node.op_type == "QAttention" for node in onnx.load(path).graph.node)
    check(path, inputs, share=1e-2)


def test_embeddings_of_integers(tmp_path):
    ids, segments = RNG.integers(0, 9, (30, 5)), RNG.integers(0, 2, (30, 5))
    inputs = {"ids": ids, "segments": segments}
    casts = [
        helper.make_node("Cast", [name], [f"{name} of 32 bits"], to=TensorProto.INT32)
        for name in inputs
    ]
    tables = {"words": (9, 8), "places": (12, 8), "kinds": (2, 8), "g": (8,), "b": (8,)}
    constants = {k: RNG.integers(0, 256, shape, np.uint8) for k, shape in tables.items()}
    constants |= {f"{k} scale": np.float32(0.01 + 0.01 * i) for i, k in enumerate(tables)}
    constants |= {f"{k} zero": np.uint8(100 + 9 * i) for i, k in enumerate(tables)}
    names = ["ids of 32 bits", "segments of 32 bits", *tables, ""]
    names += [f"{k} {what}" for what in ("scale", "zero") for k in tables]
    nodes = [*casts, own("QEmbedLayerNormalization", names, ("y", "mask"))]
    write(tmp_path / "m.onnx", nodes, constants, inputs=inputs)
    check(tmp_path / "m.onnx", inputs)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_recurrent_weights_of_integers(tmp_path, direction):
    """The runtime quantises states as well, so that answers differ by its own rounding."""
    ways, hidden = (2 if direction == "bidirectional" else 1), 6
    constants = {"w": normal(ways, 4 * hidden, 3), "r": normal(ways, 4 * hidden, hidden, scale=0.3)}
    constants["b"] = normal(ways, 8 * hidden, scale=0.1)
    options = {"hidden_size": hidden, "direction": direction}
    nodes = [
        helper.make_node("Transpose", ["x"], ["steps"], perm=[1, 0, 2]),
        helper.make_node("LSTM", ["steps", "w", "r", "b"], ["all"], **options),
        helper.make_node("Transpose", ["all"], ["y"], perm=[2, 0, 1, 3]),
    ]
    inputs = write(tmp_path / "m.onnx", nodes, constants, inputs={"x": normal(8, 4, 3)})
    path = dynamically(tmp_path / "m.onnx")
    assert any(node.op_type == "DynamicQuantizeLSTM" for node in onnx.load(path).graph.node)
    check(path, inputs, share=0.2)
    # With the numbers that the integers stand for, and nothing else rounded.
    given = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    for name in "wr":
        whole, scale, zero = [
            given[f"{name}_{what}"] for what in ("quantized", "scale", "zero_point")
        ]
        real = (whole.astype(np.float32) - zero.reshape(ways, 1, -1)) * scale.reshape(ways, 1, -1)
        constants[name] = real.transpose(0, 2, 1).astype(np.float32)
    write(tmp_path / "real.onnx", nodes, constants, inputs=inputs)
    right = onnxruntime.InferenceSession(str(tmp_path / "real.onnx")).run(None, inputs)[0]
    model = tacit.compile(path, samples=inputs["x"])
    found = tacit.local(protocol="clear").predict(model, inputs["x"]).output
    assert np.abs(found - right).max() <= 2e-3 * right.std()
    told = [warning for warning in model.warnings if "DynamicQuantizeLSTM" in warning]
    assert len(told) == 1
    assert "8 bits" in told[0]
