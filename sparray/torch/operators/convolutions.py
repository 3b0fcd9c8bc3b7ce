"""Convolutions: products of windows, as index notation writes them.

No window is copied out: what unfolding (im2col) would make a matrix of is read where it
is, ``x[n, c, 2*h + r, ...]``.
"""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from sparray.errors import ShapeError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.formats.named import named_format
from sparray.functions.manipulation.repeating import pad
from sparray.torch.operators.operands import compute, one_dtype
from sparray.torch.operators.structure import moved
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []


def _register(function: Any, name: str, spatial: int) -> None:
    @implements([function])
    def convolution(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        if isinstance(bias, SparseTensor):
            return NotImplemented
        one_dtype(name, input, weight)
        if weight.dim() != spatial + 2 or input.dim() not in (spatial + 1, spatial + 2):
            raise ShapeError(
                f"{name}: expected an input of {spatial + 1} or {spatial + 2} "
                f"dimensions and a weight of {spatial + 2}, got shapes "
                f"{tuple(input.shape)} and {tuple(weight.shape)}"
            )
        steps, spread = _each(stride, spatial), _each(dilation, spatial)
        x = input if input.dim() == spatial + 2 else input.unsqueeze(0)
        x = _pad(x, _padded(padding, weight, steps, spread))
        made = _convolved(name, x, weight, steps, spread, groups)
        if bias is not None:
            made = made + bias.reshape(-1, *[1] * spatial)
        return made if input.dim() == spatial + 2 else made.squeeze(0)


def _pad(x: Tensor, around: list[int]) -> Tensor:
    """Return a tensor with zeros around it; the last dimension comes first."""
    if not isinstance(x, SparseTensor):
        return functional.pad(x, around)
    pairs = list(zip(around[::2], around[1::2], strict=True))
    width = [(0, 0)] * (x.dim() - len(pairs)) + pairs[::-1]
    made: Tensor = moved(lambda array: pad(array, width), x)
    return made


def _each(given: Any, spatial: int) -> tuple[int, ...]:
    numbers = (given,) if isinstance(given, int) else tuple(given)
    return numbers * spatial if len(numbers) == 1 else numbers


def _padded(
    padding: Any, weight: Tensor, steps: tuple[int, ...], spread: tuple[int, ...]
) -> list[int]:
    """Return what is added before and after each dimension, the last one first."""
    spatial = len(steps)
    reach = [s * (k - 1) for s, k in zip(spread, weight.shape[2:], strict=True)]
    if padding == "valid":
        padding = 0
    if padding == "same":
        if any(step != 1 for step in steps):
            raise ShapeError(f"padding: 'same' expected stride 1, got {steps}")
        pairs = [(r // 2, r - r // 2) for r in reach]
    else:
        pairs = [(n, n) for n in _each(padding, spatial)]
    return [n for pair in reversed(pairs) for n in pair]


def _convolved(
    name: str,
    x: Tensor,
    weight: Tensor,
    steps: tuple[int, ...],
    spread: tuple[int, ...],
    groups: int,
) -> Tensor:
    n, channels = x.shape[:2]
    outputs, per_group = weight.shape[:2]
    if channels != per_group * groups or outputs % groups:
        raise ShapeError(
            f"{name}: expected {per_group * groups} channels and outputs that {groups} "
            f"groups share, got {channels} channels and {outputs} outputs"
        )
    for extent, kernel, step in zip(x.shape[2:], weight.shape[2:], spread, strict=True):
        if extent < step * (kernel - 1) + 1:
            raise ShapeError(
                f"{name}: expected an input as large as the weight, got "
                f"{tuple(x.shape)} and {tuple(weight.shape)}"
            )
    # What no window reads is left out: windows must fit exactly.
    for axis, (step, reach) in enumerate(_reaches(weight, steps, spread)):
        windows = (x.shape[axis + 2] - reach - 1) // step + 1
        x = x.narrow(axis + 2, 0, (windows - 1) * step + reach + 1)
    if groups == 1:
        dense = named_format("dense", x.dim())
        made: Tensor = compute(_expression(steps, spread, False), [x, weight], dense)
        return made
    apart = (groups, outputs // groups, *weight.shape[1:])
    split = weight.reshape(apart)
    x = x.reshape(n, groups, per_group, *x.shape[2:])
    dense = named_format("dense", x.dim())
    made = compute(_expression(steps, spread, True), [x, split], dense)
    return made.reshape(n, outputs, *made.shape[3:])


def _reaches(
    weight: Tensor, steps: tuple[int, ...], spread: tuple[int, ...]
) -> list[tuple[int, int]]:
    kernel = weight.shape[2:]
    return [
        (step, wide * (k - 1))
        for step, wide, k in zip(steps, spread, kernel, strict=True)
    ]


@lru_cache(maxsize=256)
def _expression(
    steps: tuple[int, ...], spread: tuple[int, ...], grouped: bool
) -> Expression:
    windows = [
        f"{_times(step, f'h{n}')} + {_times(wide, f'k{n}')}"
        for n, (step, wide) in enumerate(zip(steps, spread, strict=True))
    ]
    places = [f"h{n}" for n in range(len(steps))]
    offsets = [f"k{n}" for n in range(len(steps))]
    g = ["g"] if grouped else []
    target = ",".join(["n", *g, "o", *places])
    x = ",".join(["n", *g, "c", *windows])
    w = ",".join([*g, "o", "c", *offsets])
    return assignment_expression(f"y[{target}] = x[{x}] * w[{w}]")


def _times(factor: int, index: str) -> str:
    return index if factor == 1 else f"{factor}*{index}"


_register(torch.conv1d, "conv1d", 1)
_register(torch.conv2d, "conv2d", 2)
_register(torch.conv3d, "conv3d", 3)
