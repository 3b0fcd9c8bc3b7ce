"""The disk cache of compiled kernels.

One directory that belongs to the user alone. For each kernel it holds

===================  ========================================================
file                 content
===================  ========================================================
``<digest>.so``      the shared library; ``digest`` is that of its content
``<digest>.pyx``     the Cython source that it was made from
``<name>.key``       the digest of the library that answers to ``name``
===================  ========================================================

A library is loaded only after its content was found to have the digest that it
is named by, so a damaged file cannot crash the process. Every file is written
under a temporary name and renamed: a reader sees all of it or none.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sparray._kernels.notices import warn_once
from sparray.records import dataclass

__all__ = ["CacheInfo", "DiskCache", "entry_name"]

_OWN_FILES = re.compile(
    r"[0-9a-f]{64}\.(so|pyx|key)|[0-9a-f]{2}\.lock|\.tmp-\w+", re.ASCII
)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LOCK_TIMEOUT_S = 60.0
_LOCK_POLL_S = 0.02
_ABANDONED_S = 3600.0


def entry_name(*parts: str) -> str:
    """Return the name of a cache entry: a digest of everything it depends on.

    Parameters
    ----------
    *parts : str
        What the kernel depends on; their order and boundaries count.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode()
        digest.update(f"{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds.

    Attributes
    ----------
    directory : Path
        Where it is.
    n_kernels : int
        Number of shared libraries.
    size_bytes : int
        Size of all its files.
    limit_bytes : int
        The size beyond which the least recently used kernels are removed.
    """

    directory: Path
    n_kernels: int
    size_bytes: int
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class DiskCache:
    """A directory of compiled kernels; see the module's text for its files.

    Attributes
    ----------
    directory : Path
        An existing directory, already checked to belong to the user.
    limit_bytes : int
        The size that is kept to.
    """

    directory: Path
    limit_bytes: int

    def lookup(self, name: str) -> Path | None:
        """Return the library that answers to a name, verified.

        Parameters
        ----------
        name : str
            A name made by `entry_name`.

        Returns
        -------
        Path or None
            The library; None if there is none, or if it was damaged (which
            removes it and warns).
        """
        key = self.directory / f"{name}.key"
        try:
            digest = key.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            digest = ""
        if not _DIGEST.fullmatch(digest):
            self._discard(key)
            return None
        library = self.directory / f"{digest}.so"
        try:
            content = library.read_bytes()
        except OSError:
            return None  # evicted, or about to be: not damage
        if hashlib.sha256(content).hexdigest() != digest:
            self._discard(key, library)
            return None
        with contextlib.suppress(OSError):
            os.utime(library)  # its modification time is its last use
        return library

    def store(self, names: Iterable[str], content: bytes, source: str) -> Path:
        """Keep a library, and remove others if the cache grew beyond its limit.

        Parameters
        ----------
        names : iterable of str
            Names that it answers to from now on.
        content : bytes
            The shared library.
        source : str
            The Cython source.

        Returns
        -------
        Path
            The library; its source lies beside it, with the suffix ``.pyx``.

        Raises
        ------
        OSError
            If the directory cannot be written.
        """
        digest = hashlib.sha256(content).hexdigest()
        library = self.directory / f"{digest}.so"
        self._write(library.with_suffix(".pyx"), source.encode())
        self._write(library, content)
        for name in names:
            self.link(name, library)
        self._evict(keep=library)
        return library

    def link(self, name: str, library: Path) -> None:
        """Let a library of the cache answer to a name.

        Parameters
        ----------
        name : str
            A name made by `entry_name`.
        library : Path
            What `lookup` or `store` returned.

        Raises
        ------
        OSError
            If the directory cannot be written.
        """
        self._write(self.directory / f"{name}.key", library.stem.encode())

    @contextlib.contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Keep other processes from making the same kernel meanwhile.

        Parameters
        ----------
        name : str
            A name made by `entry_name`.

        Yields
        ------
        None
            After at most a minute, or where files cannot be locked, without the
            lock: it saves work, and correctness does not rest on it.
        """
        with contextlib.ExitStack() as stack:
            # One of 256 files: lock files cannot be removed without a race.
            path = self.directory / f"{name[:2]}.lock"
            with contextlib.suppress(OSError):
                file = stack.enter_context(open(path, "ab"))
                _lock(file.fileno())
                # Explicitly: a forked child may hold the file open for longer.
                stack.callback(fcntl.flock, file.fileno(), fcntl.LOCK_UN)
            yield

    def info(self) -> CacheInfo:
        """Return what the cache holds.

        Returns
        -------
        CacheInfo
            Counted now.
        """
        files = self._files()
        n_kernels = sum(path.suffix == ".so" for path in files)
        size = sum(status.st_size for status in files.values())
        return CacheInfo(self.directory, n_kernels, size, self.limit_bytes)

    def clear(self) -> int:
        """Remove every kernel; files that are not the cache's stay.

        Returns
        -------
        int
            Number of kernels that were removed.
        """
        files = self._files()
        self._remove(files)
        return sum(path.suffix == ".so" for path in files)

    def _write(self, path: Path, content: bytes) -> None:
        import tempfile

        handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=self.directory)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            self._remove([Path(temporary)])
            raise

    def _discard(self, *paths: Path) -> None:
        warn_once(
            f"damaged {paths[0]}",
            f"the kernel cache entry {paths[-1]} is damaged; it is made again",
        )
        self._remove(paths)

    def _files(self) -> dict[Path, os.stat_result]:
        files = {}
        with contextlib.suppress(OSError), os.scandir(self.directory) as entries:
            for entry in entries:
                if _OWN_FILES.fullmatch(entry.name):
                    with contextlib.suppress(OSError):
                        files[Path(entry.path)] = entry.stat(follow_symlinks=False)
        return files

    def _evict(self, keep: Path) -> None:
        files = self._files()
        size = sum(status.st_size for status in files.values())
        if size <= self.limit_bytes:
            return
        self._remove(
            path
            for path, status in files.items()
            if path.name.startswith(".tmp-")
            and status.st_mtime < time.time() - _ABANDONED_S
        )
        libraries = [path for path in files if path.suffix == ".so" and path != keep]
        for library in sorted(libraries, key=lambda path: files[path].st_mtime):
            if size <= self.limit_bytes:
                break
            for path in (library, library.with_suffix(".pyx")):
                size -= files[path].st_size if path in files else 0
                self._remove([path])
        self._remove(path for path in files if self._points_nowhere(path))

    def _points_nowhere(self, path: Path) -> bool:
        if path.suffix != ".key":
            return False
        try:
            digest = path.read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            return False
        return not (self.directory / f"{digest}.so").exists()

    @staticmethod
    def _remove(paths: Iterable[Path]) -> None:
        for path in paths:
            with contextlib.suppress(OSError):
                path.unlink()


def _lock(handle: int) -> None:
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return
            time.sleep(_LOCK_POLL_S)
        else:
            return
