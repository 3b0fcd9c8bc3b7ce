"""Where in an expression something stands, for messages that mark it.

An expression is an assignment or the subscripts of an einsum, which has no ``=``.
"""

from collections.abc import Collection

from sparray.compiler.index_notation.ellipsis import ELLIPSIS
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.index_notation.tokenizer import Token, syntax_error, tokenize
from sparray.errors import ExpressionError

__all__ = [
    "access_place",
    "operand_place",
    "operands_expected",
    "target_place",
    "word_place",
]


def target_place(text: str) -> int:
    """Return where the result stands; of subscripts without one, their beginning."""
    arrow = text.find("->")
    start = arrow + 2 if "=" not in text and arrow >= 0 else 0
    return start + len(text[start:]) - len(text[start:].lstrip())


def word_place(text: str, word: str, *, right: bool = False) -> int:
    """Return where an index or a tensor stands first; or first on the right side."""
    if "=" not in text:
        found = text.find(word.removesuffix("_"))
        return found if found >= 0 else target_place(text)
    after = text.index("=") if right else -1
    tokens = tokenize(text)
    starts = (t.start for t in tokens if t.text == word and t.start > after)
    return next(starts, target_place(text))


def access_place(text: str, access: Access, axis: int | None = None) -> int:
    """Return where an assignment reads, or writes, an access; or one of its indices.

    Parameters
    ----------
    text : str
        An assignment.
    access : Access
        As it is written.
    axis : int, optional
        Which index is meant; the tensor by default.
    """
    found = [
        (name, indices)
        for name, indices in _accesses(tokenize(text))
        if name.text == access.tensor
    ]
    for name, indices in found:
        written = tuple("".join(t.text for t in index) for index in indices)
        if written == tuple("".join(index.split()) for index in access.indices):
            return _place(name, indices, axis)
    return _place(*found[0], axis) if found else target_place(text)


def operand_place(text: str, number: int, axis: int | None = None) -> int:
    """Return where subscripts describe an operand, or one of its dimensions.

    What stands before ``...`` is counted from the left; a dimension from there on has
    the place of the dots.
    """
    terms = text.partition("->")[0].split(",")
    start = sum(len(term) + 1 for term in terms[:number])
    term = terms[number]
    letters = [n for n, c in enumerate(term) if not c.isspace()]
    dots = term.find(ELLIPSIS)
    if axis is not None and dots >= 0:
        axis = min(axis, letters.index(dots))
    at = 0 if axis is None else axis
    return start + (letters[at] if at < len(letters) else 0)


def operands_expected(
    text: str, tensors: Collection[str], given: Collection[str]
) -> ExpressionError:
    """Return the error that other operands are given than an expression reads.

    Parameters
    ----------
    text : str
        An assignment, or several.
    tensors : collection of str
        What it reads. The first one that is missing is marked.
    given : collection of str
        Names of what there is in place of them.
    """
    message = (
        f"expected the operands {', '.join(tensors)}, got {', '.join(given) or 'none'}"
    )
    missing = [tensor for tensor in tensors if tensor not in given]
    if missing:
        return syntax_error(text, word_place(text, missing[0], right=True), message)
    return syntax_error(text, target_place(text), message)


def _place(name: Token, indices: list[list[Token]], axis: int | None) -> int:
    if axis is None or axis >= len(indices) or not indices[axis]:
        return name.start
    return indices[axis][0].start


def _accesses(tokens: tuple[Token, ...]) -> list[tuple[Token, list[list[Token]]]]:
    """Return each name outside of brackets, with the tokens of each of its indices."""
    found: list[tuple[Token, list[list[Token]]]] = []
    inside = False
    for token in tokens:
        if token.text == "[" and found:
            inside = True
            found[-1][1].append([])
        elif token.text == "]":
            inside = False
        elif not inside:
            if token.kind == "name":
                found.append((token, []))
        elif token.text == ",":
            found[-1][1].append([])
        else:
            found[-1][1][-1].append(token)
    return found
