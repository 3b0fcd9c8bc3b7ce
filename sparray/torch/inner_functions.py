"""Functions that modules call: finding them by name, and changing what they return.

What a module calls is read off its graph where `torch.fx` can trace it. What a function
returns is changed as the module runs, by a mode that torch asks at each call: nothing
that a module decides while it runs, such as whether it is training, is written down
beforehand. So modules that cannot be traced are served, too.
"""

import sys
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from types import FrameType
from typing import Any

from torch import fx, nn
from torch.overrides import TorchFunctionMode

from sparray.errors import PlanError

__all__ = ["InnerFunctions", "functions_of"]

Change = Callable[[Any], Any]

# Operators have other names as methods of a tensor.
_SAME = {
    "truediv": "div",
    "true_divide": "div",
    "radd": "add",
    "rsub": "sub",
    "rmul": "mul",
    "rtruediv": "div",
    "rmatmul": "matmul",
    "rdiv": "div",
}
# What only reads a tensor's properties computes nothing.
_NO_FUNCTIONS = frozenset("get set getattr setattr delete size dim".split())


def _name(function: Any) -> str:
    name = function if isinstance(function, str) else getattr(function, "__name__", "")
    name = name.strip("_")
    return _SAME.get(name, name)


class _Names:
    """Names of calls in their order: ``relu``, ``relu_1``, ..."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def next(self, function: Any) -> str | None:
        """Return the name of one more call, or None if it computes nothing."""
        name = _name(function)
        if not name or name in _NO_FUNCTIONS:
            return None
        count = self._counts[name] = self._counts.get(name, -1) + 1
        return f"{name}_{count}" if count else name


class _Shallow(fx.Tracer):
    """Traces a module's own code; modules in it are called as wholes."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Return true: what is within them has names of its own."""
        return True


def functions_of(module: nn.Module) -> list[str] | None:
    """Return names of the functions that a module calls, in their order.

    Returns
    -------
    list of str or None
        A name that comes again has a number: ``relu``, ``relu_1``. None if `torch.fx`
        cannot trace the module.
    """
    try:
        graph = _Shallow().trace(module)
    except Exception:
        # A module's own code runs, on what is no tensor: it may raise anything.
        return None
    names = _Names()
    found = [
        names.next(node.target)
        for node in graph.nodes
        if node.op in ("call_function", "call_method")
    ]
    return [name for name in found if name is not None]


class InnerFunctions:
    """Changes what functions return that one module calls; a pair of its hooks.

    Parameters
    ----------
    changes : mapping of str to callable
        By patterns of names: what is done to a result.
    """

    def __init__(self, changes: Mapping[str, Change]) -> None:
        self.changes = dict(changes)
        self._running: list[_Watching] = []

    def enter(self, module: nn.Module, args: Any) -> None:
        """Begin to watch, before the module runs."""
        watching = _Watching(module, self.changes)
        watching.__enter__()  # type: ignore[no-untyped-call]
        self._running.append(watching)

    def leave(self, module: nn.Module, args: Any, output: Any) -> None:
        """Watch no longer, after the module ran; or failed to.

        Raises
        ------
        PlanError
            If it called no function of a name that is to be changed.
        """
        watching = self._running.pop()
        watching.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        missing = [key for key in self.changes if key not in watching.met]
        if missing and output is not None:
            raise PlanError(
                f"{type(module).__name__}(): expected a call of {', '.join(missing)}, "
                f"got {', '.join(watching.seen) or 'none'}"
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> "InnerFunctions":
        # Of a model that is copied while it does not run.
        made = memo[id(self)] = InnerFunctions(self.changes)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return InnerFunctions, (self.changes,)


class _Watching(TorchFunctionMode):
    """Sees each torch function while a module runs once."""

    def __init__(self, module: nn.Module, changes: Mapping[str, Change]) -> None:
        super().__init__()
        self.module, self.changes = module, changes
        self.names, self.met, self.seen = _Names(), set[str](), list[str]()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call the function, and change its result if it is one of those meant."""
        made = func(*args, **(kwargs or {}))
        if _caller(sys._getframe(1)) is not self.module:
            return made
        name = self.names.next(func)
        if name is None:
            return made
        self.seen.append(name)
        for key, change in self.changes.items():
            if fnmatchcase(name, key):
                self.met.add(key)
                made = change(made)
        return made


def _caller(frame: FrameType | None) -> nn.Module | None:
    """Return the module whose method made a call, the innermost one."""
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, nn.Module):
            return owner
        frame = frame.f_back
    return None
