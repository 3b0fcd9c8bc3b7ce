"""Where the disk cache is: the user's directory, or a private temporary one."""

import atexit
import os
import stat
import threading
from pathlib import Path

from sparray._kernels.cache import DiskCache
from sparray._kernels.notices import warn_once
from sparray._kernels.sizes import size_setting

__all__ = ["cache_directory", "cache_limit", "open_cache", "temporary_cache"]

_DEFAULT_LIMIT = 1 << 30


class _Temporary:
    """The process's own directory, made when it is first needed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.directory: Path | None = None


_temporary = _Temporary()
os.register_at_fork(
    after_in_child=lambda: setattr(_temporary, "lock", threading.Lock())
)


def cache_directory() -> Path:
    """Return the directory that the settings name, whether or not it exists.

    Returns
    -------
    Path
        ``SPARRAY_CACHE_DIR``; else ``sparray`` in ``XDG_CACHE_HOME``, which must
        be absolute; else ``~/.cache/sparray``.
    """
    setting = os.environ.get("SPARRAY_CACHE_DIR", "")
    if setting:
        return Path(os.path.abspath(os.path.expanduser(setting)))
    shared = os.environ.get("XDG_CACHE_HOME", "")
    base = shared if os.path.isabs(shared) else os.path.expanduser("~/.cache")
    return Path(base) / "sparray"


def cache_limit() -> int:
    """Return the size in bytes that the cache is kept to.

    Returns
    -------
    int
        ``SPARRAY_CACHE_SIZE``, a number of bytes or one with a unit (``512M``,
        ``2G``); 1 GiB by default.

    Raises
    ------
    SettingError
        If it is not a size.
    """
    return size_setting("SPARRAY_CACHE_SIZE", _DEFAULT_LIMIT)


def open_cache() -> DiskCache:
    """Return the cache, making its directory if there is none.

    Returns
    -------
    DiskCache
        In the directory of the settings. If that cannot be made, belongs to
        another user or can be written by others, a temporary one, and one
        warning that says why.

    Raises
    ------
    SettingError
        If ``SPARRAY_CACHE_SIZE`` is not a size.
    """
    directory = cache_directory()
    fault = _fault(directory)
    if fault is None:
        return DiskCache(directory, cache_limit())
    return temporary_cache(f"{directory} {fault}")


def temporary_cache(reason: str) -> DiskCache:
    """Return a cache that lasts as long as the process, and warn once.

    Parameters
    ----------
    reason : str
        Why the user's cache is not used.

    Returns
    -------
    DiskCache
        In a directory of mode 0700 that is removed at the process's end.
    """
    warn_once(
        "cache directory",
        f"the kernel cache cannot be used: {reason}; kernels of this process are "
        "kept in a temporary directory (SPARRAY_CACHE_DIR chooses another)",
    )
    with _temporary.lock:
        if _temporary.directory is None:
            import tempfile

            _temporary.directory = Path(tempfile.mkdtemp(prefix="sparray-cache-"))
            atexit.register(_remove_tree, _temporary.directory, os.getpid())
        return DiskCache(_temporary.directory, cache_limit())


def _fault(directory: Path) -> str | None:
    """Say what keeps a directory from being trusted, or None; make it if absent."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.stat()
    except OSError as error:
        return f"cannot be made ({error.strerror})"
    if status.st_uid != os.geteuid():
        return f"belongs to user {status.st_uid}, not to {os.geteuid()}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by others (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def _remove_tree(directory: Path, owner_pid: int) -> None:
    # A forked child ends too, and must leave its parent's directory alone.
    if os.getpid() == owner_pid:
        import shutil

        shutil.rmtree(directory, ignore_errors=True)
