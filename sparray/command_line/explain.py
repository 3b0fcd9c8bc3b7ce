"""``python -m sparray explain``: how an expression would be computed."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert import from_coords
from sparray.errors import SettingError
from sparray.evaluation.expression import (
    Expression,
    assignment_expression,
    einsum_expression,
)
from sparray.formats.coordinates import as_dtype
from sparray.functions.explain import explain
from sparray.sparse_array import SparseArray

__all__ = ["add_parser"]


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "explain",
        help="say how an expression would be computed",
        description="Print the loops that the scheduler chooses for random operands, "
        "and why. Nothing is compiled.",
    )
    parser.add_argument("expression", help='"ij,jk->ik", or "C[i,j] = A[i,k] * B[k,j]"')
    parser.add_argument(
        "--formats", nargs="*", default=[], help="of each operand; default: dense"
    )
    parser.add_argument(
        "--shapes",
        nargs="*",
        default=[],
        help="of each operand, as 1000,64; default: 1000 (100 from 3 dimensions on)",
    )
    parser.add_argument("--result", default=None, help="format of the result")
    parser.add_argument(
        "--per-row",
        type=int,
        default=16,
        help="stored entries for each coordinate of the first dimension; default: 16",
    )
    parser.add_argument("--dtype", default="float32")
    parser.add_argument(
        "--source", action="store_true", help="print the loop IR and the Cython source"
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write a page with all of it, sources included"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> None:
    text = arguments.expression
    if "=" in text:
        expression = assignment_expression(text)
    else:
        expression = einsum_expression(text, text.partition("->")[0].count(",") + 1)
    operands = _operands(expression, arguments)
    options = {"format": arguments.result, "source": arguments.source}
    if "=" in text:
        named: dict[str, Any] = dict(zip(expression.tensors, operands, strict=True))
        explanation = explain(text, **options, **named)
    else:
        explanation = explain(text, *operands, **options)
    if arguments.html is None:
        print(explanation)
        return
    try:
        Path(arguments.html).write_text(explanation.html(), encoding="utf-8")
    except OSError as error:
        raise SettingError(
            f"html: expected a file that can be written, got {arguments.html}: {error}"
        ) from error
    print(f"{arguments.html}: how {text} would be computed")


def _operands(
    expression: Expression, arguments: argparse.Namespace
) -> list[SparseArray | npt.NDArray[Any]]:
    ndims = {number: len(access.indices) for access, number in expression.axes}
    default = 1000 if max(ndims.values(), default=0) < 3 else 100
    if arguments.per_row < 0:
        raise SettingError(
            f"per-row: expected a number from 0 on, got {arguments.per_row}"
        )
    for name in ("formats", "shapes"):
        given = len(getattr(arguments, name))
        if given > len(ndims):
            raise SettingError(
                f"{name}: expected at most {len(ndims)}, one for each operand, got "
                f"{given}"
            )
    formats = [*arguments.formats, *["dense"] * len(ndims)]
    made: list[SparseArray | npt.NDArray[Any]] = []
    for number in range(len(ndims)):
        shape = (default,) * ndims[number]
        if number < len(arguments.shapes):
            shape = _shape(arguments.shapes[number])
        made.append(_operand(formats[number], shape, arguments))
    return made


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(part) for part in text.split(",") if part)
    except ValueError:
        shape = (-1,)
    if any(extent < 0 for extent in shape):
        raise SettingError(f"shapes: expected extents as 1000,64, got {text!r}")
    return shape


def _operand(
    format: str, shape: tuple[int, ...], arguments: argparse.Namespace
) -> SparseArray | npt.NDArray[Any]:
    dtype = as_dtype(arguments.dtype)
    if format == "dense":
        try:
            return np.zeros(shape, dtype)
        except (ValueError, MemoryError):
            raise SettingError(
                f"shapes: expected dense operands that fit in memory, got {shape}"
            ) from None
    rng = np.random.default_rng(0)
    count = arguments.per_row * (shape[0] if shape else 1)
    coords = np.array([rng.integers(0, max(extent, 1), count) for extent in shape])
    if 0 in shape:
        coords = coords[:, :0]
    return from_coords(coords, np.ones(coords.shape[1], dtype), shape, format=format)
