"""``python -m sparray cache``: what the kernel cache holds, or empty it."""

import argparse
from typing import Any

from sparray._kernels.runtime import cache_info, clear_cache

__all__ = ["add_parser"]


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "cache", help="look at the kernel cache, or empty it"
    )
    parser.add_argument("action", choices=("info", "clear"), nargs="?", default="info")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> None:
    if arguments.action == "clear":
        print(f"removed {clear_cache()} kernels from {cache_info().directory}")
        return
    info = cache_info()
    print(f"directory  {info.directory}")
    print(f"kernels    {info.n_kernels}")
    print(f"size       {info.size_bytes:,} bytes of at most {info.limit_bytes:,}")
