"""``python -m sparray info``: versions, machine, kernels; or what a file holds."""

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sparray._kernels.built_in import n_built_in
from sparray._kernels.jit import CompilerMissing, find_toolchain
from sparray._kernels.runtime import cache_info, host_target
from sparray._kernels.threads import num_threads
from sparray.io.command import describe_file

__all__ = ["add_parser", "describe"]

_PACKAGES = ("numpy", "Cython", "scipy", "torch", "scikit-learn", "tqdm")


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("info", help="versions, machine and kernels")
    parser.add_argument("file", nargs="?", help="say what this file holds instead")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> None:
    if arguments.file is None:
        print(describe())
    else:
        print(describe_file(arguments.file))


def describe() -> str:
    """Return what a report about a fault should come with, a line for each fact."""
    import sparray

    target = host_target()
    cache = cache_info()
    facts = {
        "sparray": sparray.__version__,
        "Python": f"{platform.python_version()}, {platform.platform()}",
        **{name.lower(): _version(name) for name in _PACKAGES},
        "compiler": _compiler(),
        "ISA target": f"{target.name}, vectors of {target.vector_bytes} bytes",
        "threads": str(num_threads()),
        "built-in": f"{n_built_in(target)} kernels for this target",
        "cache": f"{cache.directory}: {cache.n_kernels} kernels, "
        f"{cache.size_bytes / 1e6:.1f} MB of at most {cache.limit_bytes / 1e6:.0f} MB",
    }
    return "\n".join(f"{name:<14}{fact}" for name, fact in facts.items())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _compiler() -> str:
    try:
        return " ".join(find_toolchain().command)
    except CompilerMissing as error:
        return f"none ({error})"
