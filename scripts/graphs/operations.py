"""One generator for every supported operation.

It adds a node that fits the value it is given and returns the new value, or None where the
operation does not fit. Arguments outside a function's domain are mapped into it by a node before,
so that every input inside the declared range has a finite answer.
"""

import numpy as np

from .activations import ACTIVATIONS
from .axes import (
    arg_best,
    concat,
    expand,
    flatten,
    gather,
    log_softmax,
    masked_softmax,
    pad,
    reduced,
    reshape,
    shape_of,
    softmax,
    some_slice,
    split,
    squeeze,
    transpose,
    unsqueeze,
    without_infinite,
    without_nan,
)
from .build import LARGEST
from .choices import CHOICES
from .elements import (
    arithmetic,
    cast,
    clip,
    dropout,
    erf,
    exp,
    gelu,
    identity,
    leaky_relu,
    negative,
    power,
    reciprocal,
    relu,
    scaled,
    sigmoid,
    sqrt,
    tanh,
    total,
)
from .layers import batch_norm, conv, gemm, layer_norm, pooled, recurrent, rms_norm, whole_pool
from .maps import MAPS
from .moves import MOVES
from .nested import NESTED
from .products import attention, einsum, matmul
from .sums import NORMS, SUMS
from .whole import WHOLE

GENERATORS = {
    **ACTIVATIONS,
    **CHOICES,
    **MAPS,
    **MOVES,
    **NESTED,
    **NORMS,
    **SUMS,
    **WHOLE,
    "Add": arithmetic("Add"),
    "Attention": attention,
    "AveragePool": pooled("AveragePool"),
    "BatchNormalization": batch_norm,
    "Cast": cast,
    "Clip": clip,
    "Concat": concat,
    "Conv": conv,
    "Div": arithmetic("Div"),
    "Dropout": dropout,
    "Einsum": einsum,
    "Erf": erf,
    "Exp": exp,
    "Expand": expand,
    "Flatten": flatten,
    "GRU": recurrent("GRU"),
    "Gather": gather,
    "Gelu": gelu,
    "Gemm": gemm,
    "GlobalAveragePool": whole_pool("GlobalAveragePool"),
    "GlobalMaxPool": whole_pool("GlobalMaxPool"),
    "Identity": identity,
    "IsInf": without_infinite,
    "IsNaN": without_nan,
    "LSTM": recurrent("LSTM"),
    "LayerNormalization": layer_norm,
    "LeakyRelu": leaky_relu,
    "MatMul": matmul,
    "MaxPool": pooled("MaxPool"),
    "Mul": arithmetic("Mul"),
    "Neg": negative,
    "Pad": pad,
    "Pow": power,
    "RMSNormalization": rms_norm,
    "RNN": recurrent("RNN"),
    "Reciprocal": reciprocal,
    "ReduceMean": reduced("ReduceMean", 18),
    "Relu": relu,
    "Reshape": reshape,
    "Shape": shape_of,
    "Sigmoid": sigmoid,
    "Slice": some_slice,
    "Softmax": masked_softmax,
    "Split": split,
    "Sqrt": sqrt,
    "Squeeze": squeeze,
    "Sub": arithmetic("Sub"),
    "Sum": total,
    "Tanh": tanh,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
"""Generators of operations on computed values, by their names."""


ENDS = {
    "ArgMax": arg_best("ArgMax"),
    "ArgMin": arg_best("ArgMin"),
    "LogSoftmax": log_softmax,
    "Softmax": softmax,
    "Sigmoid": sigmoid,
}
"""Generators of what the receiver of the result computes, by their operations."""


NEWER = {
    "CategoryMapper", "CausalConvWithState", "ConcatFromSequence", "CumProd", "DeformConv",
    "LinearAttention", "OptionalGetElement", "RoiAlign", "SequenceAt", "SequenceConstruct",
    "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SimplifiedLayerNormalization", "SplitToSequence", "SwiGLU",
}  # fmt: skip
"""Supported, and newer than the operator sets of which onnxruntime runs all that is generated, or
of regions, offsets and sequences: ONNX's own tests hold them, that which is onnxruntime's own
`tests/python/test_runtime_forms.py`, and sequences `tests/python/test_sequences.py`. One takes
nothing but texts: `tests/python/test_texts.py`."""


APART = {
    "ConvInteger", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv", "QLinearMatMul",
}  # fmt: skip
"""Supported, and of numbers rounded before, where a rounding to the other side shows in all that
follows: `tests/python/test_quantised.py` holds them on a grid, and ONNX's own tests."""


def add(g, v, kind):
    """A node of this kind after `v`, if it fits and the values stay small."""
    before = len(g.nodes), set(g.constants)
    new = GENERATORS[kind](g, v)
    if new is not None and new.size <= 200 and np.isfinite([new.low, new.high]).all():
        return scaled(g, new, LARGEST) if new.most > LARGEST else new
    del g.nodes[before[0] :]
    g.constants = {k: c for k, c in g.constants.items() if k in before[1]}
    return None
