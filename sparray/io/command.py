"""``python -m sparray convert``, and what ``info`` says of a file."""

import argparse
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sparray.errors import SettingError

__all__ = ["add_parser", "describe_file"]


def add_parser(subparsers: Any) -> None:
    """Add the subcommand ``convert``."""
    parser = subparsers.add_parser(
        "convert",
        help="one file to another, in any format",
        description="Read an array from one file and write it to another. "
        "The names say what kind of files they are.",
    )
    parser.add_argument("source", help="the file to read")
    parser.add_argument("target", help="the file to write")
    parser.add_argument("--format", help="a name such as csf, or a format string")
    parser.add_argument("--dtype", help="such as float32")
    parser.add_argument("--name", help="which array of an archive of many")
    parser.add_argument(
        "--permissive", action="store_true", help="accept dialects of MatrixMarket"
    )
    parser.add_argument(
        "--zero-based", action="store_true", help="indices of the .tns file are from 0"
    )
    parser.set_defaults(run=_run)


def describe_file(path: str) -> str:
    """Return what a file holds, a line for each fact."""
    from sparray.io.kinds import describe  # only where there is a file

    with _reporting():
        size = f"{os.stat(path).st_size} bytes"
        return f"{Path(path).name}: {size}\n{describe(path)}"


def _run(arguments: argparse.Namespace) -> None:
    from sparray.io.kinds import load, save  # only where there is a file

    options = {
        name: value
        for name in ("name", "permissive", "zero_based")
        if (value := getattr(arguments, name))
    }
    with _reporting():
        array = load(
            arguments.source, arguments.format, dtype=arguments.dtype, **options
        )
        save(arguments.target, array)
    print(f"{arguments.target}: {array!r}")


@contextlib.contextmanager
def _reporting() -> Iterator[None]:
    """Turn what the system says of a file into an error that is printed."""
    try:
        yield
    except OSError as error:
        raise SettingError(str(error)) from error
