"""Docstrings of what users call have the sections that numpydoc asks for."""

import importlib
import inspect
import types

import pytest
from numpydoc.validate import validate

import sparray

torch_names = []
try:
    import sparray.torch
except ImportError:
    pass
else:
    torch_names = [f"sparray.torch.{name}" for name in sparray.torch.__all__]

linalg_names = [f"sparray.linalg.{name}" for name in sparray.linalg.__all__]
NAMES = [f"sparray.{name}" for name in sparray.__all__] + linalg_names + torch_names

# Sections in order; parameters as in the signature, with descriptions; what is returned
# is described; there is a summary, and it ends in a period.
OF_ALL = {"GL06", "GL07", "GL08", "PR02", "PR03", "PR07", "RT03", "SS01", "SS03"}
# Every parameter is described. A method may say it in its one sentence, and a class may
# document its attributes instead.
OF_FUNCTIONS = OF_ALL | {"PR01"}


def resolve(name: str) -> object:
    """Return the object of a dotted name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def public_names() -> list[str]:
    """Return functions, classes and the methods that the classes themselves define."""
    found = []
    for name in NAMES:
        value = resolve(name)
        numpys = sparray._MODULES.get(name.removeprefix("sparray.")) == "numpy"
        if isinstance(value, types.ModuleType) or numpys:
            continue
        found.append(name)
        if inspect.isclass(value):
            found += [
                f"{name}.{method}"
                for method, member in vars(value).items()
                if not method.startswith("_") and inspect.isfunction(member)
            ]
    return found


@pytest.mark.parametrize("name", public_names())
def test_sections(name):
    is_function = name in NAMES and inspect.isfunction(resolve(name))
    checks = OF_FUNCTIONS if is_function else OF_ALL
    errors = [(code, text) for code, text in validate(name)["errors"] if code in checks]
    assert not errors


def test_there_is_something_to_check():
    assert len(public_names()) > len(sparray.__all__)
