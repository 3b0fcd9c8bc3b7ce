"""The parser of format strings.

The grammar::

    format     ::= "(" [name {"," name}] ")" "->" "(" [level {"," level}] ")"
    level      ::= expression ":" name ["(" argument {"," argument} ")"]
    expression ::= term {operator term}
    operator   ::= "//" | "%" | "-" | "+"
    term       ::= name | integer
    argument   ::= name | integer

The names on the left are the dimensions. Of the expressions, a format takes plain
dimensions so far; the others are parsed so that the error can say so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sparray.errors import FormatError
from sparray.formats.chain import broken_link
from sparray.formats.level import Level
from sparray.formats.registry import LEVEL_TYPES

__all__ = ["parse_levels"]

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<integer>\d+)|(?P<symbol>->|//|[(),:%+-]))",
    re.ASCII,
)
_OPERATORS = ("//", "%", "-", "+")


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
    """One ``expression: level``, with the expression's tokens."""

    expression: tuple[_Token, ...]
    level: Level
    place: _Token


def parse_levels(text: str) -> tuple[tuple[Level, ...], tuple[int, ...]]:
    """Return the levels that a format string lists and the dimension of each.

    Raises
    ------
    FormatError
        If the string is not a format; the message shows the place.

    Examples
    --------
    >>> parse_levels("(i, j) -> (j: dense, i: compressed)")[1]
    (1, 0)
    """
    parser = _Parser(text)
    dimensions = parser.dimensions()
    parsed = parser.levels()
    order = _resolve(parser, dimensions, parsed)
    levels = tuple(entry.level for entry in parsed)
    broken = broken_link(levels)
    if broken is not None:
        index, message = broken
        raise parser.error(parsed[index].place, message)
    return levels, order


class _Parser:
    """Recursive descent over the tokens of one string."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokenize())
        self.next = 0

    def dimensions(self) -> dict[str, int]:
        """Parse the left side and the arrow: dimension number by name."""
        self.expect("(")
        names: dict[str, int] = {}
        while not self.accept(")"):
            if names:
                self.expect(",")
            token = self.take("name", "a dimension")
            if token.text in names:
                raise self.error(token, f"dimension {token.text} is listed twice")
            names[token.text] = len(names)
        self.expect("->")
        return names

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
        expression = [self.term()]
        while self.tokens[self.next].text in _OPERATORS:
            expression += [self.advance(), self.term()]
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
        return _ParsedLevel(tuple(expression), level, place)

    def term(self) -> _Token:
        """Parse a name or an integer of an expression."""
        token = self.advance()
        if token.kind not in ("name", "integer"):
            raise self.error(token, f"expected a dimension, got {token}")
        return token

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


def _resolve(
    parser: _Parser, dimensions: dict[str, int], parsed: list[_ParsedLevel]
) -> tuple[int, ...]:
    """Return the dimension of each level; every dimension has one level."""
    order: list[int] = []
    for entry in parsed:
        name = entry.expression[0]
        if len(entry.expression) > 1 or name.kind != "name":
            place = entry.expression[min(1, len(entry.expression) - 1)]
            raise parser.error(
                place,
                "expected a plain dimension; expressions such as i // 4 "
                f"are not supported so far, got {place}",
            )
        if name.text not in dimensions:
            known = ", ".join(dimensions) or "none"
            raise parser.error(name, f"expected a dimension ({known}), got {name}")
        if dimensions[name.text] in order:
            raise parser.error(name, f"dimension {name.text} has two levels")
        order.append(dimensions[name.text])
    missing = [name for name, number in dimensions.items() if number not in order]
    if missing:
        raise parser.error(
            parser.tokens[-1], f"expected a level for dimension {missing[0]}, got none"
        )
    return tuple(order)
