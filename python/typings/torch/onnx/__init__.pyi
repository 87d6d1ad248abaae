from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

def export(
    model: Any,
    args: tuple[Any, ...],
    f: Path,
    *,
    input_names: Sequence[str],
    output_names: Sequence[str],
    dynamic_axes: Mapping[str, Mapping[int, str]],
    opset_version: int,
    dynamo: bool,
) -> object: ...
