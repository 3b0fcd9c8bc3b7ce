"""One differentiable function for every expression in index notation.

Forward is a compiled kernel. Backward is the expression's gradient, derived by the
compiler and evaluated by this same function, so that second derivatives need nothing
more. The gradient of a sparse operand is computed at its stored coordinates only.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from sparray.compiler.selection import Selection
from sparray.convert import default_format, from_coords
from sparray.convert.torch_memory import as_strided_tensor
from sparray.dispatch import evaluate_expression
from sparray.errors import (
    DeviceError,
    DTypeError,
    InternalError,
    UnsupportedError,
)
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.evaluation.stored import Operand, Stored
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.sparse_array import SparseArray
from sparray.torch.custom_ops import evaluate_traced, is_traced
from sparray.torch.gradients import Ones, Other, Source, gradient_of
from sparray.torch.layouts import WORTH_REORDERING, as_laid_out, layouts_of
from sparray.torch.pattern import Pattern, as_numpy
from sparray.torch.warm_calls import key_of, remember, run_warm

__all__ = [
    "DTYPES",
    "Evaluation",
    "check_differentiable",
    "check_operand",
    "evaluate",
    "gradient",
    "on_rows",
    "record_conversion",
    "recorded",
]

DTYPES = frozenset(
    {
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
    }
)


@dataclass(slots=True)
class Evaluation:
    """One evaluation: an expression and the pattern of each operand.

    Attributes
    ----------
    expression : Expression
        What to compute.
    patterns : sequence of Pattern or None
        Of each operand; None for a dense one.
    format : Format or None
        Of the result, if asked for.
    result : Pattern or None
        Of the result, once it is computed; None for a dense one.
    anchored : tuple of int
        Numbers of the sparse operands whose gradient is wanted densely as well.
    """

    expression: Expression
    patterns: Sequence[Pattern | None]
    format: Format | None
    result: Pattern | None = None
    anchored: tuple[int, ...] = ()

    def run(self, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        """Compute the result's values, or the dense result."""
        found = key_of(self.expression, self.patterns, self.format, tensors)
        if found is not None and (made := run_warm(*found, tensors)) is not None:
            return made
        formats = tuple([None if p is None else p.format for p in self.patterns])
        layouts = layouts_of(self.expression, formats, self.format)
        operands: list[Any] = []
        for number, tensor in enumerate(tensors):
            values, pattern = as_numpy(tensor), self.patterns[number]
            if pattern is not None:
                operands.append(_in_order(values, pattern, layouts.orders[number]))
                continue
            innermost = layouts.innermost[number]
            operands.append(
                values if innermost is None else as_laid_out(values, innermost)
            )
        stored = evaluate_expression(self.expression, operands, layouts.result)
        if stored.format.is_dense:
            if found is not None:
                remember(*found, tensors, self.expression, operands, layouts.result)
            return as_strided_tensor(stored.as_ndarray())
        if not stored.fill_value == 0:
            raise UnsupportedError(
                f"{self.expression.text}: expected a result that is 0 where nothing is "
                f"stored, got {stored.fill_value}; compute it by sparray.compute, or "
                "make an operand dense"
            )
        self.result = _pattern_of(stored, self.patterns)
        return as_strided_tensor(stored.values)

    def shape(
        self, number: int, tensors: Sequence[torch.Tensor]
    ) -> tuple[int, ...] | torch.Size:
        """Return the shape of an operand."""
        pattern = self.patterns[number]
        return tensors[number].shape if pattern is None else pattern.shape

    def anchors(
        self, sources: Sequence[Source], tensors: Sequence[torch.Tensor]
    ) -> dict[int, torch.Tensor]:
        """Return the anchors of what a gradient reads, for its own gradient."""
        if not self.anchored:
            return {}
        count = len(self.patterns)
        return {
            n: tensors[count + self.anchored.index(source)]
            for n, source in enumerate(sources)
            if isinstance(source, int) and source in self.anchored
        }

    def arrays(self, tensors: Sequence[torch.Tensor]) -> list[Operand | Any]:
        """Return the operands as arrays."""
        return [
            as_numpy(tensor) if pattern is None else pattern.array(as_numpy(tensor))
            for tensor, pattern in zip(tensors, self.patterns, strict=True)
        ]


def _in_order(
    values: npt.NDArray[Any], pattern: Pattern, order: Format | None
) -> SparseArray:
    """Return the array of a pattern, or of its entries in another order."""
    if order is not None and pattern.n_values >= WORTH_REORDERING:
        pattern, places = pattern.converted(order)
        values = values if places is None else values.take(places)
    return pattern.array(values)


def _pattern_of(stored: Stored, patterns: Sequence[Pattern | None]) -> Pattern:
    for pattern in patterns:
        if (
            pattern is not None
            and pattern.levels is stored._levels
            and pattern.format == stored.format
            and pattern.shape == stored.shape
        ):
            return pattern
    return Pattern(
        SparseArray._from_trusted(
            stored.format, stored.shape, stored._levels, stored.values, 0
        )
    )


class Recorded(list[tuple[Evaluation, tuple[torch.Tensor, ...]]]):
    """Evaluations with their operands, and which formats were converted for them."""

    def __init__(self) -> None:
        super().__init__()
        self.conversions: list[tuple[Format, Format]] = []


_record: ContextVar[Recorded | None] = ContextVar("sparray_evaluations", default=None)


@contextmanager
def recorded() -> Iterator[Recorded]:
    """Collect each evaluation made inside the block, with its operands."""
    made = Recorded()
    token = _record.set(made)
    try:
        yield made
    finally:
        _record.reset(token)


def record_conversion(old: Format, new: Format) -> None:
    """Say that an operand or a result is converted, to whom collects evaluations."""
    record = _record.get()
    if record is not None:
        record.conversions.append((old, new))


def evaluate(
    expression: Expression,
    tensors: Sequence[torch.Tensor],
    patterns: Sequence[Pattern | None],
    format: Format | None = None,
    anchors: Mapping[int, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, Pattern | None]:
    """Compute an expression; the result is part of the autograd graph.

    Parameters
    ----------
    expression : Expression
        Each operand is read by one access.
    tensors : sequence of torch.Tensor
        For a sparse operand its values, for a dense one itself.
    patterns : sequence of Pattern or None
        Of each operand; None for a dense one.
    format : Format, optional
        Of the result; inferred by default.
    anchors : mapping of int to torch.Tensor, optional
        Zeros in place of what a sparse operand does not store, for some operands: their
        gradient is the operand's dense one.

    Returns
    -------
    values : torch.Tensor
        Of a sparse result; or the dense result.
    pattern : Pattern or None
        None for a dense result.
    """
    if is_traced(tensors):
        if anchors:
            raise UnsupportedError(
                f"{expression.text}: expected gradients with the patterns "
                "of their tensors where operators are traced, got grad_format 'dense'"
            )
        return evaluate_traced(expression, tensors, patterns, format)
    return carry_out(Evaluation(expression, patterns, format), tensors, anchors)


def carry_out(
    evaluation: Evaluation,
    tensors: Sequence[torch.Tensor],
    anchors: Mapping[int, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, Pattern | None]:
    """Run an evaluation; the result is part of the autograd graph: see `evaluate`."""
    if torch.is_grad_enabled() and any([tensor.requires_grad for tensor in tensors]):
        given = tensors
        if anchors:
            evaluation.anchored = tuple(anchors)
            given = [*tensors, *anchors.values()]
        made: torch.Tensor = _Evaluate.apply(evaluation, *given)  # type: ignore[no-untyped-call]
    else:
        made = evaluation.run(tensors)
    record = _record.get()
    if record is not None:
        record.append((evaluation, tuple(tensors)))
    return made, evaluation.result


class _Evaluate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, evaluation: Evaluation, *tensors: torch.Tensor
    ) -> torch.Tensor:
        ctx.evaluation = evaluation
        ctx.save_for_backward(*tensors)
        made = evaluation.run(tensors[: len(evaluation.patterns)])
        if not (made.is_floating_point() or made.is_complex()):
            ctx.mark_non_differentiable(made)
        return made

    @staticmethod
    def backward(ctx: Any, *upstreams: torch.Tensor) -> tuple[Any, ...]:
        (upstream,) = upstreams
        evaluation: Evaluation = ctx.evaluation
        tensors = ctx.saved_tensors
        needed = ctx.needs_input_grad[1:]
        count = len(evaluation.patterns)
        grads = [
            gradient(
                evaluation,
                tensors,
                number if number < count else evaluation.anchored[number - count],
                upstream,
                number >= count,
            )
            if needs
            else None
            for number, needs in enumerate(needed)
        ]
        return None, *grads


def gradient(
    evaluation: Evaluation,
    tensors: Sequence[torch.Tensor],
    number: int,
    upstream: torch.Tensor,
    densely: bool,
) -> torch.Tensor | None:
    """Return the gradient of one operand.

    Of a sparse one it is that of its values, or that of every element.
    """
    pattern = None if densely else evaluation.patterns[number]
    shape = evaluation.shape(number, tensors)
    wrt = tensors[number]
    is_complex = any(tensor.is_complex() for tensor in (*tensors, upstream))
    derived = gradient_of(
        evaluation.expression, number, pattern is not None, is_complex
    )
    if derived is None:
        return wrt.new_zeros(shape) if densely else torch.zeros_like(wrt)
    given = [
        _source(source, evaluation, tensors, number, upstream)
        for source in derived.sources
    ]
    read = [tensor for tensor, _ in given]
    patterns = [pattern for _, pattern in given]
    format = named_format("dense", len(shape)) if pattern is None else pattern.format
    anchors = evaluation.anchors(derived.sources, tensors)
    made, found = evaluate(derived.expression, read, patterns, format, anchors)
    if pattern is not None:
        made = _on_pattern(made, found, pattern)
    return made if wrt.is_complex() or not made.is_complex() else made.real


def _source(
    source: Source,
    evaluation: Evaluation,
    tensors: Sequence[torch.Tensor],
    number: int,
    upstream: torch.Tensor,
) -> tuple[torch.Tensor, Pattern | None]:
    if isinstance(source, int):
        return tensors[source], evaluation.patterns[source]
    if isinstance(source, Selection):
        return _selected(source, evaluation, tensors)
    if isinstance(source, Ones):
        extent = evaluation.shape(number, tensors)[source.axis]
        return torch.ones(extent, dtype=torch.bool), None
    if source is Other.UPSTREAM:
        return upstream, evaluation.result
    pattern = evaluation.patterns[number]
    if pattern is None:
        raise InternalError("gradient: expected a sparse operand below a mask")
    return pattern.ones, pattern


def _selected(
    source: Selection, evaluation: Evaluation, tensors: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, Pattern]:
    """Return a selection as a sparse operand: ones where a window reads."""
    expression = evaluation.expression
    shaped = [
        tensor if pattern is None else pattern
        for tensor, pattern in zip(tensors, evaluation.patterns, strict=True)
    ]
    sizes = dict(zip(expression.sizes, expression.extents(shaped), strict=True))
    entries, shape = source.entries(sizes), source.shape(sizes)
    ones = np.ones(entries.shape[1], np.bool_)
    pattern = Pattern(from_coords(entries, ones, shape, default_format(len(shape))))
    return pattern.ones, pattern


def _on_pattern(
    values: torch.Tensor, found: Pattern | None, wanted: Pattern
) -> torch.Tensor:
    """Return a masked gradient with a value for every entry of its mask.

    Where the other factors are sparse too, entries that they lack are not stored; they
    are 0. Where both patterns are in order and make up no entries, equal sizes mean
    equal patterns; else both are compared as rows of entries.
    """
    if found is None or found is wanted:
        return values
    if not wanted.format.is_sorted or any(x.bounded for x in wanted.format.levels):
        return on_rows(values, found, wanted)
    if found.n_values == wanted.n_values:
        return values
    return _spread_to(values, found, wanted)


def on_rows(values: torch.Tensor, found: Pattern, wanted: Pattern) -> torch.Tensor:
    """Return values on a pattern that has all their entries, in whatever format."""
    rows = default_format(len(wanted.shape))
    found_rows, found_places = found.converted(rows)
    wanted_rows, wanted_places = wanted.converted(rows)
    if found_places is not None:
        values = values[torch.from_numpy(found_places)]
    if not found_rows.same_as(wanted_rows):
        values = _spread_to(values, found_rows, wanted_rows)
    if wanted_places is None:
        return values
    made = values.new_zeros(wanted.n_values)
    return made.index_put((torch.from_numpy(wanted_places),), values)


def _spread_to(values: torch.Tensor, found: Pattern, wanted: Pattern) -> torch.Tensor:
    """Return values on a pattern with all of their entries and more, which are 0."""
    spread = _spread(len(wanted.shape))
    zero = torch.zeros((), dtype=values.dtype)
    made, _ = evaluate(
        spread, [wanted.ones, values, zero], [wanted, found, None], wanted.format
    )
    return made


@lru_cache(maxsize=64)
def _spread(ndim: int) -> Expression:
    indices = ",".join(f"i{n}" for n in range(ndim))
    return assignment_expression(f"C[{indices}] = A[{indices}] * (B[{indices}] + z)")


def check_operand(name: str, tensor: torch.Tensor) -> None:
    """Raise unless kernels can read a tensor.

    Raises
    ------
    DeviceError
        If it is not on the CPU.
    DTypeError
        If no kernel is compiled for its dtype.
    """
    if not tensor.is_cpu:
        raise DeviceError(
            f"{name}: expected a tensor on the CPU, the only device that kernels are "
            f"compiled for, got one on {tensor.device} ({name}.cpu() copies it)"
        )
    if tensor.dtype not in DTYPES:
        works = ", ".join(sorted(str(dtype) for dtype in DTYPES))
        raise DTypeError(
            f"{name}: expected a dtype that kernels are compiled for ({works}), got "
            f"{tensor.dtype} ({name}.float() converts it)"
        )


def check_differentiable(values: torch.Tensor, requires_grad: bool) -> None:
    """Raise if a gradient is wanted of values that have none.

    Raises
    ------
    DTypeError
        If the values are integers or bools.
    """
    if requires_grad and not (values.is_floating_point() or values.is_complex()):
        works = ", ".join(
            sorted(str(d) for d in DTYPES if d.is_floating_point or d.is_complex)
        )
        raise DTypeError(
            f"requires_grad: expected a dtype that has gradients ({works}), got "
            f"{values.dtype}"
        )
