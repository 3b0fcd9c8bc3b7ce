"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["atomic_file", "atomic_path"]


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file that becomes ``path`` at the end.

    Parameters
    ----------
    path : path
        Written through a symbolic link, as `open` does; an existing file keeps its
        permissions.

    Yields
    ------
    Path
        An empty file in the same folder. After an error it is removed, and what
        was at ``path`` before is untouched.

    Notes
    -----
    The data are on the disk before the name is: a machine that stops leaves the old
    file or the new one.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    # Not tempfile: its files are the user's alone, whatever the umask says.
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary, target.stat().st_mode & 0o7777)
        yield temporary
        _synchronize(temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):
        # Some file systems have no folders that can be synchronized.
        _synchronize(target.parent)


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that becomes ``path`` at the end, for reading and writing.

    See `atomic_path`.
    """
    with atomic_path(path) as temporary, temporary.open("r+b") as file:
        yield file


def _synchronize(path: Path) -> None:
    """Wait until a file's data, or a folder's names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
