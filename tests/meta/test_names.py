"""The public names: the table that loads them, and what type checkers read."""

import ast

import pytest
from source_tree import PACKAGE, modules

import sparray


def stub() -> dict[str, tuple[str, str]]:
    """Return where `__init__.pyi` has each name from, and the name there."""
    found = {}
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = (node.module, alias.name)
    return found


def test_type_checkers_read_the_same_names():
    expected = {name: (module, name) for name, module in sparray._MODULES.items()}
    expected |= {name: ("sparray", name) for name in sparray._PACKAGES}
    expected["__array_namespace_info__"] = (
        "sparray.functions.namespace_info",
        "array_namespace_info",
    )
    assert stub() == expected


def test_no_name_stands_in_two_modules():
    listed = [name for names in sparray._NAMES.values() for name in names.split()]
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("name", sparray.__all__)
def test_names_can_be_loaded(name):
    assert hasattr(sparray, name)
    assert name in dir(sparray)


def test_names_come_from_modules_that_exist():
    known = modules()
    own = [module for module in sparray._NAMES if module.startswith("sparray.")]
    assert own and all(module in known for module in own)
