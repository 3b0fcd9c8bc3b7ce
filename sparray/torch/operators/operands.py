"""Tensors of both kinds as the operands of an expression."""

from collections.abc import Hashable, Sequence
from typing import Any

import torch

from sparray.convert import default_format
from sparray.errors import (
    DTypeError,
    InternalError,
    ShapeError,
    UnsupportedError,
)
from sparray.evaluation.expression import Expression
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.singleton import Singleton
from sparray.torch.autograd import carry_out, check_operand, evaluate
from sparray.torch.gradient_formats import anchor_of, refuse_anchored
from sparray.torch.inline import streamed
from sparray.torch.pattern import Pattern
from sparray.torch.tensor import SparseTensor

__all__ = [
    "compute",
    "compute_inline",
    "dimension",
    "on_pattern",
    "one_dtype",
    "simpler",
]


def compute(
    expression: Expression,
    operands: Sequence[torch.Tensor],
    format: Format | None = None,
) -> Any:
    """Compute an expression of dense and sparse tensors, part of the graph.

    Returns
    -------
    torch.Tensor or SparseTensor
        By the result's format.

    Raises
    ------
    UnsupportedError
        If an operand has a fill value, or there is no kernel, not even for operands
        converted to formats that all kernels read.
    """
    tensors, patterns, anchors = _parts(expression, operands)
    if not _refused or _question(expression, patterns, format) not in _refused:
        try:
            values, pattern = evaluate(expression, tensors, patterns, format, anchors)
        except UnsupportedError:
            easier = [simpler(operand) for operand in operands]
            if all(new is old for new, old in zip(easier, operands, strict=True)):
                raise
            _refused.add(_question(expression, patterns, format))
        else:
            if pattern is None:
                return values
            if anchors:
                refuse_anchored(expression.text, *operands)
            return SparseTensor(pattern, values)
    return compute(expression, [simpler(operand) for operand in operands], format)


def compute_inline(
    expression: Expression, operands: Sequence[torch.Tensor], sparsifier: Any
) -> SparseTensor:
    """Compute an expression and keep of each panel what a sparsifier chooses.

    Raises
    ------
    UnsupportedError
        If the sparsifier does not stream, or the result has no index for panels.
    """
    tensors, patterns, anchors = _parts(expression, operands)
    if anchors:
        refuse_anchored(expression.text, *operands)
    evaluation = streamed(expression, patterns, sparsifier)
    values, pattern = carry_out(evaluation, tensors)
    if pattern is None:
        raise InternalError(f"{expression.text}: expected a sparse result")
    return SparseTensor(pattern, values)


def _parts(
    expression: Expression, operands: Sequence[torch.Tensor]
) -> tuple[list[torch.Tensor], list[Pattern | None], dict[int, torch.Tensor]]:
    """Return values and patterns of operands, and anchors of those that have one."""
    tensors: list[torch.Tensor] = []
    patterns: list[Pattern | None] = []
    anchors: dict[int, torch.Tensor] = {}
    for number, operand in enumerate(operands):
        if isinstance(operand, SparseTensor):
            if operand._fill != 0:
                raise UnsupportedError(
                    f"{expression.text}: expected operands with fill value 0, got "
                    f"{operand._fill} in {expression.tensors[number]}"
                )
            tensors.append(operand._stored)
            patterns.append(operand._pattern)
            if operand._rule is not None and (anchor := anchor_of(operand)) is not None:
                anchors[number] = anchor
        else:
            check_operand(expression.tensors[number], operand)
            tensors.append(operand)
            patterns.append(None)
    return tensors, patterns, anchors


# What no kernel reads as it is: found out once, as planning takes a while.
_refused: set[Hashable] = set()


def _question(
    expression: Expression,
    patterns: Sequence[Pattern | None],
    format: Format | None,
) -> Hashable:
    formats = (None if pattern is None else pattern.format for pattern in patterns)
    return (expression, format, *formats)


def simpler(operand: torch.Tensor) -> torch.Tensor:
    """Return a sparse tensor in a format that every kernel reads; the same if it is.

    The pattern is converted once and kept; the values stay in the graph.
    """
    if not isinstance(operand, SparseTensor):
        return operand
    simple = default_format(operand.dim())
    if all(isinstance(level, _READ_BY_ALL) for level in operand.format.levels) and (
        len(operand.format.levels) == len(simple.levels)
    ):
        return operand
    return operand.to_format(simple)


_READ_BY_ALL = (Dense, Compressed, Singleton)


def on_pattern(made: SparseTensor, pattern: Pattern) -> torch.Tensor:
    """Return the values of a result that stores what a pattern stores, in its order.

    Raises
    ------
    UnsupportedError
        If it stores something else.
    """
    if not made.pattern.same_as(pattern):
        made = made.to_format(pattern.format)
        if not made.pattern.same_as(pattern):
            raise UnsupportedError(
                f"expected a result with the pattern of {pattern}, got {made.pattern}"
            )
    return made.values()


def one_dtype(name: str, *operands: torch.Tensor) -> None:
    """Raise unless all operands have one dtype, as torch's products require.

    Raises
    ------
    DTypeError
        If they differ.
    """
    first = operands[0].dtype
    for operand in operands[1:]:
        if operand.dtype != first:
            given = " and ".join(str(operand.dtype) for operand in operands)
            raise DTypeError(
                f"{name}: expected operands of one dtype, got {given} "
                "(operand.to(dtype) converts one)"
            )


def dimension(name: str, number: int, ndim: int) -> int:
    """Return the number of a dimension, counted from the first.

    Raises
    ------
    ShapeError
        If there is no such dimension.
    """
    if not -ndim <= number < ndim:
        raise ShapeError(
            f"{name}: expected a dimension from {-ndim} to {ndim - 1}, got {number}"
        )
    return number % ndim
