"""The table that `SparseTensor` answers torch's functions from."""

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["OPERATORS", "TABLE", "Implementation", "implements", "name_of"]

Implementation = Callable[..., Any]

TABLE: dict[Callable[..., Any], Implementation] = {}

# What users register. They are called with the arguments and the keyword arguments of
# the torch function, and return NotImplemented where they are for other formats.
OPERATORS: dict[Callable[..., Any], Any] = {}


def implements(
    functions: Iterable[Callable[..., Any]],
) -> Callable[[Implementation], Implementation]:
    """Register the decorated function as the implementation of torch functions.

    Parameters
    ----------
    functions : iterable of callable
        Such as ``torch.mm`` and ``torch.Tensor.mm``.

    Notes
    -----
    The implementation takes the arguments of the torch function. It returns
    NotImplemented, or raises UnsupportedError, for arguments that it has no expression
    for: then the search goes on.
    """
    functions = tuple(functions)

    def register(implementation: Implementation) -> Implementation:
        for function in functions:
            TABLE[function] = implementation
        return implementation

    return register


def name_of(function: Callable[..., Any]) -> str:
    """Return a torch function's name as a user would write it."""
    name = getattr(function, "__name__", str(function))
    if name in ("__get__", "__set__"):
        owner = getattr(function, "__self__", None)
        name = f"Tensor.{getattr(owner, '__name__', name)}"
    elif "Tensor" in getattr(function, "__qualname__", ""):
        name = f"Tensor.{name}"
    else:
        module = getattr(function, "__module__", None) or "torch"
        if module.startswith("torch._C"):
            module = "torch"
        name = f"{module}.{name}"
    return name
