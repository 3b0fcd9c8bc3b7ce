"""Operations on views: each is a statement in index notation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparray.array_operators import broadcast_shape
from sparray.compiler.index_notation.affine import window_text
from sparray.compiler.index_notation.apply import apply_operator
from sparray.compiler.index_notation.einsum import parse_einsum
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Expr,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.traversal import children
from sparray.compiler.loop_ir.dtypes import weakly_promoted
from sparray.errors import CoordinateError, DTypeError, ShapeError
from sparray.tracing.choices import kept_choice, stated_choice
from sparray.tracing.dots import spelled
from sparray.tracing.graph import Computed, Source, View, Writer

__all__ = [
    "Number",
    "apply",
    "cast",
    "einsum",
    "expand",
    "is_number",
    "matmul",
    "reduce",
    "squeeze",
    "take",
    "transpose",
]

Number = bool | int | float | complex
_STRUCTURAL = frozenset({-1, 0, 1, 2})
"""Numbers that stay in the expression, which algebra knows: any other is an operand, so
that another number needs no other kernel."""
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def is_number(value: Any) -> bool:
    """Tell whether a value is a Python number, whose dtype is weak."""
    return type(value) in (bool, int, float, complex)


def apply(op: str, *operands: View | Number, exact: bool = False) -> View:
    """Apply a row of the operator table, with NumPy's broadcasting.

    ``exact`` says that infinities end no sum; see `sparray.tracing.choices`.
    """
    made = _applied(op, *operands)
    if exact or made.tensor.dtype.kind != "f":
        return made
    choice = None
    if op == "where":
        choice = stated_choice(operands, made.shape)
    else:
        kept = kept_choice(op, operands, made.shape)
        if kept is not None:
            made = _applied("where", kept[0], made, kept[1])
            choice = kept if np.isinf(kept[1]) else None
    if choice is not None and isinstance(made.tensor, Computed) and made.is_whole:
        made.tensor.choice = choice
    return made


def _applied(op: str, *operands: View | Number) -> View:
    if op == "pow" and type(operands[1]) is int and operands[1] == 2:
        op, operands = "square", operands[:1]
    views = [x for x in operands if isinstance(x, View)]
    shape = broadcast_shape(op, [view.shape for view in views])
    given = [_typed(op, n, operands) for n in range(len(operands))]
    writer = Writer()
    indices = [
        writer.index() if _has_dimension(views, n - len(shape)) else None
        for n in range(len(shape))
    ]
    values = tuple(_element(writer, x, indices, shape) for x in given)
    dtypes = [np.empty(0, x.tensor.dtype) if isinstance(x, View) else x for x in given]
    dtype = np.asarray(apply_operator(op, *dtypes)).dtype
    return writer.made(Apply(op, values), indices, shape, dtype)


def _has_dimension(views: Sequence[View], place: int) -> bool:
    """Tell whether an array has a dimension, counted from the last one."""
    return any(
        view.dims[place] is not None for view in views if len(view.dims) >= -place
    )


def _element(
    writer: Writer,
    operand: View | Number,
    indices: Sequence[str | None],
    shape: Sequence[int],
) -> Expr:
    if not isinstance(operand, View):
        return Literal(operand)
    skipped = len(shape) - len(operand.dims)
    own = [
        # A dimension of extent 1 is there at each coordinate of the others.
        index if extent == whole else None
        for index, extent, whole in zip(
            indices[skipped:], operand.shape, shape[skipped:], strict=True
        )
    ]
    return writer.access(operand, own)


def _typed(op: str, number: int, operands: Sequence[View | Number]) -> View | Number:
    """Return an operand; most numbers as arrays of the dtype that they have there."""
    value = operands[number]
    if isinstance(value, View):
        return value
    beside = [x for n, x in enumerate(operands) if n != number and isinstance(x, View)]
    if op == "where":
        # The condition has no say in the dtype of the others.
        beside = [x for x in operands[1:] if isinstance(x, View)]
    if op == "pow" and number == 1 and _is_negative(value):
        if beside[0].tensor.dtype.kind in "biu" and type(value) is int:
            raise DTypeError(
                "pow: expected exponents of integers that are not negative, got "
                f"{value}; convert the base to float64 first"
            )
    # An integer is finite; one past 64 bits is nothing that NumPy can ask.
    if beside and (
        type(value) is bool or (type(value) is not int and not np.isfinite(value))
    ):
        return value
    if beside and value in _STRUCTURAL:
        return value
    dtypes = [x.tensor.dtype for x in beside]
    dtype = weakly_promoted(np.result_type(*dtypes), value) if dtypes else None
    try:
        array = np.asarray(value, dtype)
    except OverflowError:
        if op in _COMPARISONS:
            return value
        raise DTypeError(
            f"{op}: expected a number that {dtype} can hold, got {value}"
        ) from None
    return View(Source((), array.dtype, array, hint="c", is_number=True), ())


def _is_negative(value: Number) -> bool:
    return not isinstance(value, complex) and value < 0


def reduce(
    op: str,
    view: View,
    axes: Sequence[int],
    keepdims: bool,
    dtype: np.dtype[Any] | None = None,
) -> View:
    """Combine a view over axes by an operator; in a wider dtype if one is given."""
    wide = view.tensor.dtype if dtype is None else dtype
    writer = Writer()
    indices = [None if dim is None else writer.index() for dim in view.dims]
    value = writer.access(view, indices)
    value = writer.as_dtype(value, view.tensor.dtype, wide)
    summed = tuple(i for n, i in enumerate(indices) if n in axes and i is not None)
    if summed:
        value = Reduce(op, summed, value)
    kept = [None if n in axes else i for n, i in enumerate(indices)]
    shape = [1 if n in axes else extent for n, extent in enumerate(view.shape)]
    if not keepdims:
        kept = [i for n, i in enumerate(kept) if n not in axes]
        shape = [extent for n, extent in enumerate(shape) if n not in axes]
    made = np.dtype(bool) if op in ("and", "or") else wide
    return writer.made(value, kept, shape, made)


def cast(view: View, dtype: np.dtype[Any]) -> View:
    """Return a view in a wider dtype."""
    if view.tensor.dtype == dtype:
        return view
    writer = Writer()
    indices = [None if dim is None else writer.index() for dim in view.dims]
    value = writer.access(view, indices)
    value = writer.as_dtype(value, view.tensor.dtype, dtype)
    return writer.made(value, indices, view.shape, dtype)


def transpose(view: View, order: Sequence[int]) -> View:
    """Return a view with its dimensions in another order."""
    return View(view.tensor, tuple(view.dims[n] for n in order))


def expand(view: View, places: Sequence[int]) -> View:
    """Return a view with dimensions of extent 1 at places of the result."""
    dims = iter(view.dims)
    ndim = len(view.dims) + len(places)
    return View(
        view.tensor, tuple(None if n in places else next(dims) for n in range(ndim))
    )


def squeeze(view: View, axes: Sequence[int]) -> View:
    """Return a view without dimensions of extent 1."""
    return View(view.tensor, tuple(d for n, d in enumerate(view.dims) if n not in axes))


def take(view: View, keys: Sequence[int | slice]) -> View:
    """Return elements of a view: a coordinate, or a slice, for each dimension."""
    writer = Writer()
    coordinates: list[str | None] = []
    kept: list[str | None] = []
    shape: list[int] = []
    for dim, extent, key in zip(view.dims, view.shape, keys, strict=True):
        if isinstance(key, int):
            if not -extent <= key < extent:
                raise CoordinateError(
                    f"[{key}]: expected a coordinate of extent {extent}, got {key}"
                )
            coordinates.append(None if dim is None else str(key))
            continue
        length = len(range(*key.indices(extent)))
        if dim is None and length == 0:
            raise ShapeError(f"[{key}]: expected an element of extent 1, got none")
        index = None if dim is None else writer.index()
        kept.append(index)
        shape.append(length)
        if index is None or key == slice(None):
            coordinates.append(index)
        else:
            coordinates.append(window_text(index, (key.start, key.stop, key.step)))
    value = writer.access(view, coordinates)
    return writer.made(value, kept, shape, view.tensor.dtype)


def matmul(left: View, right: View) -> View:
    """Multiply matrices, stacks of them and vectors, as ``np.matmul``."""
    if not left.dims or not right.dims:
        raise ShapeError("matmul: expected operands of 1 dimension or more, got none")
    a, b = left.shape, right.shape
    inner = -2 if len(b) > 1 else -1
    if a[-1] != b[inner]:
        raise ShapeError(f"matmul: expected extents that agree, got {a} and {b}")
    outer = broadcast_shape("matmul", [a[:-2], b[:-2]])
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    stacks = [View(x.tensor, x.dims[:-2]) for x in (left, right)]
    writer = Writer()
    batch = [
        writer.index() if _has_dimension(stacks, n - len(outer)) else None
        for n in range(len(outer))
    ]
    row: list[str | None] = [writer.index()] if rows else []
    column: list[str | None] = [writer.index()] if columns else []
    summed = writer.index()
    shape = (*outer, *rows, *columns)
    first = _stacked(writer, left, batch, outer, [*row, summed])
    second = _stacked(
        writer, right, batch, outer, [summed, *column] if columns else [summed]
    )
    value: Expr = Apply("mul", (first, second))
    present = _used(value)
    if summed in present:
        value = Reduce("add", (summed,), value)
    dtype = np.result_type(left.tensor.dtype, right.tensor.dtype)
    indices = [i if i in present else None for i in (*batch, *row, *column)]
    return writer.made(value, indices, shape, dtype)


def _stacked(
    writer: Writer,
    view: View,
    batch: Sequence[str | None],
    outer: Sequence[int],
    matrix: Sequence[str | None],
) -> Expr:
    """Return an element of a stack of matrices, or of vectors."""
    n_outer = len(view.dims) - len(matrix)
    skipped = len(outer) - n_outer
    own = [
        index if extent == whole else None
        for index, extent, whole in zip(
            batch[skipped:], view.shape[:n_outer], outer[skipped:], strict=True
        )
    ]
    return writer.access(view, [*own, *matrix])


def einsum(subscripts: str, operands: Sequence[View]) -> View:
    """Compute an einsum string of views."""
    subscripts, operands = spelled(subscripts, operands)
    stated = parse_einsum(subscripts, len(operands))
    terms = subscripts.replace(" ", "").partition("->")[0].split(",")
    extents = _extents(subscripts, terms, operands)
    writer = Writer()
    # An index of a string is a letter; those of a statement are numbered.
    letters = dict.fromkeys("".join(terms))
    names = {letter: writer.index() for letter in letters}
    elements = [
        writer.access(view, [names[letter] for letter in term])
        for term, view in zip(terms, operands, strict=True)
    ]
    value: Expr = elements[0]
    for element in elements[1:]:
        value = Apply("mul", (value, element))
    present = _used(value)
    target = subscripts.replace(" ", "").partition("->")[2]
    if "->" not in subscripts:
        target = "".join(sorted(x for x in letters if "".join(terms).count(x) == 1))
    summed = tuple(names[x] for x in letters if x not in target and names[x] in present)
    if summed:
        value = Reduce("add", summed, value)
    indices = [names[x] if names[x] in present else None for x in target]
    if len(stated.target.indices) != len(target):
        raise ShapeError(f"{subscripts}: expected an einsum string of letters")
    dtype = np.result_type(*(view.tensor.dtype for view in operands))
    return writer.made(value, indices, [extents[x] for x in target], dtype)


def _extents(
    subscripts: str, terms: Sequence[str], operands: Sequence[View]
) -> dict[str, int]:
    extents: dict[str, int] = {}
    for term, view in zip(terms, operands, strict=True):
        if len(term) != len(view.dims):
            raise ShapeError(
                f"{subscripts}: expected {len(term)} dimensions for {term!r}, got "
                f"shape {view.shape}"
            )
        for letter, extent in zip(term, view.shape, strict=True):
            if extents.setdefault(letter, extent) != extent:
                raise ShapeError(
                    f"{subscripts}: expected one extent for {letter!r}, got "
                    f"{extents[letter]} and {extent}"
                )
    return extents


def _used(expr: Expr) -> set[str]:
    """Return the indices at which an expression is read, its own sums left out."""
    if isinstance(expr, Access):
        return set(expr.indices)
    found = set().union(*map(_used, children(expr)), set())
    if isinstance(expr, Reduce):
        found -= set(expr.indices)
    return found
