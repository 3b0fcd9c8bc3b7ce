"""Einsum subscripts -> `Assignment`."""

from functools import reduce

from sparray.compiler.index_notation.canonical import TARGET, operand_name
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

__all__ = ["parse_einsum"]


def parse_einsum(subscripts: str, n_operands: int) -> Assignment:
    """Parse einsum subscripts, with NumPy's meaning.

    Parameters
    ----------
    subscripts : str
        ``"ik,kj,ij->ij"``. Without ``->`` the output has the indices that occur
        once, in alphabetical order. Spaces are ignored.
    n_operands : int
        How many operands the call gives.

    Returns
    -------
    Assignment
        ``out[...] = A[...] * B[...] * ...`` with the other indices summed. The index
        of a capital letter ``X`` is named ``X_``, as ``X`` is an operand.

    Raises
    ------
    ExpressionError
        If a character is not a letter, the number of operands disagrees, or an
        output index is repeated or in no operand. ``...`` is not supported.

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
    letters = "".join(terms)
    if not arrow:
        output = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    kept = "".join(output.split())
    _check_output(subscripts, letters, kept)
    return _assignment(terms, kept)


def _assignment(terms: list[str], kept: str) -> Assignment:
    read: list[Expr] = [
        Access(operand_name(number), _indices(term))
        for number, term in enumerate(terms)
    ]
    value = reduce(lambda left, right: Apply("mul", (left, right)), read)
    missing = "".join(dict.fromkeys(c for c in "".join(terms) if c not in kept))
    if missing:
        value = Reduce("add", _indices(missing), value)
    return Assignment(Access(TARGET, _indices(kept)), value)


def _indices(letters: str) -> tuple[str, ...]:
    return tuple(c if c.islower() else f"{c}_" for c in letters)


def _check_characters(subscripts: str) -> None:
    dots = subscripts.find("...")
    if dots >= 0:
        message = "einsum: '...' is not supported, name every index"
        raise syntax_error(subscripts, dots, message)
    arrow = subscripts.find("->")
    for place, c in enumerate(subscripts):
        in_arrow = arrow >= 0 and arrow <= place < arrow + 2
        comma = c == "," and (arrow < 0 or place < arrow)
        letter = c.isascii() and c.isalpha()
        if not (letter or c.isspace() or comma or in_arrow):
            message = f"einsum: expected a letter, ',' or '->', got {c!r}"
            raise syntax_error(subscripts, place, message)


def _check_output(subscripts: str, letters: str, kept: str) -> None:
    for c in kept:
        if kept.count(c) > 1:
            message = f"expected distinct output indices, got {c!r} twice"
            raise ExpressionError(f"einsum {subscripts!r}: {message}")
        if c not in letters:
            message = f"output index {c!r} is in no operand"
            raise ExpressionError(f"einsum {subscripts!r}: {message}")
