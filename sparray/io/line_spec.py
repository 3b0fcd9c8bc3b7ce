"""What stands on the lines of a text file, and what is said about a wrong one."""

from typing import Any

import numpy as np

from sparray.records import dataclass

__all__ = ["FIELDS", "LineSpec", "complaint", "least_bytes", "line_of_entry"]

FIELDS: dict[str, tuple[int, np.dtype[Any] | None]] = {
    "pattern": (0, None),
    "real": (1, np.dtype(np.float64)),
    "complex": (2, np.dtype(np.complex128)),
    "integer": (3, np.dtype(np.int64)),
    "unsigned-integer": (4, np.dtype(np.uint64)),
}
"""Kind of value, as `parse_lines` takes it, and its dtype, by MatrixMarket's word."""

_SHOWN_BYTES = 40
_VALUE_OVERFLOW = 5


@dataclass(frozen=True, slots=True)
class LineSpec:
    """What stands on a line.

    Attributes
    ----------
    extents : tuple of int
        One for each index; indices are below it.
    field : str
        A key of `FIELDS`.
    base : int
        What the first index is called.
    comment : bytes
        What comment lines begin with; empty where there are none.
    lenient : bool
        Numbers past the range of float64 are infinite, and what follows the indices
        of a pattern is skipped; else both are refused.
    fortran_exponents : bool
        Exponents may be written with a D.
    """

    extents: tuple[int, ...]
    field: str
    base: int = 1
    comment: bytes = b""
    lenient: bool = False
    fortran_exponents: bool = False

    @property
    def kind(self) -> int:
        """The kind of value as `parse_lines` takes it."""
        return FIELDS[self.field][0]

    @property
    def n_numbers(self) -> int:
        """How many numbers are on a line."""
        return len(self.extents) + (0, 1, 2, 1, 1)[self.kind]


def least_bytes(spec: LineSpec) -> int:
    """Return the size of the shortest line with an entry, its end included."""
    return 2 * spec.n_numbers


def line_of_entry(text: bytes, spec: LineSpec, number: int) -> int:
    """Return the line, from 1, of entry ``number``, from 0, of a block."""
    for at, line in enumerate(text.split(b"\n"), 1):
        stripped = line.strip()
        if stripped and not (spec.comment and stripped.startswith(spec.comment)):
            if number == 0:
                return at
            number -= 1
    return 0


def complaint(spec: LineSpec, text: bytes, status: int, offset: int) -> str:
    """Say what was expected, and what there is at an offset.

    Parameters
    ----------
    spec : LineSpec
        What should stand there.
    text : bytes
        Some lines.
    status : int
        What `parse_lines` found.
    offset : int
        Where the wrong token begins.
    """
    begin = text.rfind(b"\n", 0, offset) + 1
    number = len(text[begin:offset].split())
    end = text.find(b"\n", offset)
    rest = text[offset : len(text) if end < 0 else end]
    # The token as it stands in the file, whatever bytes it is made of.
    token = repr((rest.split()[:1] or [b""])[0][:_SHOWN_BYTES])[1:]
    got = "the end of the line" if token == "''" else token
    if number < len(spec.extents):
        last = spec.extents[number] - 1 + spec.base
        bound = "" if last >= 2**63 - 1 else f" to {last}"
        wanted = f"an integer from {spec.base}{bound} as index {number + 1}"
        hint = " (indices are from 1)" if spec.base and token == "'0'" else ""
        return f"expected {wanted}, got {got}{hint}"
    if number >= spec.n_numbers:
        hint = " (permissive=True skips it)" if spec.kind == 0 else ""
        wanted = f"{spec.n_numbers} numbers on the line"
        return f"expected {wanted}, got {got} after them{hint}"
    if status == _VALUE_OVERFLOW:
        return f"expected a number that fits {_range_of(spec)}, got {got}"
    return f"expected {_value_of(spec)}, got {got}"


def _range_of(spec: LineSpec) -> str:
    dtype = FIELDS[spec.field][1]
    return "float64" if dtype is None or dtype.kind in "fc" else str(dtype)


def _value_of(spec: LineSpec) -> str:
    return {
        "real": "a number",
        "complex": "two numbers",
        "integer": "an integer",
        "unsigned-integer": "an integer from 0",
    }.get(spec.field, "no value")
