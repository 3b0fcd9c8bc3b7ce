"""What a file holds, as far as its header says."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from sparray.errors import FileFormatError
from sparray.records import dataclass

__all__ = ["Description", "naming"]


@dataclass(frozen=True, slots=True)
class Description:
    """What a file holds.

    Attributes
    ----------
    kind : str
        The kind of file.
    shape : tuple of int or None
        None where only the entries would tell.
    n_entries : int or None
        Number of entries that the file lists: of a symmetric matrix, those of one
        triangle. None where only the entries would tell.
    format : str or None
        The format that it is read into.
    dtype : str or None
        The dtype of its values, or the file's own word for it.
    details : mapping of str to str
        Whatever else its header says.
    """

    kind: str
    shape: tuple[int, ...] | None = None
    n_entries: int | None = None
    format: str | None = None
    dtype: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        rows = {
            "kind": self.kind,
            "shape": None if self.shape is None else " × ".join(map(str, self.shape)),
            "entries": None if self.n_entries is None else str(self.n_entries),
            "format": self.format,
            "values": self.dtype,
            **self.details,
        }
        width = max(map(len, rows)) + 2
        return "\n".join(
            f"{name + ':':{width}}{'not in the header' if value is None else value}"
            for name, value in rows.items()
        )


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the path of a file before what is wrong with it."""
    try:
        yield
    except FileFormatError as error:
        if str(error).startswith(f"{path}"):
            raise
        raise FileFormatError(f"{path}: {error}") from error
