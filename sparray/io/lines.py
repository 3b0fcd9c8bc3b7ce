"""The entries of a text file: one line each, some indices and a value."""

import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from sparray._kernels.threads import num_threads
from sparray.io.interpreted_lines import parse_lines as parse_interpreted
from sparray.io.text_source import TextSource

__all__ = ["FIELDS", "LineSpec", "index_dtype_for", "least_bytes", "read_entries"]

parse_lines: Callable[..., tuple[int, int, int, int]]
try:
    from sparray.io.compiled_lines import parse_lines  # type: ignore[import-not-found,no-redef]
except ImportError:
    # A source tree that was not built: right, and about 100 times slower.
    parse_lines = parse_interpreted

FIELDS: dict[str, tuple[int, np.dtype[Any] | None]] = {
    "pattern": (0, None),
    "real": (1, np.dtype(np.float64)),
    "complex": (2, np.dtype(np.complex128)),
    "integer": (3, np.dtype(np.int64)),
    "unsigned-integer": (4, np.dtype(np.uint64)),
}
"""Kind of value, as `parse_lines` takes it, and its dtype, by MatrixMarket's word."""

_FORTRAN_EXPONENT = re.compile(rb"([0-9.])[dD](?=[+-]?[0-9])")
_FIRST_CAPACITY = 2**20
_LONGEST_ENTRY_BYTES = 128
_MOST_EXTRA_BYTES = 2**20
_SHOWN_BYTES = 40

Buffers = tuple[npt.NDArray[Any], npt.NDArray[np.float64], npt.NDArray[np.int64]]


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
    may_overflow : bool
        Numbers past the range of float64 are infinite, and not refused.
    fortran_exponents : bool
        Exponents may be written with a D.
    """

    extents: tuple[int, ...]
    field: str
    base: int = 1
    comment: bytes = b""
    may_overflow: bool = False
    fortran_exponents: bool = False

    @property
    def kind(self) -> int:
        """The kind of value as `parse_lines` takes it."""
        return FIELDS[self.field][0]

    @property
    def n_numbers(self) -> int:
        """How many numbers are on a line."""
        return len(self.extents) + (0, 1, 2, 1, 1)[self.kind]


@dataclass(frozen=True, slots=True)
class _Block:
    """The entries of one block of lines."""

    coords: npt.NDArray[Any]
    values: npt.NDArray[Any] | None
    n_lines: int
    status: int
    offset: int
    text: bytes


def least_bytes(spec: LineSpec) -> int:
    """Return the size of the shortest line with an entry, its end included."""
    return 2 * spec.n_numbers


def index_dtype_for(extents: tuple[int, ...]) -> np.dtype[Any]:
    """Return int32 where every index fits it, else int64."""
    return np.dtype(np.int32 if max(extents, default=0) <= 2**31 - 1 else np.int64)


def read_entries(
    source: TextSource, spec: LineSpec, n_expected: int | None = None
) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any] | None]:
    """Read entries up to the end of a file.

    Parameters
    ----------
    source : TextSource
        Past its header.
    spec : LineSpec
        What stands on a line.
    n_expected : int, optional
        How many entries there have to be.

    Returns
    -------
    coords : list of int32[n] or int64[n]
        An array for each dimension: indices from 0.
    values : dtype[n] or None
        None for ``pattern``.

    Raises
    ------
    FileFormatError
        If a line is wrong, or the number of lines.

    Notes
    -----
    O(bytes). Blocks of 1 MiB are parsed by `sparray.num_threads` threads. Memory is
    that of the result: nothing is allocated for entries that the file has no room for.
    """
    if n_expected is not None:
        _check_count(source, spec, n_expected)
    columns = _Columns(spec, n_expected)
    line = source.line
    for block in _parsed(source, spec):
        if block.status:
            _refuse(source, spec, block, line + block.n_lines + 1)
        if n_expected is not None and columns.count + block.coords.shape[1] > (
            n_expected
        ):
            source.refuse(
                f"expected {n_expected} entries, got more",
                _line_of_entry(block.text, spec, n_expected - columns.count) + line,
            )
        columns.append(block)
        line += block.n_lines
    if n_expected is not None and columns.count != n_expected:
        source.refuse(
            f"expected {n_expected} entries, got {columns.count} and the end", line
        )
    return columns.finish()


def _check_count(source: TextSource, spec: LineSpec, n_expected: int) -> None:
    """Refuse a number of entries that cannot follow, before memory is taken."""
    most = (source.most_bytes_left + 1) // least_bytes(spec)
    if n_expected > most:
        source.refuse(
            f"expected at most {most} entries, which is what the file has room for, "
            f"got {n_expected} as their number"
        )
    source.expect_at_most(n_expected * _LONGEST_ENTRY_BYTES + _MOST_EXTRA_BYTES)


def _parsed(source: TextSource, spec: LineSpec) -> Iterator[_Block]:
    """Yield the parsed blocks in their order, parsed by some threads."""
    threads = num_threads()
    waiting: deque[Future[_Block]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for text in source.blocks():
            waiting.append(pool.submit(_parse, text, spec))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _parse(text: bytes, spec: LineSpec) -> _Block:
    """Parse one block into buffers of its own."""
    if spec.fortran_exponents and spec.field in ("real", "complex"):
        text = _FORTRAN_EXPONENT.sub(rb"\1e", text)
    capacity = len(text) // least_bytes(spec) + 1
    kind, dtype = FIELDS[spec.field]
    coords = np.empty((len(spec.extents), capacity), index_dtype_for(spec.extents))
    reals = np.empty(capacity * kind if kind in (1, 2) else 0, dtype=np.float64)
    integers = np.empty(capacity if kind > 2 else 0, dtype=np.int64)
    count, n_lines, status, offset = parse_lines(
        text,
        coords,
        reals,
        integers,
        np.array(spec.extents, dtype=np.int64),
        kind,
        capacity,
        spec.base,
        spec.comment[0] if spec.comment else -1,
        spec.may_overflow,
    )
    values = None
    if dtype is not None:
        values = (reals if kind in (1, 2) else integers).view(dtype)[:count]
    # Of an array without dimensions the length says how many entries there are.
    return _Block(coords[:, :count], values, n_lines, status, offset, text)


class _Columns:
    """Arrays that grow to what has come, and never past what was promised."""

    def __init__(self, spec: LineSpec, n_expected: int | None) -> None:
        self.count = 0
        self._most = n_expected
        self._capacity = min(_FIRST_CAPACITY, n_expected or 0)
        index_dtype = index_dtype_for(spec.extents)
        dtypes = [index_dtype] * len(spec.extents)
        dtype = FIELDS[spec.field][1]
        self._has_values = dtype is not None
        if dtype is not None:
            dtypes.append(dtype)
        self._arrays = [np.empty(self._capacity, dtype=dtype) for dtype in dtypes]

    def append(self, block: _Block) -> None:
        end = self.count + block.coords.shape[1]
        if end > self._capacity:
            self._grow(end)
        parts = list(block.coords)
        if block.values is not None:
            parts.append(block.values)
        for array, part in zip(self._arrays, parts, strict=True):
            array[self.count : end] = part
        self.count = end

    def finish(self) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any] | None]:
        self._resize(self.count)
        if not self._has_values:
            return self._arrays, None
        return self._arrays[:-1], self._arrays[-1]

    def _grow(self, needed: int) -> None:
        capacity = max(needed, 2 * self._capacity)
        self._resize(capacity if self._most is None else min(capacity, self._most))

    def _resize(self, capacity: int) -> None:
        """Change the length in place: large memory is moved without a copy."""
        for array in self._arrays:
            array.resize(capacity, refcheck=False)
        self._capacity = capacity


def _line_of_entry(text: bytes, spec: LineSpec, number: int) -> int:
    """Return the line, from 1, of entry ``number``, from 0, of a block."""
    for at, line in enumerate(text.split(b"\n"), 1):
        stripped = line.strip()
        if stripped and not (spec.comment and stripped.startswith(spec.comment)):
            if number == 0:
                return at
            number -= 1
    return 0


def _refuse(source: TextSource, spec: LineSpec, block: _Block, line: int) -> NoReturn:
    """Raise an error that says what is wrong with a line."""
    text, offset = block.text, block.offset
    begin = text.rfind(b"\n", 0, offset) + 1
    number = len(text[begin:offset].split())
    end = text.find(b"\n", offset)
    rest = text[offset : len(text) if end < 0 else end]
    # The token as it stands in the file, whatever bytes it is made of.
    token = repr((rest.split()[:1] or [b""])[0][:_SHOWN_BYTES])[1:]
    is_index = number < len(spec.extents)
    if block.status in (1, 2, 3) and is_index:
        last = spec.extents[number] - 1 + spec.base
        wanted = (
            f"an integer from {spec.base}"
            if last >= 2**63 - 1
            else f"an integer from {spec.base} to {last}"
        )
        message = f"expected {wanted} as index {number + 1}"
    elif block.status == 5:
        message = f"expected a number that fits ({_range_of(spec)})"
    elif block.status == 4:
        message = f"expected {_value_of(spec)}"
    else:
        message = f"expected {spec.n_numbers} numbers on the line"
    got = "the end of the line" if token == "''" else token
    hint = ""
    if block.status == 3 and spec.base == 1 and token == "'0'":
        hint = " (indices are from 1)"
    source.refuse(f"{message}, got {got}{hint}", line)


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
