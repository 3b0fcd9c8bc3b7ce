"""Text of index notation -> tokens, and errors that point into the text."""

import re

from sparray.errors import ExpressionError
from sparray.records import dataclass

__all__ = ["Token", "expect_text", "marked", "syntax_error", "tokenize"]

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?j?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol>\*\*|<=|>=|==|!=|[-+*/<>&|~()\[\],=:])"
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word: its kind (name, number, symbol, end), text and place."""

    kind: str
    text: str
    start: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


def expect_text(name: str, value: object) -> str:
    """Return an argument that must be a str.

    Parameters
    ----------
    name : str
        The argument's name.
    value : object
        What the user passed.

    Returns
    -------
    str
        The same value.

    Raises
    ------
    ExpressionError
        If it is not a str.
    """
    if isinstance(value, str):
        return value
    raise ExpressionError(f"{name}: expected a str, got {type(value).__name__}")


def syntax_error(text: str, start: int, message: str) -> ExpressionError:
    """Return an error that shows the expression with a caret at a place.

    Parameters
    ----------
    text : str
        The whole expression.
    start : int
        Offset of the place in it.
    message : str
        What was expected and what came.

    Returns
    -------
    ExpressionError
        The error, to be raised by the caller.
    """
    return ExpressionError(marked(text, start, message))


def marked(text: str, start: int, message: str) -> str:
    """Return a message that shows the expression with a caret at a place.

    The caret stands below the line that has the place.
    """
    lines = text.split("\n")
    before = text[:start].split("\n")
    shown = ["".join(c if c.isprintable() else " " for c in line) for line in lines]
    shown.insert(len(before), " " * len(before[-1]) + "^")
    return "\n".join([message, *(f"  {line}".rstrip() for line in shown)])


def tokenize(text: str) -> tuple[Token, ...]:
    """Split an expression into tokens.

    Parameters
    ----------
    text : str
        An expression in index notation.

    Returns
    -------
    tuple of Token
        The tokens without white space; the last has the kind ``"end"``.

    Raises
    ------
    ExpressionError
        If a character belongs to no token, or a name follows a number directly.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise syntax_error(
                text,
                position,
                f"expected a name, number or operator, got {text[position]!r}",
            )
        kind = str(match.lastgroup)
        if kind == "name" and tokens and _touches_number(tokens[-1], position):
            message = f"expected an operator after a number, got {match.group()!r}"
            raise syntax_error(text, position, message)
        if kind != "space":
            tokens.append(Token(kind, match.group(), position))
        position = match.end()
    return (*tokens, Token("end", "", len(text)))


def _touches_number(token: Token, position: int) -> bool:
    return token.kind == "number" and token.start + len(token.text) == position
