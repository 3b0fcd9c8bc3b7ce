"""The search for what computes a torch function of sparse tensors.

An implementation of the table, which is an expression that a kernel is compiled for;
else a dense computation, with one warning per call site, or an error in strict mode.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType, FunctionType, MethodType
from typing import Any

import torch
from torch.overrides import resolve_name
from torch.utils._pytree import tree_flatten, tree_map_only

from sparray.errors import (
    SparrayWarning,
    UnsupportedError,
    WouldDensifyError,
)
from sparray.formats.named import format_text
from sparray.functions.explain import explain_expression
from sparray.torch.autograd import Evaluation, Recorded, recorded
from sparray.torch.inline import Streamed
from sparray.torch.registry import call_converted, chosen, stub
from sparray.torch.table import TABLE, name_of
from sparray.torch.tensor import SparseTensor

__all__ = ["compute_densely", "explain", "strict"]

_strict: ContextVar[bool] = ContextVar("sparray_strict", default=False)

# Where a dense computation has been warned of: file, line and function.
_warned: set[tuple[str, int, str]] = set()


@contextmanager
def strict() -> Iterator[None]:
    """Make computing densely an error inside the block.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> W = spt.tensor(torch.eye(2), format="csr")
    >>> with spt.strict():
    ...     torch.cumsum(W, 0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sparray.errors.WouldDensifyError: torch.cumsum: expected a function with ...
    """
    token = _strict.set(True)
    try:
        yield
    finally:
        _strict.reset(token)


def compute_densely(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    reason: str,
) -> Any:
    """Compute a torch function of dense copies of its sparse arguments.

    Parameters
    ----------
    function, args, kwargs
        The function and its arguments.
    reason : str
        Why it has no expression, for messages.

    Raises
    ------
    WouldDensifyError
        In strict mode.
    UnsupportedError
        If it would change a sparse tensor in place.
    """
    name = name_of(function)
    sparse = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, SparseTensor)]
    given = ", ".join(f"{format_text(t.format)} {tuple(t.shape)}" for t in sparse)
    if not sparse:
        raise UnsupportedError(f"{name}: expected a SparseTensor among the arguments")
    if _is_in_place(function, args, kwargs):
        raise UnsupportedError(
            f"{name}: expected a change that the pattern of {given} can hold, got one "
            f"for which {reason}; change W.values(), or a copy made by W.to_dense()"
        )
    made = call_converted(function, args, kwargs)
    if made is not NotImplemented:
        return made
    if _strict.get():
        raise WouldDensifyError(
            f"{name}: expected a function with an expression for {given}, got one "
            f"computed densely: {reason}; call it with W.to_dense(), apply it to "
            "W.values() and wrap them by W.with_values(...), or register your own:\n"
            + stub(function, args, kwargs)
        )
    _warn_once(name, given, reason)
    dense_args, dense_kwargs = tree_map_only(
        SparseTensor, SparseTensor.to_dense, (args, kwargs)
    )
    return function(*dense_args, **dense_kwargs)


def _is_in_place(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    name = getattr(function, "__name__", "")
    if isinstance(kwargs.get("out"), SparseTensor):
        return True
    writes = name in ("__setitem__", "__set__", "__delete__") or (
        name.endswith("_") and not name.endswith("__")
    )
    augmented = name.startswith("__i") and name[3:-2] in _AUGMENTED
    target = args[0] if args else None
    targets = target if isinstance(target, list | tuple) else [target]
    return (writes or augmented or bool(kwargs.get("inplace"))) and any(
        isinstance(t, SparseTensor) for t in targets
    )


_AUGMENTED = frozenset(
    "add sub mul div truediv floordiv mod pow matmul and or xor lshift rshift".split()
)


def _warn_once(name: str, given: str, reason: str) -> None:
    frame = _caller()
    place = (frame.f_code.co_filename, frame.f_lineno, name)
    if place in _warned:
        return
    _warned.add(place)
    message = (
        f"{name} of {given} is computed densely: {reason}. W.to_dense() says so "
        "without a warning; sparray.torch.strict() makes it an error"
    )
    # Without the module's globals: the loader of an interactive `__main__` raises when
    # it is asked for the source.
    warnings.warn_explicit(
        SparrayWarning(message),
        SparrayWarning,
        place[0],
        place[1],
        frame.f_globals.get("__name__"),
    )


def _caller() -> FrameType:
    """Return the innermost frame that is neither torch's nor ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(("torch.", "sparray.torch", "contextlib")):
            return frame
        frame = frame.f_back
    return frame


def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Say how a torch function of sparse tensors is computed.

    Parameters
    ----------
    function : callable
        ``torch.mm``, ``torch.nn.functional.linear``, `compute`, ...; or a function of
        your own that calls such ones, ``torch.autograd.grad``, ``loss.backward``: each
        expression that is computed inside is explained, in its order.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    str
        Which part of the search answers; for each expression its loops, cost and
        reasons, as `sparray.explain` gives them; for a dense computation why, and how
        large.

    Notes
    -----
    The function is computed once; a function of your own with gradients, and its first
    step that would be dense ends it.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> W = spt.tensor(torch.eye(2), format="csr")
    >>> print(spt.explain(torch.mv, W, torch.ones(2)))  # doctest: +ELLIPSIS
    torch.mv: compiled
    C[i] = A[i,k] * B[k]
    ...
    """
    name = name_of(function)
    if registered := chosen(function, args, kwargs):
        return f"{name}: {registered}"
    refusal = None
    plain = _is_plain(function)
    gradients = torch.enable_grad() if plain else torch.no_grad()
    with recorded() as evaluations, gradients, strict():
        try:
            if plain:
                function(*args, **kwargs)
            else:
                SparseTensor.__torch_function__(function, (), args, kwargs)
        except WouldDensifyError as error:
            refusal = error
    if refusal is not None:
        given = tree_flatten((args, kwargs))[0]
        sparse = [tensor for tensor in given if isinstance(tensor, SparseTensor)]
        size = sum(tensor.numel() * tensor.dtype.itemsize for tensor in sparse)
        return f"{name}: computed densely, from {size} bytes\n{refusal}"
    if not evaluations:
        return f"{name}: computed from the stored values alone, by torch"
    parts = [f"{name}: compiled{_converted(evaluations)}"]
    parts += [_explained(made, tensors) for made, tensors in evaluations]
    return "\n".join(parts)


def _converted(evaluations: Recorded) -> str:
    pairs = dict.fromkeys(evaluations.conversions)
    texts = [f"{format_text(old)} to {format_text(new)}" for old, new in pairs]
    return f", after a conversion of {' and of '.join(texts)}" if texts else ""


def _explained(evaluation: Evaluation, tensors: tuple[torch.Tensor, ...]) -> str:
    head = f"{evaluation}\n" if isinstance(evaluation, Streamed) else ""
    arrays = evaluation.arrays(tensors)
    made = explain_expression(evaluation.expression, arrays, evaluation.format, False)
    return head + made


def _is_plain(function: Callable[..., Any]) -> bool:
    """Tell whether a function is to be called: it takes its tensors to others itself.

    It is a user's own, `compute`, one of torch that differentiates, or a method that
    has its tensor, such as ``loss.backward``.
    """
    if isinstance(function, MethodType):
        return not isinstance(function.__self__, type)
    return (
        isinstance(function, FunctionType)
        and function not in TABLE
        and resolve_name(function) is None
    )
