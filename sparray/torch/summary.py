"""A table of what a model's parameters take, and what being sparse is worth."""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparray.errors import ShapeError
from sparray.formats.named import format_text
from sparray.torch.plan import Plan, Sparse, places_of
from sparray.torch.sparse_hooks import functions_in, gradients_in, output_of
from sparray.torch.sparsify import sparsify
from sparray.torch.tensor import SparseTensor

__all__ = ["summary"]

_HEAD = ("parameter", "shape", "format", "density", "bytes", "of dense", "speed")
_HEAD_OF_OTHERS = ("also", "sparsifier", "format", "gradient")
_RUNS = 7


def summary(
    model: nn.Module,
    rows: int | None = None,
    *,
    plan: Plan | None = None,
    calibrate: Callable[[nn.Module], Any] | None = None,
) -> str:
    """Describe a model's parameters: format, density, bytes, and speed.

    Parameters
    ----------
    model : Module
        Before or after `sparsify`; it stays as it is.
    rows : int, optional
        If given, sparse matrices are timed: `linear` with inputs of so many rows,
        against the same matrix as a dense one (medians of 7 alternating calls).
    plan : mapping of str to Sparse, optional
        If given, each cell says what is there before and after `sparsify` by it.
    calibrate : callable, optional
        As for `sparsify`, with a plan.

    Returns
    -------
    str
        A table: a row for each parameter, and one for all. Another one below it, of
        gradients that have a format of their own, outputs of modules and results of
        functions that become sparse.

    Raises
    ------
    ShapeError
        If ``rows`` is not positive.
    PlanError, PatternError, ScoreError
        As `sparsify`, with a plan.

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
    if plan is None:
        lines, others = _parameters(model, rows), _others(model)
    else:
        after = sparsify(model, plan, calibrate=calibrate)
        lines = _compared(_parameters(model, rows), _parameters(after, rows))
        others = _others(after)
    if not others:
        return _table([_HEAD, *lines])
    return f"{_table([_HEAD, *lines])}\n\n{_table([_HEAD_OF_OTHERS, *others])}"


def _table(lines: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _compared(
    before: Sequence[tuple[str, ...]], after: Sequence[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    return [
        tuple(
            new if old in (new, "") else f"{old} -> {new}"
            for old, new in zip(first, second, strict=True)
        )
        for first, second in zip(before, after, strict=True)
    ]


def _parameters(model: nn.Module, rows: int | None) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
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
    return [*lines, ("total", "", "", *sizes, "")]


def _others(model: nn.Module) -> list[tuple[str, ...]]:
    """Describe gradients, outputs and functions, by the keys that a plan has."""
    found: list[tuple[str, ...]] = []
    ruled = set()
    for prefix, module in model.named_modules():
        for name, spec in gradients_in(module).items():
            full = f"{prefix}.{name}" if prefix else name
            ruled.add(full)
            found.append((f"{full}.grad", *_spec(spec)))
        if (spec := output_of(module)) is not None:
            found.append((f"{prefix}()", *_spec(spec)))
        for name, spec in functions_in(module).items():
            found.append((f"{prefix}().{name}", *_spec(spec)))
    for place in places_of(model):
        rule = getattr(place.parameter, "grad_format", None)
        if rule is not None and place.name not in ruled:
            chosen = "" if rule.sparsifier is None else repr(rule.sparsifier)
            format = "" if rule.format is None else format_text(rule.format)
            found.append((f"{place.name}.grad", chosen, format, ""))
    return found


def _spec(spec: Sparse) -> tuple[str, str, str]:
    format = "" if spec.format is None else str(spec.format)
    return repr(spec.sparsifier), format, "" if spec.grad is None else str(spec.grad)


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
