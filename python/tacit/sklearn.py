"""Fitted models of scikit-learn that predict privately, as estimators of scikit-learn.

>>> from tacit.sklearn import PrivateClassifier
>>> private = PrivateClassifier(forest, samples=x_train[:100])
>>> private.predict(x_test), private.report_
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from ._tacit import TacitError
from .decoding import class_names
from .errors import CompileError, InputError, MissingPackageError
from .given import columns, is_frame, series
from .inputs import used_inputs
from .model import Model, compile
from .report import Report
from .session import Result, Session, local
from .texts import are_texts

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.metaestimators import available_if
except ImportError:
    told = "tacit.sklearn needs `pip install tacit[sklearn]`"
    raise MissingPackageError(told, extra="sklearn") from None

PROBABILITIES = ("probabilities", "output_probability")
"""What converters call the output of probabilities."""


class _Private(BaseEstimator):
    """What classifiers and regressors share; its parameters are those of both."""

    def __init__(
        self,
        model: Any,
        *,
        samples: Any = None,
        session: Session | None = None,
        options: Mapping[str, Any] | None = None,
        batch: int | None = None,
    ):
        self.model = model
        self.samples = samples
        self.session = session
        self.options = options
        self.batch = batch

    def fit(self, x: Any = None, y: Any = None, **_: Any) -> Any:
        """Changes nothing and looks at no data: the model was fitted by its owner before."""
        if not self.__sklearn_is_fitted__():
            raise TacitError(
                f"the {type(self.model).__name__} is not fitted, and nothing is fitted privately "
                "here; let its owner fit it, and give the fitted one"
            )
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the model can predict; a file and a compiled model always can."""
        from sklearn.exceptions import NotFittedError  # noqa: PLC0415
        from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415

        if isinstance(self.model, (str, os.PathLike, Model)):
            return True
        try:
            check_is_fitted(self.model)
        except NotFittedError:
            return False
        return True

    def __sklearn_clone__(self) -> Any:
        """A copy would not be fitted; utilities that clone use this one."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {**super().__getstate__()}
        return {name: value for name, value in state.items() if name not in ("_made", "_folder")}

    def _run(self, model: Model, x: Any) -> Result:
        """Predicts, and keeps the report."""
        names = getattr(self.model, "feature_names_in_", None)
        if is_frame(x) and by_columns(self.model):
            x = _apart(x, model.input_names)
        elif is_frame(x) and names is not None and set(names) <= set(x.columns):
            x = x[list(names)]
        result = (self.session or local()).predict(model, x, batch=self.batch)
        self.report_: Report = result.report
        return result

    def _compiled(self, **chosen: Any) -> Model:
        """The model with these options, which is compiled once; one that was given is as it is."""
        if isinstance(self.model, Model):
            return self.model
        made = self.__dict__.setdefault("_made", {})
        key = repr(sorted(chosen.items()))
        if key not in made:
            protocol = self.session.settings["protocol"] if self.session else None
            given = {"protocol": protocol, "samples": self._samples(), **(self.options or {})}
            made[key] = compile(self._path(), **given, **chosen)
        return made[key]

    def _samples(self) -> Any:
        """Typical inputs as the file takes them."""
        if not (is_frame(self.samples) and by_columns(self.model)):
            return self.samples
        return _apart(self.samples, used_inputs(self._path()))

    def _path(self) -> str:
        """The ONNX file of the model, written where it is an estimator."""
        given: Any = self.model
        if isinstance(given, (str, os.PathLike)):
            return os.fspath(cast(str, given))
        if "_folder" not in self.__dict__:
            self.fit()
            folder = tempfile.TemporaryDirectory(prefix="tacit-")
            file = Path(folder.name) / "model.onnx"
            file.write_bytes(exported(self.model, self.samples))
            self._folder = folder
        return str(Path(self._folder.name) / "model.onnx")


def _tells_probabilities(private: Any) -> bool:
    """Whether the wrapped model has probabilities, as far as it can be known before it runs."""
    given = isinstance(private.model, (str, os.PathLike, Model))
    return given or hasattr(private.model, "predict_proba")


class PrivateClassifier(ClassifierMixin, _Private):
    """A classifier whose predictions show the inputs and the weights to nobody.

    It is fitted already: `fit` changes nothing, and `cross_val_score` and the like score this very
    model on each part.

    Parameters
    ----------
    model
        A fitted classifier of scikit-learn or a pipeline (skl2onnx must be installed), the path of
        an ONNX file, or a model of :func:`tacit.compile`.
    samples
        Typical rows, which need not be secret, as of :func:`tacit.compile`: give them wherever the
        model is more than trees. Of a pipeline that chooses columns by name a data frame, whose
        columns of texts are inputs of texts.
    session
        Where it runs: what :func:`tacit.local` gives, Falcon between three parties if not given.
        Within its `with` the parties stay up between predictions.
    options
        Further options of :func:`tacit.compile`, such as `{"input_range": 10}`.
    batch
        Items predicted at a time, as of :meth:`tacit.Session.predict`.

    Attributes
    ----------
    report_ : tacit.Report
        What the last prediction cost, and what it revealed.
    """

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the probabilities."""
        if hasattr(self.model, "classes_"):
            return np.asarray(self.model.classes_)
        outputs = self._compiled().plan["outputs"]
        for names in map(class_names, outputs):
            if names is not None:
                return names
        sizes = [size for size in map(_size, outputs) if size > 1]
        if not sizes:
            raise AttributeError("the file does not tell how many classes there are")
        return np.arange(max(sizes))

    def predict(self, x: Any) -> np.ndarray:
        """The class of each item, `(n,)`.

        Nothing but the class is revealed, unless a compiled model was given that reveals more.
        """
        whole = self._compiled()
        outputs = whole.plan["outputs"]
        label = next((o["name"] for o in outputs if len(outputs) > 1 and _size(o) == 1), None)
        if isinstance(self.model, Model):
            model = whole
        elif label is not None:
            model = self._compiled(outputs=[label])
        else:
            model = whole if outputs[0]["classes"] else self._compiled(reveal="class")
        result = self._run(model, x)
        found = result.outputs[label] if label else result.output
        if label is None and model.plan["reveal"] != "class" and not outputs[0]["classes"]:
            return self.classes_[found.reshape(len(found), -1).argmax(axis=1)]
        found = found.ravel()
        return found.astype(np.int64) if found.dtype.kind == "f" else found

    @available_if(_tells_probabilities)
    def predict_proba(self, x: Any) -> np.ndarray:
        """The probability of each class, `(n, classes)`; they are all that is revealed."""
        whole = self._compiled()
        outputs = whole.plan["outputs"]
        name = next((o["name"] for o in outputs if o["name"] in PROBABILITIES), None)
        if isinstance(self.model, Model):
            model = whole
            if name is None and whole.plan["reveal"] != "probabilities":
                raise TacitError(
                    f"the model reveals {whole.plan['reveal']}, no probabilities; compile it with "
                    "reveal='probabilities'"
                )
        else:
            chosen = {"outputs": [name]} if name else {"reveal": "probabilities"}
            model = self._compiled(**chosen)
        result = self._run(model, x)
        found = result.outputs[name] if name else result.output
        return found.reshape(len(found), -1)


class PrivateRegressor(RegressorMixin, _Private):
    """A regressor whose predictions show the inputs and the weights to nobody.

    Parameters and attributes are those of :class:`PrivateClassifier`.
    """

    def predict(self, x: Any) -> np.ndarray:
        """The value of each item, `(n,)`, or values `(n, targets)`."""
        found = self._run(self._compiled(), x).output
        return found.reshape(len(found)) if found.size == len(found) else found


def by_columns(estimator: Any) -> bool:
    """Whether an estimator chooses columns itself, so that each is an input of its file."""
    from sklearn.compose import ColumnTransformer  # noqa: PLC0415

    if not hasattr(estimator, "get_params"):
        return False
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return any(isinstance(part, ColumnTransformer) for part in parts)


def exported(estimator: Any, samples: Any = None) -> bytes:
    """The ONNX file of a fitted estimator: its inputs are one array of rows, or columns by name.

    Columns that hold texts in the samples are inputs of texts.
    """
    try:
        from skl2onnx import to_onnx  # noqa: PLC0415
        from skl2onnx.common.data_types import (  # noqa: PLC0415
            FloatTensorType,
            StringTensorType,
        )
    except ImportError:
        raise MissingPackageError(
            f"a {type(estimator).__name__} is exported by skl2onnx: `pip install tacit[sklearn]`",
            extra="sklearn",
        ) from None
    if by_columns(estimator) and is_frame(samples):
        inputs: Any = [
            (name, (StringTensorType if are_texts(column) else FloatTensorType)([None, 1]))
            for name, column in series(samples)
        ]
    else:
        inputs = [("x", FloatTensorType([None, estimator.n_features_in_]))]
    # Of a classifier without probabilities the converter has no such option.
    for options in ({id(estimator): {"zipmap": False}}, None):
        try:
            made: Any = to_onnx(estimator, initial_types=inputs, options=options)
        except NameError:
            if options is None:
                raise
        except Exception as error:
            kind = type(estimator).__name__
            raise CompileError(
                f"skl2onnx cannot convert this {kind} ({error}); export it with a converter of "
                "its own, such as onnxmltools, and give the path of the file"
            ) from error
        else:
            return made.SerializeToString()
    raise AssertionError("the loop returns or raises")


def _apart(frame: Any, names: list[str]) -> dict[str, np.ndarray]:
    """The columns of these names, `(n, 1)` each; a frame may have others, which nobody reads."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(f"the data frame has no column {missing[0]!r}; it needs {names}")
    held = series(frame[names])
    texts = [name for name, column in held if are_texts(column)]
    held = columns("the data frame", frame[names], texts)
    return {name: array.reshape(-1, 1) for name, array in held}


def _size(output: dict[str, Any]) -> int:
    """How many numbers an output has of an item."""
    return math.prod(output["shape"])
