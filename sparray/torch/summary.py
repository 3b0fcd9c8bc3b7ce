"""A table of what a model's parameters take, and what being sparse is worth."""

import time
from statistics import median

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparray.errors import ShapeError
from sparray.formats.named import format_text
from sparray.torch.plan import places_of
from sparray.torch.tensor import SparseTensor

__all__ = ["summary"]

_HEAD = ("parameter", "shape", "format", "density", "bytes", "of dense", "speed")
_RUNS = 7


def summary(model: nn.Module, rows: int | None = None) -> str:
    """Describe a model's parameters: format, density, bytes, and speed.

    Parameters
    ----------
    model : Module
        Before or after `sparsify`.
    rows : int, optional
        If given, sparse matrices are timed: `linear` with inputs of so many rows,
        against the same matrix as a dense one (medians of 7 alternating calls).

    Returns
    -------
    str
        A table: a row for each parameter, and one for all.

    Raises
    ------
    ShapeError
        If ``rows`` is not positive.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> model = torch.nn.Linear(64, 32, bias=False)
    >>> print(spt.summary(model))
    parameter  shape    format  density  bytes  of dense  speed
    weight     32 x 64  dense   1.000    8192   1.00
    total                       1.000    8192   1.00
    """
    if rows is not None and rows < 1:
        raise ShapeError(f"rows: expected a positive number, got {rows}")
    lines = [_HEAD]
    stored = elements = nbytes = dense_bytes = 0
    for place in places_of(model):
        x = place.parameter
        count, size = _stored(x), _nbytes(x)
        full = x.numel() * x.dtype.itemsize
        stored, elements = stored + count, elements + x.numel()
        nbytes, dense_bytes = nbytes + size, dense_bytes + full
        shape = " x ".join(map(str, x.shape))
        sizes = _sizes(count, x.numel(), size, full)
        lines.append((place.name, shape, _format(x), *sizes, _speed(x, rows)))
    sizes = _sizes(stored, elements, nbytes, dense_bytes)
    lines.append(("total", "", "", *sizes, ""))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _sizes(count: int, elements: int, size: int, full: int) -> tuple[str, str, str]:
    density = f"{count / elements:.3f}" if elements else ""
    return density, str(size), f"{size / full:.2f}" if full else ""


def _stored(x: Tensor) -> int:
    return x.nnz if isinstance(x, SparseTensor) else x.numel()


def _nbytes(x: Tensor) -> int:
    if isinstance(x, SparseTensor):
        with torch.no_grad():
            return x.to_array().nbytes
    return x.numel() * x.dtype.itemsize


def _format(x: Tensor) -> str:
    if isinstance(x, SparseTensor):
        return format_text(x.format)
    return "dense"


def _speed(x: Tensor, rows: int | None) -> str:
    if rows is None or x.dim() != 2 or not isinstance(x, SparseTensor):
        return ""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows, x.shape[1], generator=generator).to(x.dtype)
    sparse, dense = x.detach(), x.detach().to_dense()
    times: dict[bool, list[float]] = {True: [], False: []}
    with torch.no_grad():
        for run in range(_RUNS + 1):
            for is_sparse, weight in ((True, sparse), (False, dense)):
                start = time.perf_counter()
                functional.linear(inputs, weight)
                # The first call may compile a kernel.
                if run:
                    times[is_sparse].append(time.perf_counter() - start)
    return f"{median(times[False]) / median(times[True]):.2f}"
