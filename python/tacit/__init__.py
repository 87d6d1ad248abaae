"""Private machine learning between parties.

>>> import tacit
>>> model = tacit.compile("model.onnx")
>>> with tacit.local(protocol="falcon") as session:
...     result = session.predict(model, x)
>>> result.output, print(result.report)
"""

import os

# Shares are long vectors that live shortly. The extension's allocator reads this once: keep freed
# pages for ten seconds, since the kernel clears anew whatever is given back.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "10000")

from ._tacit import TacitError, __version__
from .connecting import connect
from .errors import CompileError, FileError, InputError, MissingPackageError, ServiceError
from .measure import Analysis, analyze_truncation, bench
from .model import Model, compile
from .party import Party
from .report import Report
from .session import Result, Session, local
from .training import Trained, Trainer
from .training_report import TrainingReport

__all__ = [
    "Analysis",
    "CompileError",
    "FileError",
    "InputError",
    "MissingPackageError",
    "Model",
    "Party",
    "Report",
    "Result",
    "ServiceError",
    "Session",
    "TacitError",
    "Trained",
    "Trainer",
    "TrainingReport",
    "__version__",
    "analyze_truncation",
    "bench",
    "compile",
    "connect",
    "local",
]
