"""Private machine learning between parties.

>>> import tacit
>>> model = tacit.compile("model.onnx")
>>> with tacit.local(protocol="falcon") as session:
...     result = session.predict(model, x)
>>> result.output, print(result.report)
"""

from ._tacit import TacitError, __version__
from .model import Model, compile
from .report import Report
from .session import Result, Session, bench, local

__all__ = [
    "Model",
    "Report",
    "Result",
    "Session",
    "TacitError",
    "__version__",
    "bench",
    "compile",
    "local",
]
