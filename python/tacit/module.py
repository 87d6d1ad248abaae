"""The layers of a `torch.nn.Module`, as a training has them, and its weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._tacit import TacitError

Layer = dict[str, Any]


class UnreadableError(Exception):
    """What a module has that is none of the layers."""


@dataclass(frozen=True)
class Places:
    """Where a training's numbers are in a module.

    Attributes
    ----------
    names : list of (str, bool)
        Of every parameter its name in the module's `state_dict`, and whether it is transposed
        there.
    """

    names: list[tuple[str, bool]]

    def numbers(self, state: Any) -> np.ndarray:
        """The numbers of a `state_dict`, one parameter after the other."""
        arrays = ((state[name].detach().cpu().numpy(), turned) for name, turned in self.names)
        parts = [(array.T if turned else array).ravel() for array, turned in arrays]
        return np.concatenate(parts).astype("<f4") if parts else np.zeros(0, "<f4")

    def state(self, numbers: np.ndarray, like: Any) -> dict[str, Any]:
        """The numbers as tensors with the names, shapes and types of a `state_dict`."""
        import torch  # noqa: PLC0415

        missing = [name for name, _ in self.names if name not in like]
        sizes = sum(like[name].numel() for name, _ in self.names if name in like)
        if missing or sizes != len(numbers):
            raise TacitError(
                "the module is not the one that the training started from: "
                + (f"it has no {missing[0]}" if missing else "its tensors have other sizes")
            )
        state: dict[str, Any] = {}
        first = 0
        for name, turned in self.names:
            shape = tuple(like[name].shape)
            part = numbers[first : first + like[name].numel()]
            first += len(part)
            array = part.reshape(shape[::-1]).T if turned else part.reshape(shape)
            state[name] = torch.tensor(np.ascontiguousarray(array)).to(like[name])
        return state


def read(module: Any, samples: ArrayLike, weights: Path) -> tuple[Layer, Places]:
    """A module as a mapping of its layers, with its weights in a file.

    Raises :class:`UnreadableError` where it has others.
    """
    import torch  # noqa: PLC0415
    from torch import fx  # noqa: PLC0415
    from torch.fx.passes.shape_prop import ShapeProp  # noqa: PLC0415

    refuse_kept(module)
    example = torch.as_tensor(np.asarray(samples, dtype=np.float32)[:2])
    try:
        traced = fx.symbolic_trace(copy.deepcopy(module).train())
        with torch.no_grad():
            ShapeProp(traced.eval()).propagate(example)
    except Exception as error:
        raise UnreadableError(f"it cannot be traced: {error}") from error
    reader = Reader(traced, tuple(example.shape))
    layers = reader.layers()
    places = Places(reader.names)
    weights.write_bytes(places.numbers(module.state_dict()).tobytes())
    model = {"input": list(example.shape[1:]), "layers": layers, "weights": str(weights)}
    return model, places


def refuse_kept(module: Any) -> None:
    """Refuses parameters that a module does not train, or has twice: a training has neither."""
    known: dict[int, str] = {}
    # A module that is there twice is told of where it is used.
    own = (
        (f"{path}.{name}".lstrip("."), parameter)
        for path, part in module.named_modules()
        for name, parameter in part.named_parameters(recurse=False, remove_duplicate=False)
    )
    for name, parameter in own:
        if not parameter.requires_grad:
            raise TacitError(
                f"'{name}' is not to be trained (requires_grad is False), and a training changes "
                "all weights: train what follows it on its outputs, or set requires_grad"
            )
        if id(parameter) in known:
            told = f"'{known[id(parameter)]}' and '{name}' are one parameter"
            raise TacitError(f"{told}: a training would part them; give each its own")
        known[id(parameter)] = name


class Reader:
    """Reads the nodes of a traced module."""

    def __init__(self, traced: Any, shape: tuple[int, ...]):
        self.traced = traced
        self.parts = dict(traced.named_modules())
        self.names: list[tuple[str, bool]] = []
        self.values: dict[Any, str] = {}
        self.used: set[str] = set()
        self.batch = shape[0]

    def layers(self) -> list[Layer]:
        """The layers in the order in which they are computed."""
        found: list[Layer] = []
        for node in self.traced.graph.nodes:
            if node.op == "placeholder":
                if self.values:
                    raise UnreadableError("it has several inputs")
                self.values[node] = "input"
            elif node.op == "output":
                if node.args[0] not in self.values:
                    raise UnreadableError("it has several outputs")
            elif "tensor_meta" in node.meta and hasattr(node.meta["tensor_meta"], "shape"):
                changed = node.all_input_nodes[:1]
                if self.is_in_place(node) and self.is_read_after(changed[0], node, node):
                    raise UnreadableError(f"'{node}' changes a value that is read again")
                layer = self.layer(node)
                read = [self.value(value) for value in node.all_input_nodes[: self.arity(layer)]]
                if layer is None:
                    self.values[node] = read[0]
                    continue
                found.append({"name": node.name, "from": read, **layer})
                self.values[node] = node.name
        return found

    def is_in_place(self, node: Any) -> bool:
        """Whether a node changes the value that it reads first."""
        if node.op == "call_module":
            return bool(getattr(self.parts[node.target], "inplace", False))
        name = node.target if isinstance(node.target, str) else node.target.__name__
        return name in CHANGING or bool(node.kwargs.get("inplace", False))

    def is_read_after(self, value: Any, change: Any, through: Any) -> bool:
        """Whether a value is read after it has changed, by itself, by a view or as what it views.

        `through` is the reader by which the change comes.
        """
        reads = [user for user in value.users if user is not through and not is_size(user)]
        if any(change < user or self.is_view(user) for user in reads):
            return True
        if not self.is_view(value):
            return False
        return self.is_read_after(value.all_input_nodes[0], change, value)

    def is_view(self, node: Any) -> bool:
        """Whether a node's numbers lie where those lie that it reads."""
        if node.op not in ("call_module", "call_function", "call_method"):
            return False
        name = node.target if isinstance(node.target, str) else node.target.__name__
        if node.op == "call_module":
            name = type(self.parts[node.target]).__name__
        return name in VIEWS

    @staticmethod
    def arity(layer: Layer | None) -> int:
        """The values that a layer reads."""
        return 2 if layer is not None and layer["type"] in ("add", "mul") else 1

    def value(self, node: Any) -> str:
        """The name of a node's value."""
        if node not in self.values:
            raise UnreadableError(f"'{node}' is no value of a layer")
        return self.values[node]

    def layer(self, node: Any) -> Layer | None:
        """The layer of a node, or nothing if its value is what it reads."""
        if node.op == "call_module":
            part = self.parts[node.target]
            kind = type(part).__name__
            if node.target in self.used and any(True for _ in part.parameters()):
                raise TacitError(f"'{node.target}' ({kind}) is used twice: its weights would part")
            self.used.add(node.target)
            if kind in MODULES:
                layer, names = MODULES[kind](part, shapes(node))
                self.names += [(f"{node.target}.{name}", turned) for name, turned in names]
                return layer
            raise UnreadableError(f"'{node.target}' ({kind})")
        name = node.target if isinstance(node.target, str) else node.target.__name__
        if node.op in ("call_function", "call_method") and name in FUNCTIONS:
            return FUNCTIONS[name](node)
        raise UnreadableError(f"'{node}' ({name})")


def is_size(node: Any) -> bool:
    """Whether a node gives no tensor, as sizes do."""
    return node.op != "output" and not hasattr(node.meta.get("tensor_meta"), "shape")


def shapes(node: Any) -> list[tuple[int, ...]]:
    """The shapes of a node's first input and of its output."""
    both = (node.all_input_nodes[0], node)
    return [tuple(value.meta["tensor_meta"].shape) for value in both]


Read = tuple[Layer | None, list[tuple[str, bool]]]


def linear(part: Any, shape: list[tuple[int, ...]]) -> Read:
    """A linear layer of flat items."""
    needs(len(shape[0]) == 2, "a linear layer on several rows of an item")
    bias = part.bias is not None
    names = [("weight", True), ("bias", False)][: 1 + bias]
    return {"type": "linear", "outputs": part.out_features, "bias": bias}, names


def conv(part: Any, shape: list[tuple[int, ...]]) -> Read:
    """A convolution with square sizes."""
    needs(part.padding_mode == "zeros", f"padding by '{part.padding_mode}'")
    bias = part.bias is not None
    layer = {
        "type": "conv",
        "filters": part.out_channels,
        "kernel": square(part.kernel_size),
        "stride": square(part.stride),
        "pad": square(part.padding),
        "dilation": square(part.dilation),
        "groups": part.groups,
        "bias": bias,
    }
    return layer, [("weight", False), ("bias", False)][: 1 + bias]


def batch_norm(part: Any, shape: list[tuple[int, ...]]) -> Read:
    """A normalisation with learnt numbers and running statistics."""
    needs(part.affine, "a normalisation that is not affine")
    needs(part.track_running_stats, "a normalisation without running statistics")
    needs(part.momentum is not None, "a normalisation without momentum")
    layer = {"type": "batch-norm", "epsilon": part.eps, "momentum": part.momentum}
    return layer, [(n, False) for n in ("weight", "bias", "running_mean", "running_var")]


def pool(kind: str) -> Callable[[Any, list[tuple[int, ...]]], Read]:
    """Pooling of whole square windows."""

    def read(part: Any, shape: list[tuple[int, ...]]) -> Read:
        needs(square(part.padding) == 0, "pooling with padding")
        needs(not part.ceil_mode, "pooling that rounds up")
        needs(square(getattr(part, "dilation", 1)) == 1, "dilated pooling")
        needs(getattr(part, "divisor_override", None) is None, "a divisor of its own")
        stride = part.kernel_size if part.stride is None else part.stride
        return {"type": kind, "kernel": square(part.kernel_size), "stride": square(stride)}, []

    return read


def whole_pool(part: Any, shape: list[tuple[int, ...]]) -> Read:
    """The mean of all places of a channel."""
    before, after = shape
    needs(tuple(after[2:]) == (1, 1) and before[2] == before[3], "adaptive pooling to several")
    return {"type": "avg-pool", "kernel": before[2]}, []


def flat(part: Any, shape: list[tuple[int, ...]]) -> Read:
    """A change of shape that makes items flat."""
    needs(shape[1] == (shape[0][0], int(np.prod(shape[0][1:]))), "a change of shape")
    return None, []


def gelu(part: Any, shape: list[tuple[int, ...]]) -> Read:
    """Reads a GELU, which must be the exact one."""
    needs(part.approximate == "none", "GELU by tanh")
    return {"type": "gelu"}, []


def plain(kind: str, **numbers: str) -> Callable[[Any, list[tuple[int, ...]]], Read]:
    """A layer without parameters, with numbers of the module."""
    return lambda part, shape: (
        {"type": kind, **{key: float(getattr(part, name)) for key, name in numbers.items()}},
        [],
    )


def needs(holds: bool, what: str) -> None:
    """Raises unless a layer is as a training has it."""
    if not holds:
        raise UnreadableError(what)


def square(size: int | str | Sequence[int]) -> int:
    """The one size of both axes."""
    sizes = (size, size) if isinstance(size, int) else tuple(size)
    needs(len(set(sizes)) == 1 and isinstance(sizes[0], int), "sizes that are not square")
    return int(sizes[0])


MODULES: dict[str, Callable[[Any, list[tuple[int, ...]]], Read]] = {
    "Linear": linear,
    "Conv2d": conv,
    "BatchNorm1d": batch_norm,
    "BatchNorm2d": batch_norm,
    "MaxPool2d": pool("max-pool"),
    "AvgPool2d": pool("avg-pool"),
    "AdaptiveAvgPool2d": whole_pool,
    "Flatten": flat,
    "Identity": lambda part, shape: (None, []),
    "ReLU": plain("relu"),
    "LeakyReLU": plain("leaky-relu", slope="negative_slope"),
    "Sigmoid": plain("sigmoid"),
    "Tanh": plain("tanh"),
    "GELU": gelu,
    "SiLU": plain("silu"),
    "Dropout": plain("dropout", p="p"),
}


CHANGING = ("relu_", "sigmoid_", "tanh_", "iadd", "add_", "imul", "mul_", "leaky_relu_", "silu_")
"""Functions that change the value that they read first."""
VIEWS = ("Flatten", "Identity", "flatten", "view", "reshape")
"""What gives the same numbers in the same place."""


def argument(node: Any, at: int, name: str, default: Any) -> Any:
    """An argument of a call by its place or name."""
    return node.args[at] if len(node.args) > at else node.kwargs.get(name, default)


def two(kind: str) -> Callable[[Any], Layer]:
    """A sum or a product of two values of one shape."""

    def read(node: Any) -> Layer:
        both = node.all_input_nodes
        same = {tuple(v.meta["tensor_meta"].shape) for v in both if "tensor_meta" in v.meta}
        needs(len(node.args) == 2 and all(v in both for v in node.args), "a number")
        needs(len(same) == 1 and not node.kwargs, f"{kind} of two shapes")
        needs(len(both) == 2, f"{kind} of a value with itself")
        return {"type": kind}

    return read


def dropped(node: Any) -> Layer | None:
    """Dropout as a function, which does nothing outside of training."""
    p, training = argument(node, 1, "p", 0.5), argument(node, 2, "training", True)
    return {"type": "dropout", "p": float(p)} if training else None


def gelu_call(node: Any) -> Layer:
    """The exact GELU as a function."""
    needs(argument(node, 1, "approximate", "none") == "none", "GELU by tanh")
    return {"type": "gelu"}


def flattened(node: Any) -> None:
    """A function that makes items flat."""
    flat(None, shapes(node))


FUNCTIONS: dict[str, Callable[[Any], Layer | None]] = {
    **dict.fromkeys(("relu", "relu_"), lambda node: {"type": "relu"}),
    **dict.fromkeys(("sigmoid", "sigmoid_"), lambda node: {"type": "sigmoid"}),
    **dict.fromkeys(("tanh", "tanh_"), lambda node: {"type": "tanh"}),
    **dict.fromkeys(("add", "iadd", "add_"), two("add")),
    **dict.fromkeys(("mul", "imul", "mul_"), two("mul")),
    **dict.fromkeys(("flatten", "view", "reshape"), flattened),
    "leaky_relu": lambda node: {
        "type": "leaky-relu",
        "slope": float(argument(node, 1, "negative_slope", 0.01)),
    },
    "silu": lambda node: {"type": "silu"},
    "gelu": gelu_call,
    "dropout": dropped,
}
