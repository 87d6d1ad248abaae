from typing import Any

from ..nn import Module

class GraphModule(Module):
    def eval(self) -> GraphModule: ...

def symbolic_trace(root: Any) -> GraphModule: ...
