"""Text files, compressed or not, as lines of a header and then blocks of lines."""

import gzip
import io
import os
import zlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NoReturn, Self, cast

from sparray._kernels.progress import Progress
from sparray.errors import FileFormatError

__all__ = ["BLOCK_BYTES", "TextSource", "is_gzip"]

BLOCK_BYTES = 2**20
"""Lines are read in blocks of this size, and are shorter."""
_BLANKS_TO_ENDS = bytes.maketrans(b" \t", b"\n\n")
_HEADER_BYTES = 2**12
_MOST_EXPANSION = 1032
"""Bytes that one byte of a deflate stream can become (RFC 1951: 258 from 2 bits)."""
_PLAUSIBLE_EXPANSION = 200
"""More than numbers as text are ever compressed by, past the first megabytes."""
_FREE_BYTES = 2**26


def is_gzip(head: bytes) -> bool:
    """Whether a file begins as gzip files do."""
    return head[:2] == b"\x1f\x8b"


class TextSource:
    """A text file that is read once, from its beginning to its end.

    Parameters
    ----------
    path : path
        A gzip file is known by its content.
    any_line_end : bool
        A carriage return alone ends a line too.

    Attributes
    ----------
    line : int
        Number of the line read last, from 1.
    """

    def __init__(
        self, path: str | os.PathLike[str], any_line_end: bool = False
    ) -> None:
        self.path = Path(path)
        self.line = 0
        self._raw = self.path.open("rb")
        self.file_bytes = os.fstat(self._raw.fileno()).st_size
        self._compressed = is_gzip(self._raw.read(2))
        self._raw.seek(0)
        self._file: BinaryIO = (
            cast(BinaryIO, gzip.GzipFile(fileobj=self._raw))
            if self._compressed
            else self._raw
        )
        self._any_line_end = any_line_end
        self._blanks_end_lines = False
        self._pending = b""
        self._held_back = b""
        self._n_read = 0
        self._limit: int | None = None
        self._progress = Progress(self.file_bytes, f"reading {self.path.name}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.__exit__(kind, error, traceback)
        self._file.close()
        self._raw.close()

    @property
    def most_bytes_left(self) -> int:
        """No more bytes than this can follow."""
        if not self._compressed:
            return len(self._pending) + self.file_bytes - self._n_read
        return self.file_bytes * _MOST_EXPANSION

    def expect_at_most(self, n_bytes: int) -> None:
        """Stop decompressing once this many more bytes have come."""
        if self._compressed:
            self._limit = self._n_read + n_bytes

    def refuse(self, message: str, line: int | None = None) -> NoReturn:
        """Raise an error that names file and line."""
        where = self.line if line is None else line
        raise FileFormatError(f"{self.path}, line {where}: {message}")

    def read_line(self) -> bytes | None:
        """Return the next line without its end; None at the end of the file."""
        while b"\n" not in self._pending:
            if len(self._pending) >= BLOCK_BYTES - _HEADER_BYTES:
                self._refuse_long_line()
            block = self._read_bytes(_HEADER_BYTES)
            if self._any_line_end:
                block = self._one_line_end(block)
            if not block:
                break
            self._pending += block
        if not self._pending:
            return None
        line, _, self._pending = self._pending.partition(b"\n")
        self.line += 1
        return line.removesuffix(b"\r")

    def split_at_blanks(self) -> None:
        """Read every run of blanks as a line's end from here on.

        Numbers of lines mean nothing then: errors name the last one before.
        """
        self._blanks_end_lines = True
        self._pending = self._pending.translate(_BLANKS_TO_ENDS)

    def peek_line(self) -> bytes | None:
        """Return the next line and read it again next time."""
        line = self.read_line()
        if line is not None:
            self.line -= 1
            self._pending = line + b"\n" + self._pending
        return line

    def read_block(self, buffer: bytearray) -> int:
        """Read whole lines into a buffer of `BLOCK_BYTES`.

        Returns
        -------
        int
            How many bytes: up to a line's end, or the file's; 0 where nothing is left.
        """
        filled = len(self._pending)
        buffer[:filled] = self._pending
        self._pending = b""
        view = memoryview(buffer)
        while True:
            n_read = self._read_into(view[filled:])
            filled += n_read
            end = filled if n_read == 0 else buffer.rfind(b"\n", 0, filled) + 1
            if end:
                self._pending = bytes(view[end:filled])
                return end
            if filled == len(buffer) or filled == 0:
                break
        if filled:
            self._refuse_long_line()
        return 0

    def _refuse_long_line(self) -> NoReturn:
        self.refuse(
            f"expected lines of less than {BLOCK_BYTES} bytes, got a longer one",
            self.line + 1,
        )

    def _read_into(self, view: memoryview) -> int:
        """Read the next bytes, all of one line end."""
        if not len(view):
            return 0
        if self._any_line_end:
            # Never longer after the change.
            block = self._one_line_end(self._read_bytes(len(view) - 1))
            view[: len(block)] = block
            return len(block)
        if self._blanks_end_lines:
            block = self._read_bytes(len(view))
            view[: len(block)] = block.translate(_BLANKS_TO_ENDS)
            return len(block)
        try:
            n_read = cast(io.BufferedIOBase, self._file).readinto(view)
        except (EOFError, OSError, zlib.error) as error:
            self._refuse_damage(error)
        self._count(n_read)
        return n_read

    def _read_bytes(self, most: int) -> bytes:
        try:
            block = self._file.read(most)
        except (EOFError, OSError, zlib.error) as error:
            self._refuse_damage(error)
        self._count(len(block))
        return block

    def _refuse_damage(self, error: Exception) -> NoReturn:
        if not self._compressed:
            raise error
        raise FileFormatError(
            f"{self.path}: expected a whole gzip file, got one that breaks off or is "
            f"damaged ({error})"
        ) from None

    def _one_line_end(self, block: bytes) -> bytes:
        """Turn every end of a line into a line feed."""
        is_last = not block
        block = self._held_back + block
        self._held_back = b""
        if block.endswith(b"\r") and not is_last:
            block, self._held_back = block[:-1], b"\r"
            if not block:
                return self._one_line_end(self._read_bytes(1))
        return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _count(self, n_read: int) -> None:
        self._n_read += n_read
        self._check_expansion()
        self._progress.update(self._raw.tell())

    def _check_expansion(self) -> None:
        """Stop at a compressed file that becomes more than it can need."""
        if not self._compressed:
            return
        limit = self._limit
        if limit is None:
            limit = _FREE_BYTES + _PLAUSIBLE_EXPANSION * self.file_bytes
        if self._n_read > limit:
            raise FileFormatError(
                f"{self.path}: expected at most {limit} bytes of text in "
                f"{self.file_bytes} compressed bytes, got more"
            )
