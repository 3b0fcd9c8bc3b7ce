"""Lines of numbers to arrays: what `compiled.pyx` does, where nothing is compiled."""

import re
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["parse_lines"]

_INDEX = re.compile(rb"[0-9]+")
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_REAL = re.compile(
    rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE,
)
_TOKEN = re.compile(rb"[^ \t\n]+")
_INT64_MAX = 2**63 - 1

# The numbers of compiled.pyx.
_OK, _BAD_INDEX, _INDEX_OVERFLOW, _INDEX_OUTSIDE = range(4)
_BAD_VALUE, _VALUE_OVERFLOW, _EXTRA, _TOO_MANY = range(4, 8)
_PATTERN, _REAL_KIND, _COMPLEX, _INTEGER_KIND, _UNSIGNED = range(5)


class _WrongTokenError(Exception):
    """What is wrong with a line, and where in it."""

    def __init__(self, status: int, start: int) -> None:
        super().__init__(status)
        self.status = status
        self.start = start


def parse_lines(
    text: bytes | memoryview,
    coords: npt.NDArray[Any],
    reals: npt.NDArray[np.float64],
    integers: npt.NDArray[np.int64],
    extents: npt.NDArray[np.int64],
    kind: int,
    capacity: int,
    base: int,
    comment: int,
    lenient: bool,
) -> tuple[int, int, int, int]:
    """Parse one entry from each line that is not blank.

    Parameters
    ----------
    text : bytes or memoryview
        Whole lines; the last one may lack its end.
    coords : int32[n_coords, capacity] or int64[n_coords, capacity]
        Gets the indices, from 0.
    reals : float64[capacity] or float64[2 * capacity]
        Gets the values of kind 1 (real) and 2 (complex); else empty.
    integers : int64[capacity]
        Gets the values of kind 3 (int64) and 4 (the bits of uint64); else empty.
    extents : int64[n_coords]
        Indices are below them.
    kind : int
        0 for no value, or one of the above.
    capacity : int
        The most entries.
    base : int
        What the first index is called: 0 or 1.
    comment : int
        The byte that comment lines begin with, or -1.
    lenient : bool
        Real numbers past the range of float64 are infinite, and what follows the
        indices of kind 0 is skipped; else both are refused.

    Returns
    -------
    n_entries, n_lines : int
        What was parsed.
    status : int
        0, or what is wrong with the next line.
    offset : int
        Where in the text the wrong token is.
    """
    text = bytes(text)
    n_entries = n_lines = offset = 0
    parts = (coords, reals, integers, extents, kind, base, lenient)
    while offset < len(text):
        end = text.find(b"\n", offset)
        stop = len(text) if end < 0 else end
        line = text[offset:stop]
        if end >= 0:
            line = line.removesuffix(b"\r")
        stripped = line.lstrip(b" \t")
        if stripped and stripped[0] != comment:
            start = offset + len(line) - len(stripped)
            if n_entries == capacity:
                return n_entries, n_lines, _TOO_MANY, start
            try:
                _parse_line(line, n_entries, *parts)
            except _WrongTokenError as wrong:
                at = offset + wrong.start
                return n_entries, n_lines, wrong.status, at
            n_entries += 1
        n_lines += end >= 0
        offset = stop + (end >= 0)
    return n_entries, n_lines, _OK, offset


def _parse_line(
    line: bytes,
    at: int,
    coords: npt.NDArray[Any],
    reals: npt.NDArray[np.float64],
    integers: npt.NDArray[np.int64],
    extents: npt.NDArray[np.int64],
    kind: int,
    base: int,
    lenient: bool,
) -> None:
    """Parse the indices and values of one line into column ``at``."""
    tokens = _TOKEN.finditer(line)
    for axis, extent in enumerate(extents.tolist()):
        token, start = _next(tokens, line, _BAD_INDEX)
        if not _INDEX.fullmatch(token):
            raise _WrongTokenError(_BAD_INDEX, start)
        if len(token.lstrip(b"0")) > 19 or int(token) > _INT64_MAX:
            raise _WrongTokenError(_INDEX_OVERFLOW, start)
        index = int(token) - base
        if not 0 <= index < extent:
            raise _WrongTokenError(_INDEX_OUTSIDE, start)
        coords[axis, at] = index
    for part in range((0, 1, 2, 1, 1)[kind]):
        token, start = _next(tokens, line, _BAD_VALUE)
        try:
            if kind in (_REAL_KIND, _COMPLEX):
                reals[kind * at + part] = _parse_real(token, lenient)
            else:
                integers[at] = _parse_integer(token, kind == _UNSIGNED)
        except ValueError:
            raise _WrongTokenError(_BAD_VALUE, start) from None
        except OverflowError:
            raise _WrongTokenError(_VALUE_OVERFLOW, start) from None
    extra = None if kind == _PATTERN and lenient else next(tokens, None)
    if extra is not None:
        raise _WrongTokenError(_EXTRA, extra.start())


def _next(tokens: Any, line: bytes, missing: int) -> tuple[bytes, int]:
    """Return the next token and where it starts."""
    match = next(tokens, None)
    if match is None:
        raise _WrongTokenError(missing, len(line))
    return match.group(), match.start()


def _parse_real(token: bytes, lenient: bool) -> float:
    if not _REAL.fullmatch(token):
        raise ValueError
    value = float(token)
    is_literal = token.lower().endswith((b"inf", b"infinity"))
    if abs(value) == float("inf") and not is_literal and not lenient:
        raise OverflowError
    return value


def _parse_integer(token: bytes, is_unsigned: bool) -> int:
    """Return an int64, for a uint64 the one with the same bits."""
    if not _INTEGER.fullmatch(token):
        raise ValueError
    # int() refuses thousands of digits.
    digits = token.lstrip(b"+-").lstrip(b"0")
    if len(digits) > 20:
        raise OverflowError
    value = int(digits or b"0")
    if token.startswith(b"-"):
        value = -value
    least, most = (0, 2**64 - 1) if is_unsigned else (-(2**63), _INT64_MAX)
    if not least <= value <= most:
        raise OverflowError
    return value - 2**64 if value > _INT64_MAX else value
