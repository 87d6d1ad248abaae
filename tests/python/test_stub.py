"""The stub of the extension module says what is there."""

import ast
import inspect
from pathlib import Path

import tacit
from tacit import _tacit

STUB = ast.parse((Path(tacit.__file__).parent / "_tacit.pyi").read_text())


def parameters(function):
    return [a.arg for a in function.args.args]


def test_the_same_names():
    named = {n.name for n in STUB.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    assert named == {n for n in dir(_tacit) if not n.startswith("__")}


def test_the_same_parameters():
    for item in STUB.body:
        if isinstance(item, ast.FunctionDef):
            real = inspect.signature(getattr(_tacit, item.name))
            assert parameters(item) == list(real.parameters)
        elif isinstance(item, ast.ClassDef) and item.name == "Compiled":
            for method in (m for m in item.body if isinstance(m, ast.FunctionDef)):
                if method.name != "__new__":
                    real = inspect.signature(getattr(_tacit.Compiled, method.name))
                    assert parameters(method) == list(real.parameters)
