"""Find the compiled kernel of a problem: in this process, built in, cached, or made.

`load_kernel` is the only entry. Each place that it looks in is slower than the
one before: a dictionary, the kernels compiled with the package, the disk cache,
and at last the compiler.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import cast

from sparray._kernels import built_in, jit
from sparray._kernels.cache import CacheInfo, DiskCache, entry_name
from sparray._kernels.cache_directory import open_cache, temporary_cache
from sparray._kernels.fingerprint import source_fingerprint
from sparray._kernels.kernel_source import KernelSource
from sparray._kernels.notices import warn_once
from sparray._kernels.targets import (
    Target,
    cpu_features,
    host_target,
    march_flags,
)
from sparray._kernels.threads import num_threads, set_num_threads
from sparray.errors import UnsupportedError
from sparray.records import dataclass

__all__ = [
    "KernelFunction",
    "KernelSource",
    "LoadedKernel",
    "Target",
    "cache_info",
    "can_load",
    "clear_cache",
    "host_target",
    "has_kernel",
    "load_kernel",
    "num_threads",
    "set_num_threads",
]

KernelFunction = Callable[..., int]

# Raised when what a cached library promises changes: entry points, status values.
ABI_VERSION = 1


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """The compiled functions of one problem.

    Attributes
    ----------
    functions : mapping of str to callable
        Entry points by their names in the loop IR; each takes addresses and
        sizes as integers and returns a status.
    source_path : Path
        The Cython source.
    """

    functions: Mapping[str, KernelFunction]
    source_path: Path

    @property
    def source(self) -> str:
        """The Cython source, read when it is asked for.

        Raises
        ------
        UnsupportedError
            If the cache has removed it since the kernel was loaded.
        """
        try:
            return self.source_path.read_text(encoding="utf-8")
        except OSError as error:
            raise UnsupportedError(
                f"source: expected the file {self.source_path}, which the cache "
                f"no longer has ({error.strerror})"
            ) from error


class _Pending:
    """Keys that a thread is at work on, and the event that ends the wait."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.events: dict[str, threading.Event] = {}


# None: this machine cannot compile the kernel, and has said so.
_kernels: dict[str, LoadedKernel | None] = {}
_pending = _Pending()


def load_kernel(
    problem_key: str, make: Callable[[], KernelSource]
) -> LoadedKernel | None:
    """Return the compiled kernel of a problem, compiling it at most once.

    Parameters
    ----------
    problem_key : str
        Identifies the problem: expression, formats, dtypes, schedule, target.
        What the compiler itself contributes is added here.
    make : callable
        Derives the kernel's loop IR; called only if no compiled one is found.

    Returns
    -------
    LoadedKernel or None
        None if this machine has no compiler (one warning per process): the
        caller uses an interpreter.

    Raises
    ------
    InternalError
        If the generated kernel does not compile.
    SettingError
        If ``SPARRAY_ISA`` or ``SPARRAY_CACHE_SIZE`` is unusable.
    """
    try:
        return _kernels[problem_key]
    except KeyError:
        return _load_once(problem_key, make)


def has_kernel(problem_key: str) -> bool:
    """Tell whether a kernel is compiled: in this process, built in, or in the cache.

    Parameters
    ----------
    problem_key : str
        As for `load_kernel`.

    Returns
    -------
    bool
        Whether `load_kernel` would find it. False where there is no compiler.
    """
    if problem_key in _kernels:
        return _kernels[problem_key] is not None
    if _is_at_hand(problem_key):
        return True
    try:
        name = _cached_name(problem_key, _environment(march_flags()))
    except jit.CompilerMissing:
        return False
    return open_cache().lookup(name) is not None


def can_load(problem_keys: Iterable[str]) -> bool:
    """Tell whether kernels can be had: there is a compiler, or they are compiled.

    Parameters
    ----------
    problem_keys : iterable of str
        As for `load_kernel`.
    """
    missing = [key for key in problem_keys if not _is_at_hand(key)]
    if not missing:
        return True
    try:
        jit.find_toolchain()
    except jit.CompilerMissing:
        return all(map(has_kernel, missing))
    return True


def _is_at_hand(problem_key: str) -> bool:
    """Tell whether a kernel needs no compiler, nor is looked for in the cache."""
    if _kernels.get(problem_key) is not None:
        return True
    return built_in.find(problem_key, host_target()) is not None


def _cached_name(problem_key: str, environment: str) -> str:
    return entry_name(problem_key, source_fingerprint(), environment)


def cache_info() -> CacheInfo:
    """Return what the disk cache holds.

    Returns
    -------
    CacheInfo
        Its directory, number of kernels and sizes.
    """
    return open_cache().info()


def clear_cache() -> int:
    """Remove every kernel from the disk cache; loaded kernels stay usable.

    Returns
    -------
    int
        Number of kernels that were removed.
    """
    return open_cache().clear()


def _load_once(
    problem_key: str, make: Callable[[], KernelSource]
) -> LoadedKernel | None:
    while True:
        with _pending.lock:
            if problem_key in _kernels:
                return _kernels[problem_key]
            event = _pending.events.get(problem_key)
            if event is None:
                _pending.events[problem_key] = done = threading.Event()
                break
        event.wait()
    try:
        kernel = _kernels[problem_key] = _find_or_make(problem_key, make)
    finally:
        with _pending.lock:
            _pending.events.pop(problem_key, None)
        done.set()
    return kernel


def _find_or_make(
    problem_key: str, make: Callable[[], KernelSource]
) -> LoadedKernel | None:
    try:
        found = built_in.find(problem_key, host_target())
        if found is not None:
            module = _load(found.library, found.module_name)
            functions = {
                name: cast(KernelFunction, getattr(module, exported))
                for name, exported in found.functions.items()
            }
            return LoadedKernel(functions, found.source)
        return _load_cached(problem_key, make)
    except jit.CompilerMissing as error:
        warn_once(
            "no compiler",
            f"kernels cannot be compiled here: {error}; results come from the "
            "interpreter, which is slow",
        )
        return None


def _load_cached(problem_key: str, make: Callable[[], KernelSource]) -> LoadedKernel:
    march = march_flags()
    environment = _environment(march)
    name = _cached_name(problem_key, environment)
    cache = open_cache()
    library = cache.lookup(name)
    if library is None:
        source, flags = _render(make(), march)
        by_source = entry_name(source, " ".join(flags), environment)
        with cache.locked(by_source):
            library = cache.lookup(by_source)
            if library is None:
                content = jit.compile_library(source, flags)
                library = _store(cache, (name, by_source), content, source)
            else:
                with contextlib.suppress(OSError):
                    cache.link(name, library)
    module = _load(library, jit.MODULE_NAME)
    return LoadedKernel(_entry_points(module), library.with_suffix(".pyx"))


def _render(kernel: KernelSource, march: Sequence[str]) -> tuple[str, Sequence[str]]:
    # Here, because a kernel that is found needs neither the printer nor templates.
    from sparray._kernels.render import module_flags, render_module

    source = render_module(kernel.functions, kernel.header)
    return source, (*march, *module_flags(kernel.functions))


def _load(library: Path, name: str) -> ModuleType:
    try:
        return jit.load_library(library, name)
    except ImportError as error:
        raise jit.CompilerMissing(f"{library} does not load ({error})") from error


def _store(
    cache: DiskCache, names: tuple[str, ...], content: bytes, source: str
) -> Path:
    try:
        return cache.store(names, content, source)
    except OSError as error:
        reason = f"{cache.directory} cannot be written ({error.strerror})"
        return temporary_cache(reason).store(names, content, source)


def _environment(march: tuple[str, ...]) -> str:
    """Return everything but the source and its own flags that a library depends on."""
    return "\n".join(
        (
            f"abi {ABI_VERSION}",
            jit.find_toolchain().identity,
            " ".join(march),
            " ".join(sorted(cpu_features())),
        )
    )


def _entry_points(module: ModuleType) -> dict[str, KernelFunction]:
    return {
        name: value
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_")
    }


def _reset_after_fork() -> None:
    # Another thread of the parent may have held a lock, or been compiling.
    _pending.__init__()  # type: ignore[misc]
    jit.reset_locks()


os.register_at_fork(after_in_child=_reset_after_fork)
