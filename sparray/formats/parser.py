"""The parser of format strings.

The grammar::

    format     ::= "(" [name {"," name}] ")" "->" "(" [level {"," level}] ")"
    level      ::= expression ":" name ["(" argument {"," argument} ")"]
    expression ::= name | name "//" integer | name "%" integer | name "-" name
    argument   ::= name | integer

The names on the left are the dimensions. A named format is ``name`` or
``name "(" integer {"," integer} ")"``.
"""

import re
from collections.abc import Iterator

from sparray.errors import FormatError
from sparray.formats.chain import broken_link
from sparray.formats.level import Level
from sparray.formats.level_expression import (
    Difference,
    Dimension,
    LevelExpression,
    Quotient,
    Remainder,
)
from sparray.formats.registry import LEVEL_TYPES
from sparray.formats.remapping import unrecoverable
from sparray.records import dataclass

__all__ = ["is_name", "parse_levels", "split_name"]

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<integer>\d{1,18}\b)|(?P<symbol>->|//|[(),:%+-]))",
    re.ASCII,
)
_OPERATORS = ("//", "%", "-", "+")
_NAME = re.compile(
    r"\s*([A-Za-z_]\w*)\s*(?:\(\s*(\d{1,18}\s*(?:,\s*\d{1,18}\s*)*)\))?\s*", re.ASCII
)


@dataclass(frozen=True, slots=True)
class _Token:
    """A word of the string: what kind it is and where it starts."""

    kind: str
    text: str
    start: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


@dataclass(frozen=True, slots=True)
class _ParsedLevel:
    """One ``expression: level``, with the places of its parts."""

    expression: LevelExpression
    level: Level
    start: _Token
    place: _Token


def is_name(text: str) -> bool:
    """Whether a string names a format; otherwise it lists levels, or nothing."""
    return _NAME.fullmatch(text) is not None


def split_name(text: str) -> tuple[str, tuple[int, ...]]:
    """Return a format's name without parameters, and the parameters.

    Raises
    ------
    FormatError
        If the string is neither ``name`` nor ``name(integer, ...)``.

    Examples
    --------
    >>> split_name("bcsr(4, 8)")
    ('bcsr', (4, 8))
    """
    match = _NAME.fullmatch(text)
    if match is None:
        raise FormatError(f"format: expected a name or name(integers), got {text!r}")
    numbers = match[2].split(",") if match[2] else []
    return match[1], tuple(int(number) for number in numbers)


def parse_levels(text: str) -> tuple[tuple[Level, ...], tuple[LevelExpression, ...]]:
    """Return the levels that a format string lists and what each of them stores.

    Raises
    ------
    FormatError
        If the string is not a format; the message shows the place.

    Examples
    --------
    >>> parse_levels("(i, j) -> (j: dense, i: compressed)")[1]
    (Dimension(dimension=1), Dimension(dimension=0))
    """
    parser = _Parser(text)
    parser.read_dimensions()
    parsed = parser.levels()
    expressions = tuple(entry.expression for entry in parsed)
    problem = unrecoverable(expressions, list(parser.dimensions))
    if problem is not None:
        number, message = problem
        place = parser.tokens[-1] if number is None else parsed[number].start
        raise parser.error(place, message)
    levels = tuple(entry.level for entry in parsed)
    broken = broken_link(levels, expressions)
    if broken is not None:
        number, message = broken
        raise parser.error(parsed[number].place, message)
    return levels, expressions


class _Parser:
    """Recursive descent over the tokens of one string."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokenize())
        self.next = 0
        self.dimensions: dict[str, int] = {}

    def read_dimensions(self) -> None:
        """Parse the left side and the arrow: the number of each dimension."""
        self.expect("(")
        names = self.dimensions
        while not self.accept(")"):
            if names:
                self.expect(",")
            token = self.take("name", "a dimension")
            if token.text in names:
                raise self.error(token, f"dimension {token.text} is listed twice")
            names[token.text] = len(names)
        self.expect("->")

    def levels(self) -> list[_ParsedLevel]:
        """Parse the right side, up to the end of the string."""
        self.expect("(")
        parsed: list[_ParsedLevel] = []
        while not self.accept(")"):
            if parsed:
                self.expect(",")
            parsed.append(self.level())
        token = self.tokens[self.next]
        if token.kind != "end":
            raise self.error(token, f"expected the end, got {token}")
        return parsed

    def level(self) -> _ParsedLevel:
        """Parse ``expression: name(arguments)``."""
        start = self.tokens[self.next]
        expression = self.expression()
        self.expect(":")
        place = self.take("name", "a level type")
        if place.text not in LEVEL_TYPES:
            known = ", ".join(LEVEL_TYPES)
            raise self.error(place, f"expected a level type ({known}), got {place}")
        arguments: list[str | int] = []
        opening = self.tokens[self.next]
        if self.accept("("):
            arguments.append(self.argument())
            while not self.accept(")"):
                self.expect(",")
                arguments.append(self.argument())
        try:
            level = LEVEL_TYPES[place.text].from_arguments(arguments)
        except FormatError as error:
            raise self.error(opening, str(error)) from None
        return _ParsedLevel(expression, level, start, place)

    def expression(self) -> LevelExpression:
        """Parse what a level stores."""
        dimension = self.dimension()
        operator = self.tokens[self.next]
        if operator.text not in _OPERATORS:
            return Dimension(dimension)
        self.advance()
        if operator.text == "-":
            made: LevelExpression = Difference(dimension, self.dimension())
        elif operator.text == "+":
            message = "expected i, i // 4, i % 4 or i - j, got a sum"
            raise self.error(operator, message)
        else:
            size = self.take("integer", "the size of a block")
            if int(size.text) < 1:
                raise self.error(size, f"expected a block of 1 or more, got {size}")
            kind = Quotient if operator.text == "//" else Remainder
            made = kind(dimension, int(size.text))
        after = self.tokens[self.next]
        if after.text in _OPERATORS:
            message = f"expected ':' after one operator, got {after}"
            raise self.error(after, message)
        return made

    def dimension(self) -> int:
        """Parse the name of a dimension."""
        token = self.advance()
        if token.kind != "name" or token.text not in self.dimensions:
            known = ", ".join(self.dimensions) or "none"
            raise self.error(token, f"expected a dimension ({known}), got {token}")
        return self.dimensions[token.text]

    def argument(self) -> str | int:
        """Parse one argument of a level type."""
        token = self.advance()
        if token.kind not in ("name", "integer"):
            raise self.error(token, f"expected a property, got {token}")
        return int(token.text) if token.kind == "integer" else token.text

    def advance(self) -> _Token:
        """Return the next token and step over it; the end stays."""
        token = self.tokens[self.next]
        if token.kind != "end":
            self.next += 1
        return token

    def accept(self, symbol: str) -> bool:
        """Step over a symbol if it is next."""
        found = self.tokens[self.next].text == symbol
        if found:
            self.next += 1
        return found

    def expect(self, symbol: str) -> None:
        """Step over a symbol that must be next."""
        token = self.tokens[self.next]
        if not self.accept(symbol):
            raise self.error(token, f"expected {symbol!r}, got {token}")

    def take(self, kind: str, what: str) -> _Token:
        """Return the next token, which must be of a kind."""
        token = self.advance()
        if token.kind != kind:
            raise self.error(token, f"expected {what}, got {token}")
        return token

    def error(self, token: _Token, message: str) -> FormatError:
        """Return an error that shows where in the string a token stands."""
        shown = "".join(" " if c.isspace() else c for c in self.text)
        return FormatError(f"format: {message}\n  {shown}\n  {' ' * token.start}^")

    def _tokenize(self) -> Iterator[_Token]:
        """Yield the tokens of the string and one of kind ``"end"``."""
        end = len(self.text.rstrip())
        at = 0
        while at < end:
            match = _TOKEN.match(self.text, at)
            if match is None:
                at += len(self.text[at:]) - len(self.text[at:].lstrip())
                token = _Token("unknown", self.text[at], at)
                raise self.error(token, f"unexpected character {token}")
            kind = str(match.lastgroup)
            yield _Token(kind, match[kind], match.start(kind))
            at = match.end()
        yield _Token("end", "", end)
