"""The dots of an einsum string, written out in letters for given views."""

import string
from collections.abc import Sequence

from sparray.compiler.index_notation.ellipsis import ELLIPSIS
from sparray.errors import ExpressionError, ShapeError
from sparray.tracing.graph import View

__all__ = ["spelled"]


def spelled(subscripts: str, operands: Sequence[View]) -> tuple[str, Sequence[View]]:
    """Return an einsum string without dots, and its operands.

    Parameters
    ----------
    subscripts : str
        ``"...ij,...jk->...ik"``.
    operands : sequence of View
        Whose dimensions say what the dots stand for. Those of extent 1 that other
        operands have longer are left out, as they are broadcast.
    """
    if ELLIPSIS not in subscripts:
        return subscripts, operands
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise ExpressionError(
            f"einsum {subscripts!r}: expected {len(terms)} operands, got "
            f"{len(operands)}"
        )
    counts = [
        _dots(subscripts, term, view)
        for term, view in zip(terms, operands, strict=True)
    ]
    most = max(counts)
    free = [letter for letter in string.ascii_letters if letter not in subscripts]
    if most > len(free):
        raise ShapeError(f"{subscripts}: expected fewer dimensions for '...'")
    letters = "".join(free[:most])
    longest = dict.fromkeys(letters, 1)
    for term, view, count in zip(terms, operands, counts, strict=True):
        start = term.find(ELLIPSIS)
        own = view.shape[start : start + count]
        for letter, extent in zip(letters[most - count :], own, strict=True):
            longest[letter] = extent if longest[letter] == 1 else longest[letter]
    made = [
        _term(term, view, letters[most - count :], longest)
        for term, view, count in zip(terms, operands, counts, strict=True)
    ]
    named = "".join(terms).replace(ELLIPSIS, "")
    if not arrow:
        output = ELLIPSIS + "".join(sorted(x for x in named if named.count(x) == 1))
    if most and ELLIPSIS not in output:
        raise ExpressionError(
            f"einsum {subscripts!r}: expected '...' in the output as well, got "
            f"{output!r}"
        )
    whole = ",".join(term for term, _ in made)
    return f"{whole}->{output.replace(ELLIPSIS, letters)}", [view for _, view in made]


def _dots(subscripts: str, term: str, view: View) -> int:
    """Return how many dimensions the dots of a term stand for."""
    count = len(view.dims) - len(term.replace(ELLIPSIS, ""))
    if ELLIPSIS not in term:
        return 0
    if count < 0:
        raise ShapeError(
            f"{subscripts}: expected {len(term) - 3} dimensions or more for {term!r}, "
            f"got shape {view.shape}"
        )
    return count


def _term(
    term: str, view: View, letters: str, longest: dict[str, int]
) -> tuple[str, View]:
    """Return a term in letters, and the operand without what is broadcast."""
    start = term.find(ELLIPSIS)
    if start < 0:
        return term, view
    shape = view.shape
    wide = [
        start + n
        for n, letter in enumerate(letters)
        if shape[start + n] == 1 and longest[letter] != 1
    ]
    dims = tuple(d for n, d in enumerate(view.dims) if n not in wide)
    kept = "".join(x for n, x in enumerate(letters) if start + n not in wide)
    return term.replace(ELLIPSIS, kept), View(view.tensor, dims)
