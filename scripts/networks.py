"""The benchmark networks with random weights: what they cost does not depend on the weights.

Shapes as in the papers of SecureNN and Falcon (MNIST, max pooling before ReLU). Needs only
numpy; `save_onnx` also needs onnx.
"""

from pathlib import Path

import numpy as np

# ("conv", in, out, kernel, stride, pad), ("pool", size), ("relu",), ("flat",), ("fc", in, out)
NETWORKS = {
    "network-a": [
        ("flat",),
        ("fc", 784, 128),
        ("relu",),
        ("fc", 128, 128),
        ("relu",),
        ("fc", 128, 10),
    ],
    "network-b": [
        ("conv", 1, 5, 5, 2, 2),
        ("relu",),
        ("flat",),
        ("fc", 980, 100),
        ("relu",),
        ("fc", 100, 10),
    ],
    "network-c": [
        ("conv", 1, 16, 5, 1, 0),
        ("pool", 2),
        ("relu",),
        ("conv", 16, 16, 5, 1, 0),
        ("pool", 2),
        ("relu",),
        ("flat",),
        ("fc", 256, 100),
        ("relu",),
        ("fc", 100, 10),
    ],
    "lenet": [
        ("conv", 1, 20, 5, 1, 0),
        ("pool", 2),
        ("relu",),
        ("conv", 20, 50, 5, 1, 0),
        ("pool", 2),
        ("relu",),
        ("flat",),
        ("fc", 800, 500),
        ("relu",),
        ("fc", 500, 10),
    ],
}


def images(n):
    """`n` random images, (n, 1, 28, 28) float32 in [0, 1)."""
    return np.random.default_rng(1).random((n, 1, 28, 28), dtype=np.float32)


def weights(name):
    """(weight, bias) of each linear layer: He-initialised, OIHW and (in, out)."""
    rng = np.random.default_rng(2)
    made = []
    for layer in NETWORKS[name]:
        if layer[0] == "conv":
            _, channels, filters, kernel, *_ = layer
            shape, fan_in = (filters, channels, kernel, kernel), channels * kernel * kernel
        elif layer[0] == "fc":
            shape, fan_in = layer[1:], layer[1]
        else:
            continue
        outputs = shape[0] if layer[0] == "conv" else shape[1]
        weight = rng.standard_normal(shape) * np.sqrt(2 / fan_in)
        bias = rng.standard_normal(outputs) * 0.05
        made.append((weight.astype(np.float32), bias.astype(np.float32)))
    return made


def save_onnx(name, folder):
    """Writes the network as `folder/name.onnx` and returns the path."""
    from onnx import helper

    nodes, constants, parameters = [], {}, iter(weights(name))
    value = "input"
    for i, layer in enumerate(NETWORKS[name]):
        inputs, made = [value], f"{layer[0]}{i}"
        if layer[0] in ("conv", "fc"):
            for part, array in zip(("weight", "bias"), next(parameters), strict=True):
                constants[f"{made}.{part}"] = array
                inputs.append(f"{made}.{part}")
        kind, attributes = _onnx_operation(layer)
        nodes.append(helper.make_node(kind, inputs, [made], made, **attributes))
        value = made
    path = Path(folder) / f"{name}.onnx"
    return write_onnx(path, nodes, constants, ("input", [1, 28, 28]), (value, [10]))


def write_onnx(path, nodes, constants, given, result):
    """Writes a model of one input and one output, each a name and an item's shape."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    ends = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", *shape])]
        for name, shape in (given, result)
    ]
    arrays = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, path.stem, *ends, arrays)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def _onnx_operation(layer):
    """The ONNX operator of a layer and its attributes."""
    kind, *sizes = layer
    if kind == "conv":
        return "Conv", {"strides": [sizes[3]] * 2, "pads": [sizes[4]] * 4}
    if kind == "pool":
        return "MaxPool", {"kernel_shape": sizes * 2, "strides": sizes * 2}
    return {"relu": "Relu", "flat": "Flatten", "fc": "Gemm"}[kind], {}
