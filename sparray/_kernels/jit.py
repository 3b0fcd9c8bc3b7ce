"""Compile a generated Cython module to a shared library, and load it.

Cython runs in this process, one module at a time; the C compiler runs as a
process of its own, so that several kernels compile at once. setuptools is not
involved: it would take longer than the compiler does.
"""

import hashlib
import importlib.machinery
import importlib.util
import os
import re
import sysconfig
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from sparray._kernels.boilerplate import relax_boilerplate
from sparray.errors import InternalError
from sparray.records import dataclass

__all__ = [
    "CompilerMissing",
    "MODULE_NAME",
    "Toolchain",
    "compile_library",
    "compile_module",
    "find_toolchain",
    "load_library",
    "reset_locks",
]

# Every library exports the same name, so that its bytes depend on its source alone.
MODULE_NAME = "sparray_kernel"

_LIBRARY_FLAGS = ("-shared", "-fPIC", "-g0", "-DNDEBUG", "-fvisibility=hidden")
_NO_OPENMP = re.compile(r"-fopenmp|\bomp\.h\b|-l[gi]?omp\b|libgomp\.spec")
_STDERR_TAIL = 2000


class CompilerMissing(Exception):  # noqa: N818 - a state of the machine
    """Kernels cannot be compiled on this machine; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What compiles kernels on this machine.

    Attributes
    ----------
    command : tuple of str
        The C compiler and the arguments that belong to it.
    identity : str
        Changes when the C compiler, Cython or Python's ABI does.
    """

    command: tuple[str, ...]
    identity: str


class _Locks:
    """Locks, in one place so that a forked child can make them anew."""

    def __init__(self) -> None:
        self.cython = threading.Lock()
        self.load = threading.Lock()


_locks = _Locks()
_modules: dict[Path, ModuleType] = {}


def reset_locks() -> None:
    """Make new locks, after a fork while another thread may have held one."""
    _locks.__init__()  # type: ignore[misc]


def find_toolchain() -> Toolchain:
    """Find the C compiler and Cython, without running or importing either.

    Returns
    -------
    Toolchain
        The compiler named by ``CC``, else the one that Python was built with,
        else ``cc``, ``gcc`` or ``clang`` on the PATH.

    Raises
    ------
    CompilerMissing
        If there is no C compiler, no Cython, or no header ``Python.h``.
    """
    return _find_toolchain(os.environ.get("CC", ""), os.environ.get("PATH", ""))


def compile_library(source: str, flags: Sequence[str]) -> bytes:
    """Compile a Cython module to a shared library.

    Parameters
    ----------
    source : str
        The text of a ``.pyx`` file.
    flags : sequence of str
        The C compiler's flags, as `sparray._kernels.render.module_flags` says.

    Returns
    -------
    bytes
        The shared library; its module is named `MODULE_NAME`.

    Raises
    ------
    CompilerMissing
        If this machine has no compiler.
    InternalError
        If Cython or the C compiler refuses the module. The source is kept in a
        temporary file that the message names.
    """
    toolchain = find_toolchain()
    # What compiles is imported where something is compiled.
    import tempfile

    with tempfile.TemporaryDirectory(prefix="sparray-") as name:
        directory = Path(name)
        pyx = directory / f"{MODULE_NAME}.pyx"
        pyx.write_text(source, encoding="utf-8")
        _translate(pyx)
        library = directory / f"{MODULE_NAME}.so"
        _compile_c(toolchain, pyx.with_suffix(".c"), library, flags)
        return library.read_bytes()


def load_library(path: Path, name: str = MODULE_NAME) -> ModuleType:
    """Load a shared library that holds a Python module.

    Parameters
    ----------
    path : Path
        The shared library. It is trusted: whoever calls has verified it.
    name : str
        The module's name, which its initialisation function ends with.

    Returns
    -------
    ModuleType
        The module; the same object when a library is loaded again.

    Raises
    ------
    ImportError
        If the dynamic linker refuses the library.
    """
    with _locks.load:
        module = _modules.get(path)
        if module is None:
            loader = importlib.machinery.ExtensionFileLoader(name, str(path))
            spec = importlib.util.spec_from_file_location(name, path, loader=loader)
            if spec is None:
                raise ImportError(f"no module spec for {path}", path=str(path))
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            _modules[path] = module
    return module


def compile_module(source: str, flags: Sequence[str], directory: Path) -> ModuleType:
    """Compile a Cython module, keep it in a directory and load it.

    Parameters
    ----------
    source : str
        The text of a ``.pyx`` file.
    flags : sequence of str
        The C compiler's flags, as `sparray._kernels.render.module_flags` says.
    directory : Path
        Where the library is kept, under a digest of its content.

    Returns
    -------
    ModuleType
        The loaded module.

    Raises
    ------
    CompilerMissing, InternalError
        As `compile_library`.
    """
    content = compile_library(source, flags)
    library = directory / f"{hashlib.sha256(content).hexdigest()}.so"
    library.write_bytes(content)
    return load_library(library)


@lru_cache(maxsize=8)
def _find_toolchain(setting: str, path: str) -> Toolchain:
    command = _find_compiler(setting, path)
    if command is None:
        raise CompilerMissing("no C compiler was found (CC, cc, gcc or clang)")
    version = _cython_version()
    if version is None:
        raise CompilerMissing("Cython is not installed")
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        raise CompilerMissing("Python's header files are not installed")
    binary = os.path.realpath(command[0])
    status = os.stat(binary)
    identity = (
        f"{binary} {' '.join(command[1:])} {status.st_size} {status.st_mtime_ns}"
        f" cython {version} {sysconfig.get_config_var('EXT_SUFFIX')}"
    )
    return Toolchain(command, identity)


def _find_compiler(setting: str, path: str) -> tuple[str, ...] | None:
    import shlex
    import shutil

    built_with = sysconfig.get_config_var("CC") or ""
    for candidate in (setting, built_with, "cc", "gcc", "clang"):
        words = shlex.split(candidate)
        found = shutil.which(words[0], path=path) if words else None
        if found is not None:
            return (found, *words[1:])
    return None


def _cython_version() -> str | None:
    # Read, not imported: a kernel that is found in the cache needs no Cython.
    spec = importlib.util.find_spec("Cython")
    if spec is None or spec.origin is None:
        return None
    shadow = Path(spec.origin).with_name("Shadow.py")
    try:
        head = shadow.read_text(encoding="utf-8")[:1000]
    except OSError:
        return None
    match = re.search(r'__version__\s*=\s*"([^"]+)"', head)
    return match[1] if match else f"unknown {shadow.stat().st_mtime_ns}"


def _translate(pyx: Path) -> None:
    with _locks.cython:
        from Cython.Compiler.Main import (
            CompilationOptions,
            compile_single,
            default_options,
        )

        options = CompilationOptions(
            default_options,
            language_level=3,
            output_file=str(pyx.with_suffix(".c")),
            use_listing_file=True,
            errors_to_stderr=False,
        )
        result = compile_single(str(pyx), options, MODULE_NAME)
    if result.num_errors:
        listing = pyx.with_suffix(".lis").read_text(encoding="utf-8")
        raise _failure("Cython", listing, pyx)
    written = pyx.with_suffix(".c")
    written.write_text(
        relax_boilerplate(written.read_text(encoding="utf-8")), encoding="utf-8"
    )


def _compile_c(
    toolchain: Toolchain, source: Path, library: Path, flags: Sequence[str]
) -> None:
    include = f"-I{sysconfig.get_path('include')}"
    files = [include, str(source), "-o", str(library)]
    command = [*toolchain.command, *_LIBRARY_FLAGS, *flags, *files]
    status, errors = _run(command)
    if status and _NO_OPENMP.search(errors):
        # A compiler without OpenMP: its kernels run on one thread.
        status, errors = _run([word for word in command if word != "-fopenmp"])
    if status:
        what = f"{toolchain.command[0]} (status {status})"
        raise _failure(what, errors, source.with_suffix(".pyx"))


def _run(command: Sequence[str]) -> tuple[int, str]:
    import subprocess

    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise CompilerMissing(f"the C compiler does not run: {error}") from error
    return done.returncode, done.stderr


def _failure(what: str, errors: str, pyx: Path) -> InternalError:
    import tempfile

    handle, kept = tempfile.mkstemp(prefix="sparray-failed-", suffix=".pyx")
    with open(handle, "wb") as file:
        file.write(pyx.read_bytes())
    tail = errors.strip()[-_STDERR_TAIL:]
    return InternalError(
        f"{what} refused a generated kernel, which is a bug in sparray; please "
        f"report it with the kernel's source, kept in {kept}\n{tail}"
    )
