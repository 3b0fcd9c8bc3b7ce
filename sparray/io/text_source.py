"""Text files, compressed or not, as header lines and then blocks of lines."""

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NoReturn, Self, cast

from sparray.errors import FileFormatError
from sparray.io.progress import Progress

__all__ = ["TextSource", "is_gzip"]

_BLOCK_BYTES = 2**20
_LONGEST_LINE_BYTES = 2**20
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
            block = self._read()
            if not block:
                break
            self._pending += block
            self._check_length(self._pending)
        if not self._pending:
            return None
        line, _, self._pending = self._pending.partition(b"\n")
        self.line += 1
        return line.removesuffix(b"\r")

    def peek_line(self) -> bytes | None:
        """Return the next line and read it again next time."""
        line = self.read_line()
        if line is not None:
            self.line -= 1
            self._pending = line + b"\n" + self._pending
        return line

    def blocks(self) -> Iterator[bytes]:
        """Yield what follows in blocks that end with a line's end, or the file's."""
        rest, self._pending = self._pending, b""
        while True:
            end = rest.rfind(b"\n") + 1
            if end:
                yield rest[:end]
                rest = rest[end:]
            block = self._read()
            if not block:
                break
            rest = rest + block if rest else block
            if b"\n" not in block:
                self._check_length(rest)
        if rest:
            yield rest

    def _check_length(self, line: bytes) -> None:
        if len(line) > _LONGEST_LINE_BYTES and b"\n" not in line:
            self.refuse(
                f"expected lines of at most {_LONGEST_LINE_BYTES} bytes, got a longer "
                "one",
                self.line + 1,
            )

    def _read(self) -> bytes:
        """Read the next block, all of one line end."""
        try:
            block = self._file.read(_BLOCK_BYTES)
        except (EOFError, OSError, zlib.error) as error:
            if not self._compressed:
                raise
            raise FileFormatError(
                f"{self.path}: expected a whole gzip file, got one that breaks off "
                f"or is damaged ({error})"
            ) from None
        self._n_read += len(block)
        self._check_expansion()
        self._progress.update(self._raw.tell())
        if self._any_line_end:
            block = self._held_back + block
            self._held_back = b""
            if block.endswith(b"\r") and len(block) > 1:
                block, self._held_back = block[:-1], b"\r"
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return block

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
