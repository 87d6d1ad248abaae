"""Networks that grow node by node, as exporters write them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    """A model that grows node by node over one input `x` of a free batch, or over several.

    `inputs` are those beside or instead of it: name, element type and shape of each.
    """

    def __init__(self, shape, seed=0, inputs=()):
        self.shape, self.rng = shape, np.random.default_rng(seed)
        self.inputs = inputs or [("x", TensorProto.FLOAT, ["N", *shape])]
        self.nodes, self.constants = [], []

    def __call__(self, kind, *inputs, **attributes):
        """Adds a node; arrays become constants."""
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        out = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [out], f"{out}_node", **attributes))
        return out

    def constant(self, array):
        name = f"c{len(self.constants)}"
        array = np.asarray(array)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, *shape):
        """Random weights that keep the spread of what they multiply."""
        return self.rng.normal(0, shape[0] ** -0.5, shape)

    def linear(self, x, k, n):
        """A product with weights, and a bias."""
        product = self("MatMul", x, self.weights(k, n))
        return self("Add", self.rng.normal(0, 0.1, n), product)

    def norm(self, x, n):
        """A layer normalisation in one node."""
        scale, bias = self.rng.uniform(0.8, 1.2, n), self.rng.normal(0, 0.1, n)
        return self("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)

    def token(self, size):
        """A row that is the same for every item."""
        batch = self("Gather", self("Shape", "x"), np.array([0]), axis=0)
        shape = self("Concat", batch, np.array([1, size]), axis=0)
        return self("Expand", self.rng.normal(0, 0.5, (1, 1, size)), shape)

    def heads(self, x, size, heads, order=(0, 2, 1, 3)):
        """The axes of a hidden state apart, and in this order."""
        apart = self("Reshape", x, np.array([0, 0, heads, size // heads]))
        return self("Transpose", apart, perm=list(order))

    def attention(self, x, size, heads, mask=None, turn=None):
        """Scaled dot products of heads; `turn` is applied to queries and keys."""
        q, k, v = (self.heads(self.linear(x, size, size), size, heads) for _ in range(3))
        if turn is not None:
            q, k = turn(q), turn(k)
        scores = self("MatMul", q, self("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self("Div", scores, np.float32((size // heads) ** 0.5))
        if mask is not None:
            scores = self("Add", scores, mask.astype(np.float32))
        mixed = self("MatMul", self("Softmax", scores, axis=-1), v)
        back = self("Transpose", mixed, perm=[0, 2, 1, 3])
        return self.linear(self("Reshape", back, np.array([0, 0, size])), size, size)

    def joint_attention(self, x, size, heads):
        """Attention with one product for queries, keys and values, scaled by their shape."""
        all_three = self.linear(x, size, 3 * size)
        apart = self("Reshape", all_three, np.array([0, -1, 3, heads, size // heads]))
        apart = self("Transpose", apart, perm=[2, 0, 3, 1, 4])
        q, k, v = (self("Gather", apart, np.array(i), axis=0) for i in range(3))
        width = self("Slice", self("Shape", q), np.array([-1]), np.array([2**63 - 1]))
        root = self("Sqrt", self("Cast", width, to=TensorProto.FLOAT))
        share = self("Sqrt", self("Div", np.float32([1]), root))
        keys = self("Mul", self("Transpose", k, perm=[0, 1, 3, 2]), share)
        scores = self("MatMul", self("Mul", q, share), keys)
        mixed = self("Einsum", self("Softmax", scores, axis=-1), v, equation="bhij,bhjd->bihd")
        joined = self("Reshape", mixed, np.array([0, 0, -1]))
        return self.linear(joined, size, size)

    def save(self, path, out, opset=18, tables=None):
        """Writes the model that ends at this value; `tables` is the set of `ai.onnx.ml`."""
        graph = helper.make_graph(
            self.nodes, "transformer",
            [helper.make_tensor_value_info(*each) for each in self.inputs],
            [helper.make_empty_tensor_value_info(out)], self.constants,
        )  # fmt: skip
        opsets = [helper.make_opsetid("", opset)]
        if tables is not None:
            opsets.append(helper.make_opsetid("ai.onnx.ml", tables))
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def gelu(net, x):
    """The GELU as exporters write it: by the error function."""
    bent = net("Erf", net("Div", x, np.float32(2**0.5)))
    return net("Mul", net("Mul", x, net("Add", bent, np.float32(1))), np.float32(0.5))


def norm_by_parts(net, x, n):
    """A layer normalisation as exporters write it before operator set 17."""
    mean = net("ReduceMean", x, np.array([-1]))
    centred = net("Sub", x, mean)
    variance = net("ReduceMean", net("Pow", centred, np.float32(2)), np.array([-1]))
    root = net("Sqrt", net("Add", variance, np.float32(1e-12)))
    scaled = net("Mul", net("Div", centred, root), net.rng.uniform(0.8, 1.2, n))
    return net("Add", scaled, net.rng.normal(0, 0.1, n))


def normals(rng):
    """Draws arrays of normal float32 numbers by `rng`: of a shape, and a deviation `scale`."""

    def draw(*shape, scale=1.0):
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    return draw
