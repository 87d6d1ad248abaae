import os
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples" / "digits"), str(ROOT / "scripts")]

import data  # noqa: E402
import tacit  # noqa: E402
from tacit import datasets  # noqa: E402


@pytest.fixture(scope="session")
def digits_path():
    return ROOT / "examples" / "digits" / "digits.onnx"


@pytest.fixture(scope="session")
def digits():
    """Test images and labels."""
    _, _, x, y = data.load()
    return x, y


@pytest.fixture(scope="session")
def digits_samples():
    """Training images, which are not secret."""
    return data.load()[0][:64]


@pytest.fixture(scope="session")
def digits_model(digits_path, digits_samples):
    return tacit.compile(digits_path, samples=digits_samples)


@pytest.fixture(scope="session")
def models():
    """The folder of reference models."""
    if not os.environ.get("TACIT_MODELS"):
        pytest.skip("TACIT_MODELS is not set")
    return Path(os.environ["TACIT_MODELS"])


@pytest.fixture
def real_set():
    """Loads a data set of `$TACIT_DATA`."""
    if not os.environ.get("TACIT_DATA"):
        pytest.skip("TACIT_DATA is not set")

    def there(source, what):
        path = Path(os.environ["TACIT_DATA"]) / source.split(":")[1]
        if not path.exists():
            pytest.skip(f"{path} is not there")
        return datasets.load(source, what)

    return there


@pytest.fixture
def save_onnx(tmp_path):
    """Writes an ONNX model of `nodes` over one input `x` and one output `y`."""

    def save(nodes, shape, out_shape, constants=(), opset=17):
        graph = helper.make_graph(
            nodes,
            "test",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *shape])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", *out_shape])],
            [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()],
        )
        imports = [helper.make_opsetid("", opset)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        path = tmp_path / "model.onnx"
        onnx.save(model, path)
        return path

    return save
