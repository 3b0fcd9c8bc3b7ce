"""A schedule as a user writes it: commands over the user's own index names.

It is text and numbers only. What its names stand for is found out when it meets an
expression (`sparray.compiler.scheduler.by_hand`), so nothing here reaches a kernel.
"""

import re
from dataclasses import replace

from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.schedule.collect import COLLECTED
from sparray.compiler.schedule.parallelize import CHUNKS
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["METHODS", "Schedule", "WrittenCommand", "parse_schedule"]

_INDEX = re.compile(r"[^\W\d]\w*(-[^\W\d]\w*)?")
_COMMAND = re.compile(r"\s*\.?\s*([a-z]+)\s*\(")
_TENSOR = re.compile(r"[^\W\d]\w*(\[[\w,]*\])?")
_LARGEST = 2**31 - 1
_WAYS = tuple(way.value for way in Assembly)


@dataclass(frozen=True, slots=True)
class WrittenCommand:
    """One command: its name and its arguments, each as text in one canonical form."""

    name: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Commands for the loops of one kernel, in the order in which they are applied.

    Each method returns a new schedule with one more command; ``str`` of a schedule is
    text that `sparray.schedule` reads back.

    Attributes
    ----------
    commands : tuple of WrittenCommand
        What was asked for so far.

    Examples
    --------
    >>> import sparray as sp
    >>> by_hand = sp.schedule().reorder("i k j").tile("j", 16)
    >>> str(by_hand)
    'reorder(i k j).tile(j, 16 8 4 2 1)'
    >>> sp.schedule(str(by_hand)) == by_hand
    True
    """

    commands: tuple[WrittenCommand, ...] = ()

    def __str__(self) -> str:
        return ".".join(map(str, self.commands))

    def position_splits(self) -> list[WrittenCommand]:
        """Return the splits of loops over positions, which stand after their `pos`."""
        found: list[WrittenCommand] = []
        over: set[str] = set()
        for command in self.commands:
            if command.name == "pos":
                over.add(command.arguments[0])
            elif command.name == "split" and command.arguments[0] in over:
                found.append(command)
        return found

    def _then(self, name: str, *arguments: str) -> "Schedule":
        return replace(self, commands=(*self.commands, WrittenCommand(name, arguments)))

    def reorder(self, order: str) -> "Schedule":
        """Run the loops in this order, outermost first: ``"i k j"``."""
        return self._then("reorder", _indices("reorder", order))

    def split(self, index: str, by: int | str) -> "Schedule":
        """Loop over blocks of ``by`` values, and inside a block.

        The loops of ``j`` are ``j_out`` and ``j_in`` from then on. With ``by="j-i"``
        the loop runs over diagonals: ``j-i``.
        """
        if isinstance(by, str) and not by.strip().isdigit():
            return self._then("split", _index("split", index), _index("split", by))
        size = str(_number("split", by, 2))
        return self._then("split", _index("split", index), size)

    def accumulate(self) -> "Schedule":
        """Add into the result, without a workspace."""
        return self._then("accumulate")

    def collect(self, kind: str, among: str = "") -> "Schedule":
        """Keep sums whose coordinates come in no order in a ``"list"`` or ``"hashed"``.

        A list has an element for every value of the index, a table of hashes slots for
        as many coordinates as one row can bring. A list may hold such coordinates alone
        as are ``among`` the entries of an operand that multiplies the sums, or masks
        them.
        """
        kept = _text("collect", kind).strip()
        if kept not in COLLECTED:
            raise ScheduleError(
                f"collect: expected {' or '.join(COLLECTED)}, got {kind!r}"
            )
        if not among:
            return self._then("collect", kept)
        return self._then("collect", kept, _tensor("collect", among))

    def tile(self, index: str, sizes: int | str) -> "Schedule":
        """Keep the sums of a tile of the innermost index in vector registers.

        ``sizes`` descend to 1, all powers of two; a single one stands for itself and
        its halves.
        """
        given = _numbers("tile", sizes)
        while len(_numbers("tile", sizes)) == 1 and given[-1] > 1:
            given.append(given[-1] // 2)
        return self._then("tile", _index("tile", index), " ".join(map(str, given)))

    def fuse(self, outer: str, inner: str) -> "Schedule":
        """Run two loops, one directly inside the other, as a single one."""
        return self._then("fuse", _index("fuse", outer), _index("fuse", inner))

    def pos(self, index: str, tensor: str) -> "Schedule":
        """Run a loop, or fused loops, over the positions at which a tensor is stored.

        ``split`` after it makes blocks of equal numbers of stored entries.
        """
        return self._then("pos", _index("pos", index), _tensor("pos", tensor))

    def precompute(self, part: str, before: str) -> "Schedule":
        """Compute a part of the expression, of dense operands, before a loop."""
        text = " ".join(_text("precompute", part).split())
        inside = _inside(f"{text})", 0)
        if not text or inside is None or len(f"{text}") != len(",".join(inside)):
            raise ScheduleError(f"precompute: expected an expression, got {part!r}")
        return self._then("precompute", text, _index("precompute", before))

    def pack(self, tensor: str, before: str) -> "Schedule":
        """Copy what the loops from ``before`` inwards read of a dense operand."""
        return self._then("pack", _tensor("pack", tensor), _index("pack", before))

    def prefetch(self, index: str, distance: int | str) -> "Schedule":
        """Bring what a walked loop selects near, some positions ahead."""
        ahead = str(_number("prefetch", distance, 1))
        return self._then("prefetch", _index("prefetch", index), ahead)

    def unroll(self, index: str, sums: int | str) -> "Schedule":
        """Keep several sums of a reduction side by side."""
        several = str(_number("unroll", sums, 2))
        return self._then("unroll", _index("unroll", index), several)

    def vectorize(self, index: str) -> "Schedule":
        """Run an innermost loop in vector instructions."""
        return self._then("vectorize", _index("vectorize", index))

    def parallelize(self, index: str, by: str = "entries") -> "Schedule":
        """Run the outermost loop on several threads, in chunks.

        They have equal numbers of stored ``"entries"``, of ``"rows"``, the steps of the
        loop, or of both together, ``"merge"``, which splits rows between chunks.
        """
        loop = _index("parallelize", index)
        by = _text("parallelize", by).strip()
        if by not in CHUNKS:
            raise ScheduleError(
                f"parallelize: expected chunks by {' or '.join(CHUNKS)}, got {by!r}"
            )
        return self._then("parallelize", loop, *([] if by == "entries" else [by]))

    def assemble(self, way: str) -> "Schedule":
        """Demand a way of assembly.

        One of `Assembly`, by name: ``"insert"``, ``"append"``, ...; also as
        `Kernel.schedule` prints it: ``"inherit from A"``.
        """
        words = _text("assemble", way).split()
        if not words or words[0] not in _WAYS or len(words) not in (1, 3):
            raise ScheduleError(
                f"assemble: expected one of {', '.join(_WAYS)}, got {way!r}"
            )
        return self._then("assemble", " ".join(words))


METHODS = {
    *("reorder", "split", "accumulate", "tile", "prefetch", "unroll", "vectorize"),
    *("parallelize", "assemble", "pack", "fuse", "pos", "precompute", "collect"),
}
"""The commands that a schedule may have."""


def parse_schedule(text: str) -> Schedule:
    """Read what `Schedule` prints.

    Parameters
    ----------
    text : str
        Commands with their arguments, with dots or white space between them.

    Returns
    -------
    Schedule
        The commands.

    Raises
    ------
    ScheduleError
        If the text is not a schedule; the place is marked.
    """
    made, at = Schedule(), 0
    text = _text("schedule", text)
    while text[at:].strip():
        found = _COMMAND.match(text, at)
        inside = None if found is None else _inside(text, found.end())
        if found is None or inside is None or found[1] not in METHODS:
            at += len(text[at:]) - len(text[at:].lstrip(" ."))
            raise ScheduleError(
                f"schedule: expected a command of {', '.join(sorted(METHODS))}\n"
                f"  {_printable(text)}\n  {' ' * at}^"
            )
        arguments = [part.strip() for part in inside] if inside != [""] else []
        if found[1] == "assemble" and arguments[-1:] == ["zeroed"]:
            # It follows from the expression, and is printed to be read.
            arguments.pop()
        try:
            made = getattr(made, found[1])(*arguments)
        except TypeError:
            raise ScheduleError(
                f"schedule: expected other arguments for {found[1]}, got "
                f"({', '.join(arguments)})\n  {_printable(text)}\n  {' ' * at}^"
            ) from None
        at = found.end() + len(",".join(inside)) + 1
    return made


def _inside(text: str, at: int) -> list[str] | None:
    """Return the arguments that begin at a place; None without a closing parenthesis.

    Commas inside brackets belong to an argument.
    """
    parts, depth = [""], 0
    for c in text[at:]:
        if c == ")" and depth == 0:
            return parts
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return None


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _text(command: str, value: object) -> str:
    if not isinstance(value, str):
        raise ScheduleError(f"{command}: expected text, got {type(value).__name__}")
    return value


def _index(command: str, value: object) -> str:
    name = _text(command, value).strip()
    if _INDEX.fullmatch(name) is None:
        raise ScheduleError(f"{command}: expected the name of an index, got {name!r}")
    return name


def _tensor(command: str, value: object) -> str:
    name = _text(command, value).strip().replace(" ", "")
    if _TENSOR.fullmatch(name) is None:
        raise ScheduleError(f"{command}: expected the name of a tensor, got {name!r}")
    return name


def _indices(command: str, value: object) -> str:
    words = _text(command, value).split()
    return " ".join(_index(command, word) for word in words)


def _number(command: str, value: object, least: int) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,10}\s*", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ScheduleError(f"{command}: expected a whole number, got {value!r}")
    if not least <= value <= _LARGEST:
        raise ScheduleError(
            f"{command}: expected a number from {least} to {_LARGEST}, got {value}"
        )
    return value


def _numbers(command: str, value: object) -> list[int]:
    words: list[object] = [*value.split()] if isinstance(value, str) else [value]
    if not words:
        raise ScheduleError(f"{command}: expected sizes, got none")
    return [_number(command, word, 1) for word in words]
