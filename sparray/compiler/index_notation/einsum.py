"""Einsum subscripts -> `Assignment`."""

from functools import reduce

from sparray.compiler.index_notation.canonical import TARGET, operand_name
from sparray.compiler.index_notation.ellipsis import ELLIPSIS, Stretched
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Expr,
    Reduce,
)
from sparray.compiler.index_notation.parser import MAX_DEPTH
from sparray.compiler.index_notation.tokenizer import expect_text, syntax_error
from sparray.errors import ExpressionError

__all__ = ["STRETCHED", "parse_einsum"]

STRETCHED = "0"
"""The coordinate at which a dimension of extent 1 is read that is broadcast."""


def parse_einsum(
    subscripts: str, n_operands: int, stretched: Stretched | None = None
) -> Assignment:
    """Parse einsum subscripts, with NumPy's meaning.

    Parameters
    ----------
    subscripts : str
        ``"ik,kj,ij->ij"``. Without ``->`` the output has the dimensions of ``...``,
        then the indices that occur once, in alphabetical order. Spaces are ignored.
    n_operands : int
        How many operands the call gives.
    stretched : Stretched, optional
        What each ``...`` stands for (`stretched_dimensions`); needed if there is one.

    Returns
    -------
    Assignment
        ``out[...] = A[...] * B[...] * ...`` with the other indices summed. The index
        of a capital letter ``X`` is named ``X_``, as ``X`` is an operand; those of
        ``...`` are ``d0``, ``d1``, ...; a dimension of extent 1 that is broadcast is
        read at coordinate 0.

    Raises
    ------
    ExpressionError
        If a character is not a letter, the number of operands disagrees, or an
        output index is repeated or in no operand, or the output lacks ``...``.

    Examples
    --------
    >>> parse_einsum("ii", 1).value
    Reduce(op='add', indices=('i',), operand=Access(tensor='A', indices=('i', 'i')))
    """
    _check_characters(expect_text("subscripts", subscripts))
    inputs, arrow, output = subscripts.partition("->")
    terms = ["".join(term.split()) for term in inputs.split(",")]
    if len(terms) != n_operands:
        raise ExpressionError(
            f"einsum {subscripts!r}: expected {len(terms)} operands, got {n_operands}"
        )
    if len(terms) > MAX_DEPTH:
        raise ExpressionError(
            f"einsum: expected at most {MAX_DEPTH} operands, got {len(terms)}"
        )
    letters = "".join(terms).replace(ELLIPSIS, "")
    if not arrow:
        once = sorted(c for c in set(letters) if letters.count(c) == 1)
        dots = ELLIPSIS if ELLIPSIS in inputs else ""
        output = dots + "".join(once)
    kept = "".join(output.split())
    _check_output(subscripts, letters, kept.replace(ELLIPSIS, "", 1))
    dimensions = _ellipses(subscripts, terms, kept, stretched)
    read = [_coordinates(term, number, dimensions) for number, term in enumerate(terms)]
    target = _coordinates(kept, len(terms), dimensions)
    used = [i for indices in read for i in indices if i != STRETCHED]
    missing = tuple(dict.fromkeys(i for i in used if i not in target))
    return _assignment(read, target, missing)


def _assignment(
    read: list[tuple[str, ...]], target: tuple[str, ...], missing: tuple[str, ...]
) -> Assignment:
    factors: list[Expr] = [
        Access(operand_name(number), indices) for number, indices in enumerate(read)
    ]
    value = reduce(lambda left, right: Apply("mul", (left, right)), factors)
    if missing:
        value = Reduce("add", missing, value)
    return Assignment(Access(TARGET, target), value)


def _ellipses(
    subscripts: str, terms: list[str], kept: str, stretched: Stretched | None
) -> list[tuple[str, ...]]:
    """Return the coordinates that ``...`` stands for in each term, and in the output.

    They are those of its last dimensions where it has fewer than the others.
    """
    if not any(ELLIPSIS in term for term in (*terms, kept)):
        return [()] * (len(terms) + 1)
    if stretched is None:
        message = "einsum: '...' stands for what the operands' shapes say, name indices"
        raise syntax_error(subscripts, subscripts.find(ELLIPSIS), message)
    ndim = max((len(found) for found in stretched if found is not None), default=0)
    if ndim and ELLIPSIS not in kept:
        raise ExpressionError(
            f"einsum {subscripts!r}: expected '...' in the output as well, got {kept!r}"
        )
    names = [f"d{number}" for number in range(ndim)]
    made = []
    for found in stretched:
        own = found or ()
        pairs = zip(names[ndim - len(own) :], own, strict=True)
        made.append(tuple(STRETCHED if wide else name for name, wide in pairs))
    return [*made, tuple(names)]


def _coordinates(
    term: str, number: int, dimensions: list[tuple[str, ...]]
) -> tuple[str, ...]:
    before, dots, after = term.partition(ELLIPSIS)
    middle = dimensions[number] if dots else ()
    return (*_indices(before), *middle, *_indices(after))


def _indices(letters: str) -> tuple[str, ...]:
    return tuple(c if c.islower() else f"{c}_" for c in letters)


def _check_characters(subscripts: str) -> None:
    # As many characters, so that places stay those of the text.
    text = subscripts.replace(ELLIPSIS, "   ")
    arrow = text.find("->")
    for place, c in enumerate(text):
        in_arrow = arrow >= 0 and arrow <= place < arrow + 2
        comma = c == "," and (arrow < 0 or place < arrow)
        letter = c.isascii() and c.isalpha()
        if not (letter or c.isspace() or comma or in_arrow):
            message = f"einsum: expected a letter, '...', ',' or '->', got {c!r}"
            raise syntax_error(subscripts, place, message)


def _check_output(subscripts: str, letters: str, kept: str) -> None:
    for c in kept:
        if kept.count(c) > 1:
            message = f"expected distinct output indices, got {c!r} twice"
            raise syntax_error(subscripts, subscripts.rindex(c), f"einsum: {message}")
        if c not in letters:
            message = f"einsum: output index {c!r} is in no operand"
            raise syntax_error(subscripts, subscripts.rindex(c), message)
