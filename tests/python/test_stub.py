"""The stub of the extension module says what is there, and nothing else."""

import ast
import inspect
from pathlib import Path

import pytest

import tacit
from tacit import _tacit

STUB = ast.parse((Path(tacit.__file__).parent / "_tacit.pyi").read_text())
CLASSES = [item for item in STUB.body if isinstance(item, ast.ClassDef)]
FUNCTIONS = [item for item in STUB.body if isinstance(item, ast.FunctionDef)]


def names(body):
    """What a stub says that there is; what begins with `_` is of the stub alone."""
    found = {item.name for item in body if isinstance(item, (ast.FunctionDef, ast.ClassDef))}
    for item in body:
        if isinstance(item, ast.AnnAssign):
            found.add(item.target.id)
        elif isinstance(item, ast.Assign):
            found |= {target.id for target in item.targets}
    return {name for name in found if not name.startswith("_") or name.startswith("__")}


def said(function):
    """The parameters that the stub says a function has, each with its default."""
    given = function.args
    assert not (given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg)
    defaults = [ast.literal_eval(each) for each in given.defaults]
    missing = [inspect.Parameter.empty] * (len(given.args) - len(defaults))
    return list(zip((each.arg for each in given.args), missing + defaults, strict=True))


def real(function):
    """Returns the parameters that a function of the extension module has, with their defaults."""
    found = inspect.signature(function).parameters.values()
    assert all(each.kind is each.POSITIONAL_OR_KEYWORD for each in found if each.name != "self")
    return [(each.name, each.default) for each in found]


def named(items):
    return pytest.mark.parametrize("item", items, ids=lambda item: item.name)


def test_the_same_names():
    found = {name for name in dir(_tacit) if not name.startswith("__")}
    assert names(STUB.body) == found | {"__version__"}


@named(FUNCTIONS)
def test_the_same_parameters(item):
    assert said(item) == real(getattr(_tacit, item.name))


@named(CLASSES)
def test_the_same_classes(item):
    kind = getattr(_tacit, item.name)
    found = {name for name in vars(kind) if not name.startswith("__")}
    methods = [each for each in item.body if isinstance(each, ast.FunctionDef)]
    assert names(item.body) - {"__new__"} == found
    for method in methods:
        if method.name == "__new__":
            assert said(method)[1:] == real(kind)
            continue
        static = any(each.id == "staticmethod" for each in method.decorator_list)
        assert static == isinstance(vars(kind)[method.name], staticmethod)
        assert said(method) == real(getattr(kind, method.name))


@named(CLASSES)
def test_the_same_are_final(item):
    def derive():
        type("Derived", (getattr(_tacit, item.name),), {})

    if any(each.id == "final" for each in item.decorator_list):
        with pytest.raises(TypeError, match="not an acceptable base type"):
            derive()
    else:
        derive()
