"""The kernels that were compiled with the package, found by their problem.

`sparray._kernels.build` writes ``built/<target>/index.json`` beside the modules::

    {"fingerprint": "...", "kernels": {problem: {"module": ..., "functions": {...}}}}

``functions`` maps a function's name in the loop IR to its name in the module,
which holds several kernels.
"""

import importlib.machinery
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sparray._kernels.fingerprint import source_fingerprint
from sparray._kernels.targets import Target
from sparray.records import dataclass

__all__ = ["BUILT", "INDEX", "BuiltKernel", "find", "folder_name", "n_built_in"]

BUILT = Path(__file__).resolve().parent / "built"
INDEX = "index.json"


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """Where a built-in kernel is.

    Attributes
    ----------
    library : Path
        The shared library of its module.
    module_name : str
        The module's name.
    functions : mapping of str to str
        Names in the loop IR to names in the module.
    source : Path
        The Cython source of the module.
    """

    library: Path
    module_name: str
    functions: Mapping[str, str]
    source: Path


def folder_name(target: Target) -> str:
    """Return the folder of a target's modules: its name as an identifier.

    Parameters
    ----------
    target : Target
        The instruction set.

    Returns
    -------
    str
        For example ``"x86_64_v3"``.
    """
    return target.name.replace("-", "_")


def find(problem_key: str, target: Target) -> BuiltKernel | None:
    """Find the built-in kernel of a problem.

    Parameters
    ----------
    problem_key : str
        Identifies the problem.
    target : Target
        The instruction set in use.

    Returns
    -------
    BuiltKernel or None
        None if there is none, or if it did not compile at build time.
    """
    row = _index(BUILT, target).get(problem_key)
    if row is None:
        return None
    folder = BUILT / folder_name(target)
    name = row["module"]
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        library = folder / f"{name}{suffix}"
        if library.exists():
            source = folder / f"{name}.pyx"
            return BuiltKernel(library, name, row["functions"], source)
    return None


def n_built_in(target: Target) -> int:
    """Return the number of built-in kernels for a target."""
    return len(_index(BUILT, target))


@cache
def _index(root: Path, target: Target) -> Mapping[str, Any]:
    try:
        text = (root / folder_name(target) / INDEX).read_text(encoding="utf-8")
    except OSError:
        return {}
    index = json.loads(text)
    # Made by another state of the compiler: its kernels answer other questions.
    if index["fingerprint"] != source_fingerprint():
        return {}
    kernels: Mapping[str, Any] = index["kernels"]
    return kernels
