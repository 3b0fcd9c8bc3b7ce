"""The entries of a text file: one line each, some indices and a value."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.threads import num_threads
from sparray.io.entries import Entries, index_dtype_for
from sparray.io.interpreted_lines import parse_lines as parse_interpreted
from sparray.io.line_spec import (
    FIELDS,
    LineSpec,
    complaint,
    least_bytes,
    line_of_entry,
)
from sparray.io.text_source import BLOCK_BYTES, TextSource

__all__ = ["read_entries"]

parse_lines: Callable[..., tuple[int, int, int, int]]
try:
    from sparray.io.compiled import parse_lines  # type: ignore[import-not-found,no-redef]
except ImportError:
    # A source tree that was not built: right, and about 100 times slower.
    parse_lines = parse_interpreted

_FORTRAN_EXPONENT = re.compile(rb"([0-9.])[dD](?=[+-]?[0-9])")
_FIRST_CAPACITY = 2**20
_FEW = 2**16
_LONGEST_ENTRY_BYTES = 128
_MOST_EXTRA_BYTES = 2**20


def read_entries(
    source: TextSource, spec: LineSpec, n_expected: int | None = None
) -> Entries:
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
    Entries
        In the order of the file; of value 1.0 where the field is ``pattern``.

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
    columns = _Columns(source, spec, n_expected)
    blocks = _Blocks(source)
    threads = min(num_threads(), 1 + source.most_bytes_left // BLOCK_BYTES)
    if threads == 1:
        _work(blocks, columns, spec)
    else:
        with ThreadPoolExecutor(threads) as pool:
            workers = [
                pool.submit(_work, blocks, columns, spec) for _ in range(threads)
            ]
        for worker in workers:
            worker.result()
    return columns.finish()


def _check_count(source: TextSource, spec: LineSpec, n_expected: int) -> None:
    """Refuse a number of entries that cannot follow, before memory is taken."""
    most = (source.most_bytes_left + 1) // least_bytes(spec)
    # Of a few, the line where they end says more.
    if n_expected > max(most, _FEW):
        source.refuse(
            f"expected at most {most} entries, which is what the file has room for, "
            f"got {n_expected} as their number"
        )
    source.expect_at_most(n_expected * _LONGEST_ENTRY_BYTES + _MOST_EXTRA_BYTES)


class _Blocks:
    """The blocks of a file, numbered as they are read, for several threads."""

    def __init__(self, source: TextSource) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._count = 0
        self._ended = False

    def read(self, buffer: bytearray) -> tuple[int, int] | None:
        """Read the next block; return its number and its size."""
        with self._lock:
            if self._ended:
                return None
            self._ended = True  # also where reading raises: nobody waits for more
            size = self._source.read_block(buffer)
            if size == 0:
                return None
            self._ended = False
            self._count += 1
            return self._count - 1, size


def _work(blocks: _Blocks, columns: "_Columns", spec: LineSpec) -> None:
    """Parse blocks, as one of several threads, until there are no more."""
    text = bytearray(BLOCK_BYTES)
    parsed = _Buffers(spec, BLOCK_BYTES // least_bytes(spec) + 1)
    while (block := blocks.read(text)) is not None:
        number, size = block
        parsed.parse(text, size)
        if not columns.append(number, parsed):
            break


class _Buffers:
    """The entries of one block of lines; used again for the next one."""

    def __init__(self, spec: LineSpec, capacity: int) -> None:
        kind = spec.kind
        n_coords = len(spec.extents)
        self.spec = spec
        self.text = memoryview(b"")
        self.count = self.n_lines = self.status = self.offset = 0
        self._capacity = capacity
        self._coords = np.empty((n_coords, capacity), index_dtype_for(spec.extents))
        self._reals = np.empty(capacity * kind if kind in (1, 2) else 0, np.float64)
        self._integers = np.empty(capacity if kind > 2 else 0, dtype=np.int64)
        self._extents = np.array(spec.extents, dtype=np.int64)

    def parse(self, buffer: bytearray, size: int) -> None:
        """Parse the first bytes of a buffer."""
        spec = self.spec
        if spec.fortran_exponents and spec.field in ("real", "complex"):
            buffer[:size] = _FORTRAN_EXPONENT.sub(rb"\1e", buffer[:size])
        self.text = memoryview(buffer)[:size]
        self.count, self.n_lines, self.status, self.offset = parse_lines(
            self.text,
            self._coords,
            self._reals,
            self._integers,
            self._extents,
            spec.kind,
            self._capacity,
            spec.base,
            spec.comment[0] if spec.comment else -1,
            spec.lenient,
        )

    @property
    def columns(self) -> list[npt.NDArray[Any]]:
        """The coordinates and then the values, if there are any."""
        arrays = list(self._coords[:, : self.count])
        kind, dtype = FIELDS[self.spec.field]
        if dtype is not None:
            flat = self._reals if kind in (1, 2) else self._integers
            arrays.append(flat.view(dtype)[: self.count])
        return arrays


class _Columns:
    """Arrays that grow to what has come, and never past what was promised."""

    def __init__(
        self, source: TextSource, spec: LineSpec, n_expected: int | None
    ) -> None:
        self._source = source
        self._spec = spec
        self._most = n_expected
        self._count = 0
        self._line = source.line
        self._turn = 0
        self._failed = False
        self._changed = threading.Condition()
        capacity = min(_FIRST_CAPACITY, n_expected or 0)
        dtypes = [index_dtype_for(spec.extents)] * len(spec.extents)
        dtype = FIELDS[spec.field][1]
        if dtype is not None:
            dtypes.append(dtype)
        self._arrays = [np.empty(capacity, dtype=dtype) for dtype in dtypes]

    def append(self, number: int, block: _Buffers) -> bool:
        """Append block ``number`` once it is its turn; False if another one failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._failed or self._turn == number)
            if self._failed:
                return False
            try:
                self._check(block)
                self._copy(block)
            except BaseException:
                self._failed = True
                raise
            finally:
                self._turn += 1
                self._changed.notify_all()
            return True

    def finish(self) -> Entries:
        """Return the arrays, cut to the entries that there are."""
        if self._most is not None and self._count != self._most:
            self._source.refuse(
                f"expected {self._most} entries, got {self._count} and the end",
                self._line,
            )
        self._resize(self._count)
        if FIELDS[self._spec.field][1] is None:
            return Entries(self._arrays, np.ones(self._count, dtype=np.float64))
        return Entries(self._arrays[:-1], self._arrays[-1])

    def _check(self, block: _Buffers) -> None:
        if block.status:
            self._source.refuse(
                complaint(self._spec, bytes(block.text), block.status, block.offset),
                self._line + block.n_lines + 1,
            )
        if self._most is not None and self._count + block.count > self._most:
            line = line_of_entry(
                bytes(block.text), self._spec, self._most - self._count
            )
            self._source.refuse(
                f"expected {self._most} entries, got more", self._line + line
            )

    def _copy(self, block: _Buffers) -> None:
        end = self._count + block.count
        capacity = len(self._arrays[0])
        if end > capacity:
            capacity = max(end, 2 * capacity)
            self._resize(capacity if self._most is None else min(capacity, self._most))
        for array, part in zip(self._arrays, block.columns, strict=True):
            array[self._count : end] = part
        self._count = end
        self._line += block.n_lines

    def _resize(self, capacity: int) -> None:
        """Change the length in place: large memory is moved without a copy."""
        for array in self._arrays:
            array.resize(capacity, refcheck=False)
