"""What ``...`` in einsum subscripts stands for, from the shapes of the operands."""

from collections.abc import Sequence

from sparray.compiler.index_notation.tokenizer import syntax_error
from sparray.errors import ExpressionError, ShapeError

__all__ = ["ELLIPSIS", "Stretched", "stretched_dimensions"]

ELLIPSIS = "..."

Stretched = tuple[tuple[bool, ...] | None, ...]
"""For each term, for each dimension of its ``...``, whether its one coordinate serves
every coordinate of the others; None for a term without ``...``."""


def stretched_dimensions(
    subscripts: str, shapes: Sequence[tuple[int, ...]]
) -> Stretched:
    """Return the dimensions of every ``...``, and which of them are broadcast.

    Parameters
    ----------
    subscripts : str
        As `sparray.compiler.index_notation.einsum.parse_einsum` takes them.
    shapes : sequence of tuple of int
        Of each operand.

    Raises
    ------
    ExpressionError
        If a term has ``...`` twice, more letters than its operand has dimensions, or
        there are more or fewer terms than operands.
    ShapeError
        If dimensions of ``...`` do not broadcast together.
    """
    terms = ["".join(term.split()) for term in subscripts.partition("->")[0].split(",")]
    if len(terms) != len(shapes):
        raise ExpressionError(
            f"einsum {subscripts!r}: expected {len(terms)} operands, got {len(shapes)}"
        )
    found = [
        _dimensions(subscripts, term, tuple(shape))
        for term, shape in zip(terms, shapes, strict=True)
    ]
    ndim = max((len(shape) for shape in found if shape is not None), default=0)
    full = [1] * ndim
    for shape in found:
        for place, extent in enumerate(reversed(shape or ()), 1):
            if extent != 1 and full[-place] not in (1, extent):
                raise ShapeError(
                    f"einsum {subscripts!r}: expected dimensions of '...' that "
                    f"broadcast together, got shapes {', '.join(map(str, shapes))}"
                )
            if extent != 1:
                full[-place] = extent
    return tuple(
        None
        if shape is None
        else tuple(
            extent != wanted
            for extent, wanted in zip(shape, full[ndim - len(shape) :], strict=True)
        )
        for shape in found
    )


def _dimensions(
    subscripts: str, term: str, shape: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the extents that the ``...`` of a term stands for; None without one."""
    before, dots, after = term.partition(ELLIPSIS)
    if not dots:
        return None
    if ELLIPSIS in after:
        place = subscripts.find(ELLIPSIS)
        raise syntax_error(subscripts, place, "einsum: expected '...' once in a term")
    letters = len(before) + len(after)
    if letters > len(shape):
        raise ExpressionError(
            f"einsum {subscripts!r}: expected at least {letters} dimensions for "
            f"{term!r}, got shape {shape}"
        )
    return shape[len(before) : len(shape) - len(after)]
