"""``python -m sparray cache``: what is cached and what was tuned, or empty it."""

import argparse
from typing import Any

from sparray._kernels.runtime import cache_info, clear_cache
from sparray._kernels.tuned import TunedEntry, clear_tuned, tuned_entries

__all__ = ["add_parser"]


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "cache", help="look at the kernel cache, or empty it"
    )
    parser.add_argument(
        "action", choices=("info", "tuned", "clear"), nargs="?", default="info"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> None:
    if arguments.action == "clear":
        print(f"removed {clear_cache()} kernels from {cache_info().directory}")
        print(f"removed {clear_tuned()} tuned schedules")
        return
    if arguments.action == "tuned":
        for entry in tuned_entries():
            print(_described(entry))
        return
    info = cache_info()
    print(f"directory  {info.directory}")
    print(f"kernels    {info.n_kernels}")
    print(f"size       {info.size_bytes:,} bytes of at most {info.limit_bytes:,}")
    print(f"tuned      {len(tuned_entries())} schedules")


def _described(entry: TunedEntry) -> str:
    record = entry.record
    gain = record["usual_s"] / record["measured_s"]
    return (
        f"{record['made']}  {record['expression']}  {', '.join(record['formats'])}\n"
        f"    {entry.way}: {gain:.2f} times as fast as the scheduler's choice"
    )
