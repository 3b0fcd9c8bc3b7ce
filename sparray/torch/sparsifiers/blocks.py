"""Blocks of a tensor: cutting it into them, and putting it together again."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sparray.errors import ShapeError

__all__ = ["block_sizes", "in_blocks", "out_of_blocks"]


def block_sizes(block: int | Sequence[int]) -> tuple[int, ...]:
    """Return the extents of a block, checked.

    Raises
    ------
    ShapeError
        If one is no positive integer.
    """
    sizes = (block,) if isinstance(block, int) else tuple(block)
    if not sizes or not all(isinstance(n, int) and n > 0 for n in sizes):
        raise ShapeError(f"block: expected positive extents, got {block}")
    return sizes


def in_blocks(x: Tensor, sizes: Sequence[int], padding: Any) -> Tensor:
    """Return the blocks of a tensor, each in a row.

    Parameters
    ----------
    x : Tensor
        Of at least as many dimensions as there are sizes, which are of the last ones.
    sizes : sequence of int
        Extents of a block.
    padding : scalar
        What fills the blocks that stand over the tensor's edge.

    Returns
    -------
    Tensor
        Of the leading extents, then the number of blocks along each dimension that is
        cut, then the elements of a block.

    Raises
    ------
    ShapeError
        If there are more sizes than dimensions.
    """
    n = len(sizes)
    if n > x.dim():
        raise ShapeError(
            f"block: expected at most {x.dim()} extents for shape {tuple(x.shape)}, "
            f"got {tuple(sizes)}"
        )
    over = [-extent % size for extent, size in zip(x.shape[-n:], sizes, strict=True)]
    edges = [edge for last in reversed(over) for edge in (0, last)]
    padded = torch.nn.functional.pad(x, edges, value=padding)
    lead = x.shape[:-n]
    cut: list[int] = []
    for extent, size in zip(padded.shape[-n:], sizes, strict=True):
        cut += [extent // size, size]
    first = len(lead)
    order = [*range(first), *range(first, first + 2 * n, 2)]
    order += range(first + 1, first + 2 * n, 2)
    return padded.reshape(*lead, *cut).permute(order).flatten(first + n)


def out_of_blocks(blocks: Tensor, sizes: Sequence[int], shape: Sequence[int]) -> Tensor:
    """Return the tensor of a shape that these blocks were cut from."""
    n = len(sizes)
    first = len(shape) - n
    parts = blocks.reshape(*blocks.shape[:-1], *sizes)
    order = list(range(first))
    for k in range(n):
        order += [first + k, first + n + k]
    joined = parts.permute(order)
    extents = [joined.shape[first + 2 * k] * sizes[k] for k in range(n)]
    whole = joined.reshape(*shape[:first], *extents)
    for dimension, extent in enumerate(shape):
        whole = whole.narrow(dimension, 0, extent)
    return whole
