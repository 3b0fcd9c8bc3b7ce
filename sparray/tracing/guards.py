"""When a trace may be used again: what the traced code reads besides its arguments.

A trace holds as long as the names that the code reads from around it mean the same.
Where that cannot be told, as of an attribute of an object, there are no guards, and the
code is traced at each call.
"""

import builtins
import dis
from collections.abc import Callable, Iterator
from functools import partial
from operator import getitem
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from sparray.records import dataclass
from sparray.sparse_array import SparseArray

__all__ = ["Guard", "guards_of", "hold", "with_lazy_arrays"]

_MODULES = frozenset({"numpy", "sparray", "math", "operator"})
"""Modules whose functions give the same for the same arguments, but for these parts."""
_CHANGING = frozenset(
    {
        *("random", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "io"),
        *("lazy", "num_threads", "geterr", "errstate"),
    }
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.dtype, np.generic)
_BUILTINS = frozenset(
    {
        *("range", "len", "sum", "min", "max", "abs", "zip", "enumerate", "reversed"),
        *("list", "tuple", "dict", "int", "float", "complex", "bool", "str", "slice"),
        *("isinstance", "pow", "round", "sorted", "map", "filter", "Ellipsis"),
        *("ValueError", "TypeError", "NotImplementedError", "AssertionError"),
    }
)
_ARRAYS = (np.ndarray, SparseArray)
_READS = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME", "STORE_ATTR", "DELETE_ATTR")


@dataclass(frozen=True, slots=True)
class Guard:
    """A value that code reads: how to read it now, and what it was.

    Arrays are the same if they are the same objects; what they hold is read anew at
    each call.
    """

    read: Callable[[], Any]
    value: Any

    def holds(self) -> bool:
        """Tell whether the value is what it was."""
        try:
            now = self.read()
        except (KeyError, ValueError):
            return False
        if now is self.value:
            return True
        plain = isinstance(now, _PLAIN) and type(now) is type(self.value)
        return plain and bool(now == self.value)


def hold(guards: "tuple[Guard, ...]") -> bool:
    """Tell whether each value is what it was."""
    return all([guard.holds() for guard in guards])


def guards_of(function: Callable[..., Any]) -> tuple[Guard, ...] | None:
    """Return what a function reads, or None if that cannot be told.

    Arrays count as known where the function reads them itself: `with_lazy_arrays` shows
    whether it asks for what they hold.
    """
    found: list[Guard] = []
    return tuple(found) if _collect(function, found, set()) else None


def with_lazy_arrays(
    function: FunctionType, made: Callable[[Any, str], Any]
) -> FunctionType:
    """Return a function that reads arrays from around it as lazy ones.

    Parameters
    ----------
    function : function
        One that has guards.
    made : callable
        Makes a lazy array of an array and a name.
    """
    code = function.__code__
    names = dict(function.__globals__)
    read = {step.argval for c in _codes(code) for step in dis.get_instructions(c)}
    cells = [
        CellType(made(cell.cell_contents, name))
        if isinstance(cell.cell_contents, _ARRAYS)
        else CellType(cell.cell_contents)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
    ]
    copy = FunctionType(
        code, names, function.__name__, function.__defaults__, tuple(cells)
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    for name, value in function.__globals__.items():
        if isinstance(value, _ARRAYS) and name in read:
            names[name] = made(value, name)
        elif getattr(value, "traced_function", value) is function:
            names[name] = copy
    for cell in cells:
        # A function that is defined inside another one, and calls itself.
        if getattr(cell.cell_contents, "traced_function", None) is function:
            cell.cell_contents = copy
        elif cell.cell_contents is function:
            cell.cell_contents = copy
    return copy


def _collect(function: Any, found: list[Guard], seen: set[int]) -> bool:
    if id(function) in seen:
        return True
    seen.add(id(function))
    if not isinstance(function, FunctionType) or function.__dict__:
        return False
    is_first = len(seen) == 1
    found.append(Guard(lambda: function.__code__, function.__code__))
    for read in _readers(function):
        if read is None:
            return False
        try:
            value = read()
        except ValueError:
            # A cell that is still empty.
            return False
        found.append(Guard(read, value))
        if is_first and isinstance(value, _ARRAYS):
            continue
        if not _is_known(value, found, seen):
            return False
    return True


def _readers(function: FunctionType) -> Iterator[Callable[[], Any] | None]:
    """Yield how to read each value from around a function; None for what changes."""
    for cell in function.__closure__ or ():
        yield partial(getattr, cell, "cell_contents")
    yield partial(getattr, function, "__defaults__")
    for name in function.__kwdefaults__ or {}:
        yield partial(getitem, function.__kwdefaults__, name)
    for code in _codes(function.__code__):
        yield from _read_by(code, function.__globals__)


def _read_by(
    code: CodeType, names: dict[str, Any]
) -> Iterator[Callable[[], Any] | None]:
    """Yield how to read each global that code names; None for what changes."""
    own = set(code.co_cellvars)
    for step in dis.get_instructions(code):
        name = step.argval
        if step.opname in _WRITES:
            yield None
        elif step.opname == "STORE_DEREF" and name not in own:
            yield None
        elif step.opname in _ATTRIBUTES and name in _CHANGING:
            yield None
        elif step.opname in _READS:
            if name in names:
                yield partial(getitem, names, name)
            elif not hasattr(builtins, name) or name not in _BUILTINS:
                yield None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _is_known(value: Any, found: list[Guard], seen: set[int]) -> bool:
    """Tell whether a value is of a kind that cannot change unseen."""
    if isinstance(value, (*_PLAIN, np.ufunc)):
        return True
    if isinstance(value, tuple):
        return all(_is_known(one, found, seen) for one in value)
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in _MODULES
    module = (getattr(value, "__module__", "") or "").partition(".")[0]
    if module in _MODULES and callable(value):
        traced = getattr(value, "traced_function", None)
        if traced is not None:
            return _collect(traced, found, seen)
        return getattr(value, "__name__", "") not in _CHANGING
    if isinstance(value, BuiltinFunctionType | type):
        return module in ("math", "builtins") and value.__name__ in (
            *_BUILTINS,
            *dir(__import__("math")),
        )
    return _collect(value, found, seen)
