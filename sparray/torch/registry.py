"""What users add to the dispatch: operators on formats, with their gradients.

An operator that is registered for the formats of its arguments comes before the table
of expressions; if it is registered for other formats only, arguments are converted when
the table has nothing.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import starmap, zip_longest
from typing import Any

from sparray.errors import FormatError, UnsupportedError
from sparray.formats.format import Format
from sparray.formats.named import format_text
from sparray.formats.parser import split_name
from sparray.records import dataclass
from sparray.torch.operators.conversions import to_format
from sparray.torch.table import OPERATORS, name_of
from sparray.torch.tensor import SparseTensor
from sparray.torch.user_gradients import evaluate

__all__ = ["call_converted", "chosen", "register_backward", "register_op", "stub"]

Function = Callable[..., Any]
Wanted = str | Format | None

_ANY = "*"


@dataclass(frozen=True, slots=True)
class Operator:
    """An implementation of a torch function for some formats.

    Attributes
    ----------
    formats : tuple of str, Format or None
        Of each argument; None for what is no sparse tensor.
    forward : callable
        Takes the arguments of the torch function.
    backward : callable or None
        Gives the gradients of the arguments.
    """

    formats: tuple[Wanted, ...]
    forward: Function
    backward: Function | None = None

    def arguments(self, args: Any, kwargs: Any) -> list[tuple[Any, Wanted]] | None:
        """Return each argument with the format it should have, or None.

        None if the call has other arguments, or too few.
        """
        try:
            bound = _signature(self.forward).bind(*args, **kwargs)
        except TypeError:
            return None
        given = [*bound.args, *bound.kwargs.values()]
        if any(wanted is not None for wanted in self.formats[len(given) :]):
            return None
        return list(zip_longest(given, self.formats[: len(given)]))

    def fits(self, args: Any, kwargs: Any) -> bool:
        """Whether it is for arguments of these formats."""
        given = self.arguments(args, kwargs)
        return given is not None and all(starmap(_fits, given))

    def converted(self, args: Any, kwargs: Any) -> list[Any] | None:
        """Return arguments in these formats, or None if that is not possible."""
        given = self.arguments(args, kwargs)
        try:
            return None if given is None else list(starmap(_converted, given))
        except (FormatError, UnsupportedError):
            return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute, as a part of the graph."""
        if self.backward is None:
            return self.forward(*args, **kwargs)
        return evaluate(self.forward, self.backward, args, kwargs)


def _fits(given: Any, wanted: Wanted) -> bool:
    if wanted is None or not isinstance(given, SparseTensor):
        return wanted is None and not isinstance(given, SparseTensor)
    if isinstance(wanted, Format):
        return given.format == wanted
    if wanted == _ANY:
        return True
    name = format_text(given.format)
    # "nm" is every nm(n, m).
    return name == wanted or split_name(name)[0] == wanted


def _converted(given: Any, wanted: Wanted) -> Any:
    if _fits(given, wanted):
        return given
    if wanted is None or not isinstance(given, SparseTensor):
        raise UnsupportedError(f"expected an argument for {wanted}, got {given!r}")
    return to_format(given, wanted)


@lru_cache(maxsize=256)
def _signature(function: Function) -> inspect.Signature:
    return inspect.signature(function)


class _Overloads:
    """Every operator that is registered for one torch function."""

    def __init__(self) -> None:
        self.operators: list[Operator] = []

    def fitting(self, args: Any, kwargs: Any) -> Operator | None:
        """Return the last operator that is for arguments of these formats."""
        fitting = (op for op in reversed(self.operators) if op.fits(args, kwargs))
        return next(fitting, None)

    def __call__(self, args: Any, kwargs: Any) -> Any:
        operator = self.fitting(args, kwargs)
        return NotImplemented if operator is None else operator(*args, **kwargs)


_NONE = _Overloads()


def _overloads(function: Function) -> _Overloads:
    made: _Overloads = OPERATORS.get(function, _NONE)
    return made


def register_op(
    function: Function, formats: Sequence[Wanted]
) -> Callable[[Function], Function]:
    """Register the decorated function as a torch function for arguments of formats.

    Parameters
    ----------
    function : callable
        A torch function, such as ``torch.mm`` or ``torch.nn.functional.linear``.
    formats : sequence of str, Format or None
        Of each argument: a name, with or without parameters (``"nm(2, 4)"``, ``"nm"``),
        ``"*"`` for every sparse tensor, or None for what is no sparse tensor. What is
        left out at the end is None.

    Returns
    -------
    callable
        The decorator; it returns the function as it is.

    Raises
    ------
    FormatError
        If no argument is to be sparse: torch would never ask.

    Notes
    -----
    Of several that fit, the last one that was registered answers; all come before
    sparray's own. Where sparray has no expression for a function, arguments are
    converted to formats that an operator is registered for.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> @spt.register_op(torch.trace, formats=("csr",))
    ... def trace(input):
    ...     coords, values = input.to_array().to_coords()
    ...     return torch.from_numpy(values[coords[0] == coords[1]]).sum()
    >>> torch.trace(spt.tensor(torch.eye(3)))
    tensor(3.)
    """
    formats = tuple(formats)
    if all(wanted is None for wanted in formats):
        raise FormatError(
            f"register_op: expected a format for one argument at least, got {formats}"
        )

    def register(forward: Function) -> Function:
        overloads = OPERATORS.setdefault(function, _Overloads())
        overloads.operators.append(Operator(formats, forward))
        return forward

    return register


def register_backward(
    function: Function, formats: Sequence[Wanted]
) -> Callable[[Function], Function]:
    """Register the decorated function as the gradient of an operator.

    Parameters
    ----------
    function, formats
        As given to `register_op` before.

    Returns
    -------
    callable
        The decorator; it returns the function as it is.

    Raises
    ------
    UnsupportedError
        If no operator is registered for these formats.

    Notes
    -----
    The function takes the gradient of the result, then the arguments. It returns the
    gradient of each argument, or None: that of a sparse one as a `SparseTensor`, as a
    dense tensor, of which stored entries are taken, or as one value for each of them.

    Without it, an operator is differentiable if what it calls is.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> @spt.register_op(torch.mv, formats=("dcsr", None))
    ... def mv(input, vec):
    ...     return input.to_dense() @ vec
    >>> @spt.register_backward(torch.mv, formats=("dcsr", None))
    ... def mv_backward(grad, input, vec):
    ...     return torch.outer(grad, vec), input.to_dense().T @ grad
    """
    formats = tuple(formats)

    def register(backward: Function) -> Function:
        listed = _overloads(function).operators
        for n, operator in reversed(list(enumerate(listed))):
            if operator.formats == formats:
                listed[n] = replace(operator, backward=backward)
                return backward
        raise UnsupportedError(
            f"register_backward: expected an operator of {name_of(function)} for "
            f"{formats}, got none; use register_op first"
        )

    return register


def call_converted(function: Function, args: Any, kwargs: Any) -> Any:
    """Call the registered operator that needs the cheapest conversion.

    Returns
    -------
    object
        NotImplemented if there is none.
    """
    found = list(_conversions(function, args, kwargs))
    if not found:
        return NotImplemented
    _, operator, given = min(found, key=lambda one: one[0])
    return operator(*given)


def _conversions(
    function: Function, args: Any, kwargs: Any
) -> Iterator[tuple[int, Operator, list[Any]]]:
    for operator in reversed(_overloads(function).operators):
        given = operator.converted(args, kwargs)
        if given is not None:
            yield _converted_bytes([*args, *kwargs.values()], given), operator, given


def _converted_bytes(before: list[Any], after: list[Any]) -> int:
    return sum(
        new.pattern.n_values * new.dtype.itemsize
        for new in after
        if isinstance(new, SparseTensor) and not any(new is old for old in before)
    )


def chosen(function: Function, args: Any, kwargs: Any) -> str | None:
    """Say which registered operator answers, or None."""
    operator = _overloads(function).fitting(args, kwargs)
    if operator is None:
        return None
    made = operator.forward
    return f"registered for {operator.formats}: {made.__module__}.{made.__qualname__}"


def stub(function: Function, args: Any, kwargs: dict[str, Any]) -> str:
    """Return a registration that can be pasted, for a function that has none.

    It computes densely, and so what is computed now; it is there to be changed.
    """
    name = name_of(function)
    full = name if name.startswith("torch.") else f"torch.{name}"
    formats = tuple(_format_of(arg) for arg in (*args, *kwargs.values()))
    names = [f"x{n}" for n in range(len(args))]
    given = [*names, *kwargs]
    passed = [
        f"{given[n]}.to_dense()" if wanted is not None else given[n]
        for n, wanted in enumerate(formats)
    ]
    called = [*passed[: len(args)]]
    called += [f"{k}={p}" for k, p in zip(kwargs, passed[len(args) :], strict=True)]
    return (
        f"@spt.register_op({full}, formats={formats})\n"
        f"def {name.rpartition('.')[2].strip('_')}({', '.join(given)}):\n"
        f"    return {full}({', '.join(called)})"
    )


def _format_of(arg: Any) -> str | None:
    return format_text(arg.format) if isinstance(arg, SparseTensor) else None
