"""Functions that are traced into one program, which is scheduled and run as a whole."""

import functools
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType, MethodType
from typing import Any, overload

import numpy as np

from sparray.errors import SettingError
from sparray.formats.format import Format
from sparray.functions.einsum import Operand
from sparray.functions.explanation import Explanation
from sparray.records import dataclass
from sparray.sparse_array import SparseArray
from sparray.tracing.arguments import as_array
from sparray.tracing.evaluate import Evaluation, evaluation
from sparray.tracing.graph import Source, View
from sparray.tracing.guards import Guard, guards_of, hold, with_lazy_arrays
from sparray.tracing.lazy_array import LazyArray, lazy, tracing
from sparray.tracing.structure import flatten, refuse_hidden, unflatten

__all__ = ["FusedFunction", "fuse"]

_MOST_TRACES = 256
_STATIC = (bool, int, float, complex, str, bytes, type(None), np.dtype, type)

Wanted = str | Format | None


@dataclass(frozen=True, slots=True)
class _Trace:
    """What a function does with arguments like some that it was called with.

    Attributes
    ----------
    evaluation : Evaluation
        Computes the arrays that are returned.
    structure : Hashable
        Of what is returned.
    results : tuple
        Its leaves; an int in a tuple of one stands for that computed array.
    guards : tuple of Guard or None
        None if the trace is for one call only.
    shapes : tuple or None
        Of the arguments, if the function asked for one.
    """

    evaluation: Evaluation
    structure: Hashable
    results: tuple[Any, ...]
    guards: tuple[Guard, ...] | None
    shapes: tuple[tuple[int, ...], ...] | None

    def run(self, arrays: Sequence[Operand]) -> Any:
        """Return what the function returns."""
        made = self.evaluation.run(arrays)
        leaves = [made[x.number] if isinstance(x, _Result) else x for x in self.results]
        return unflatten(self.structure, leaves)


@dataclass(frozen=True, slots=True)
class _Result:
    """The place of a computed array."""

    number: int


class FusedFunction:
    """A function whose array operations are computed together.

    `fuse` makes it. Called with arrays, it traces the function, and computes what the
    function returns; called with lazy arrays, inside another fused function, it is a
    part of that one.

    Attributes
    ----------
    traced_function : callable
        The function as it was written.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        format: "Wanted | tuple[Wanted, ...]" = None,
        missing: str = "zero",
    ) -> None:
        if not callable(function):
            raise SettingError(f"fuse: expected a function, got {function!r}")
        if missing not in ("zero", "fill"):
            raise SettingError(f"missing: expected 'zero' or 'fill', got {missing!r}")
        functools.update_wrapper(self, function)
        self.traced_function = function
        self._format = format
        self._missing = missing
        self._traces: dict[Hashable, list[_Trace]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns, for arrays of any format."""
        leaves, structure = flatten((args, kwargs))
        if any(isinstance(leaf, LazyArray) for leaf in leaves):
            return self.traced_function(*args, **kwargs)
        trace, arrays = self._find(leaves, structure)
        return trace.run(arrays)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the method of an instance."""
        return self if instance is None else MethodType(self, instance)

    def explain(self, *args: Any, source: bool = False, **kwargs: Any) -> Explanation:
        """Say how the function would be computed, as `sparray.explain` does.

        Parameters
        ----------
        *args
            As for a call.
        source : bool
            Whether the text has the loop IR and the Cython source of each kernel.
        **kwargs
            As for a call.

        Notes
        -----
        Where the function takes several kernels, all but the last are run, to know the
        sizes of what they make.
        """
        trace, arrays = self._find(*flatten((args, kwargs)))
        return trace.evaluation.explain(arrays, source)

    def index_notation(self, *args: Any, **kwargs: Any) -> str:
        """Return the statements that the function is for such arguments."""
        trace, _ = self._find(*flatten((args, kwargs)))
        return trace.evaluation.text

    def _find(
        self, leaves: Sequence[Any], structure: Hashable
    ) -> tuple[_Trace, list[Operand]]:
        """Return the trace for arguments, and the arrays among them."""
        arguments = _Arguments.of(leaves, structure)
        for trace in self._traces.get(arguments.key, ()):
            fits = trace.shapes is None or trace.shapes == arguments.shapes
            if fits and hold(trace.guards or ()):
                return trace, arguments.arrays
        trace = self._trace(arguments)
        if arguments.key is not None and trace.guards is not None:
            self._keep(arguments.key, trace)
        return trace, arguments.arrays

    def _keep(self, key: Hashable, trace: _Trace) -> None:
        if len(self._traces) >= _MOST_TRACES:
            self._traces.clear()
        known = self._traces.setdefault(key, [])
        # Those that do not hold any more make room.
        known[:] = [one for one in known if hold(one.guards or ())][-_MOST_TRACES:]
        known.append(trace)

    def _trace(self, arguments: "_Arguments") -> _Trace:
        """Run the function on lazy arrays."""
        guards = guards_of(self.traced_function)
        if guards is not None and isinstance(self.traced_function, FunctionType):
            strict = with_lazy_arrays(self.traced_function, lazy)
            try:
                return self._traced(strict, arguments, guards)
            except Exception:
                # It may ask for what an array from around it holds, or be wrong: the
                # function itself says so.
                pass
        return self._traced(self.traced_function, arguments, None)

    def _traced(
        self,
        function: Callable[..., Any],
        arguments: "_Arguments",
        guards: tuple[Guard, ...] | None,
    ) -> _Trace:
        names = _leaf_names(self.traced_function, arguments.structure)
        args, kwargs = unflatten(arguments.structure, arguments.lazy_leaves(names))
        noted: set[str] = set()
        active = tracing.__dict__.setdefault("active", [])
        active.append(noted)
        before = tracing.__dict__.get("exact", False)
        tracing.exact = self._missing == "fill"
        try:
            returned = function(*args, **kwargs)
        finally:
            active.pop()
            tracing.exact = before
        leaves, structure = flatten(returned)
        for leaf in leaves:
            refuse_hidden(leaf, LazyArray)
        views = [leaf for leaf in leaves if isinstance(leaf, LazyArray)]
        numbers = iter(range(len(views)))
        results = tuple(
            _Result(next(numbers)) if isinstance(leaf, LazyArray) else leaf
            for leaf in leaves
        )
        made = evaluation(views, self._formats(len(views)), self._missing)
        if guards is not None and not _are_guarded(made, results, guards):
            guards = None
        shapes = arguments.shapes if noted else None
        return _Trace(made, structure, results, guards, shapes)

    def _formats(self, count: int) -> Sequence[Wanted]:
        given = self._format
        if given is None:
            return (None,) * count
        formats = given if isinstance(given, tuple) else (given,)
        if len(formats) != count:
            raise SettingError(
                f"format: expected one for each of {count} results, got {given!r}"
            )
        return formats


@dataclass(slots=True)
class _Arguments:
    """What a function is called with.

    Attributes
    ----------
    structure : Hashable
        Of the arguments.
    leaves : list
        In their order; a `_Result` stands for an array, by its number.
    arrays : list of Operand
        The arrays.
    key : Hashable
        What a trace depends on; None if that cannot be told.
    """

    structure: Hashable
    leaves: list[Any]
    arrays: list[Operand]
    key: Hashable

    @classmethod
    def of(cls, leaves: Sequence[Any], structure: Hashable) -> "_Arguments":
        """Tell arrays from what is a part of the code."""
        kept: list[Any] = []
        arrays: list[Operand] = []
        key: list[Hashable] | None = [structure]
        for leaf in leaves:
            array = None if isinstance(leaf, _STATIC) else _as_array(leaf)
            if array is not None:
                kept.append(_Result(len(arrays)))
                arrays.append(array)
                # Extents of 0 and 1 are special, in reductions and in broadcasting.
                extents = tuple([min(extent, 2) for extent in array.shape])
                part: Hashable = (array.dtype, extents)
            else:
                kept.append(leaf)
                # -0.0 is equal to 0.0, and NaN to nothing.
                part = type(leaf), repr(leaf) if isinstance(leaf, float) else leaf
            if array is None and not isinstance(leaf, _STATIC):
                key = None
            if key is not None:
                key.append(part)
        return cls(structure, kept, arrays, None if key is None else tuple(key))

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each array."""
        return tuple([tuple(array.shape) for array in self.arrays])

    def lazy_leaves(self, names: Sequence[str]) -> list[Any]:
        """Return the leaves with a lazy array for each array."""
        made = []
        for leaf, name in zip(self.leaves, names, strict=True):
            if isinstance(leaf, _Result):
                array = self.arrays[leaf.number]
                shape = tuple(array.shape)
                source = Source(shape, array.dtype, None, leaf.number, name)
                leaf = LazyArray(View(source, tuple(range(len(shape)))))
            made.append(leaf)
        return made


@overload
def fuse(function: Callable[..., Any], /) -> FusedFunction: ...


@overload
def fuse(
    *,
    format: "Wanted | tuple[Wanted, ...]" = ...,
    missing: str = ...,
) -> Callable[[Callable[..., Any]], FusedFunction]: ...


def fuse(
    function: Callable[..., Any] | None = None,
    /,
    *,
    format: "Wanted | tuple[Wanted, ...]" = None,
    missing: str = "zero",
) -> Any:
    """Compute what a function of arrays does as one program.

    Parameters
    ----------
    function : callable
        Code in the style of NumPy: operators, ``@``, NumPy's and sparray's functions of
        each element, reductions, ``einsum``, transposition, ``x[:, None]``.
    format : str, Format or tuple of them, optional
        Of the result, or of each of several; inferred by default.
    missing : {"zero", "fill"}
        As for `einsum`.

    Returns
    -------
    FusedFunction
        Called with arrays of any format it returns what the function returns.

    Raises
    ------
    TraceError
        At a call: if the function does what no expression says, with the operation and
        the line; if it asks for values, as ``if`` does.

    Notes
    -----
    The function runs on lazy arrays, which know their shape and dtype. What it does to
    them becomes statements in index notation, which are scheduled together. The trace
    is used again for arrays of the same dtypes and numbers of dimensions (and shapes,
    where the function asks for one), as long as what the function reads from around it
    is the same; where that cannot be told it is traced at each call.

    Examples
    --------
    >>> import numpy as np
    >>> import sparray as sp
    >>> @sp.fuse
    ... def layer(A, X, W, b):
    ...     return sp.relu(A @ (X @ W) + b)
    >>> A = sp.array(np.eye(3), format="csr")
    >>> layer(A, np.ones((3, 2)), np.ones((2, 2)), np.array([0.5, -5.0]))
    array([[2.5, 0. ],
           [2.5, 0. ],
           [2.5, 0. ]])
    """

    def wrap(function: Callable[..., Any]) -> FusedFunction:
        return FusedFunction(function, format, missing)

    return wrap if function is None else wrap(function)


def _as_array(value: Any) -> Operand | None:
    """Return an argument as an array; None for what is none."""
    if isinstance(value, SparseArray | np.ndarray):
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    module = type(value).__module__.partition(".")[0]
    if module in ("scipy", "torch") or hasattr(value, "__sparray__"):
        return as_array("a fused function", value)
    return None


def _leaf_names(function: Callable[..., Any], structure: Any) -> list[str]:
    """Return for each leaf of the arguments the name of its parameter."""
    code = getattr(function, "__code__", None)
    known = code.co_varnames[: code.co_argcount] if code is not None else ()
    _, ((_, args), (_, kwargs)) = structure
    names: list[str] = []
    for n, part in enumerate(args):
        names += [known[n] if n < len(known) else "x"] * _n_leaves(part)
    for key, part in kwargs:
        names += [str(key)] * _n_leaves(part)
    return names


def _n_leaves(structure: Any) -> int:
    if structure is None:
        return 1
    kind, parts = structure
    if kind is dict:
        parts = [part for _, part in parts]
    return sum(map(_n_leaves, parts))


def _are_guarded(
    made: Evaluation, results: Sequence[Any], guards: Sequence[Guard]
) -> bool:
    """Tell whether every array that code brought in is one that guards look at.

    What the code made of such arrays, when it was traced, is not: they may change.
    """
    known = {id(guard.value) for guard in guards}
    sources = [
        source.value
        for source in made.built.sources
        if source.value is not None and not source.is_number
    ]
    kept = [x for x in results if not isinstance(x, (_Result, *_STATIC))]
    return all(id(array) in known for array in (*sources, *kept))
