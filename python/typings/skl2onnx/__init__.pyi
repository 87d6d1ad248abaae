from collections.abc import Mapping, Sequence

from onnx import ModelProto

from .common.data_types import TensorType

def to_onnx(
    model: object,
    *,
    initial_types: Sequence[tuple[str, TensorType]] | None = None,
    options: Mapping[int, Mapping[str, bool]] | None = None,
) -> ModelProto: ...
