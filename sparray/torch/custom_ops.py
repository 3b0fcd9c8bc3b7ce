"""`sparray::evaluate`: an expression as an operator that torch's transforms know.

What is traced, batched or made of fake tensors cannot be read by a kernel. There one
operator stands for every evaluation: `torch.compile` and `torch.export` put it into
their graphs by its fake kernel and its gradient, `torch.func.vmap` by its rule.
Otherwise autograd's own function does, which a call costs less.
"""

import secrets
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from sparray.compiler.index_notation.nodes import Access, Assignment
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.index_notation.traversal import accesses, substitute
from sparray.errors import UnsupportedError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.torch.gradients import with_sources
from sparray.torch.pattern import Pattern

if TYPE_CHECKING:
    from sparray.torch.autograd import Evaluation

__all__ = ["evaluate_traced", "is_traced"]


_READABLE = (Tensor, torch.nn.Parameter)


def is_traced(tensors: Sequence[Tensor]) -> bool:
    """Tell whether tensors stand for others: fake, functional or batched ones."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return True
    # No generator: this is on the way of every warm call.
    for tensor in tensors:
        if type(tensor) not in _READABLE:
            return True
    return False


@dataclass(eq=False)
class Call:
    """All that an evaluation is but its tensors; a graph has its number.

    Attributes
    ----------
    expression, patterns, format
        As of an `Evaluation`.
    masks : frozenset of int
        Operands that are ones at each entry of their pattern: no tensors are given.
    number : int
        By which the operator finds it.
    """

    expression: Expression
    patterns: tuple[Pattern | None, ...]
    format: Format | None
    masks: frozenset[int]
    number: int
    results: dict[Any, Any] = field(default_factory=dict)

    def evaluation(self) -> "Evaluation":
        """Return the evaluation that this is of no tensors yet."""
        from sparray.torch.autograd import Evaluation  # which calls this

        return Evaluation(self.expression, self.patterns, self.format)

    def operands(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return every operand, masks among them."""
        given = iter(tensors)
        return [
            pattern.ones if n in self.masks and pattern is not None else next(given)
            for n, pattern in enumerate(self.patterns)
        ]

    def result(self, tensors: Sequence[Tensor]) -> "Result":
        """Return what is known of the result without the values of tensors.

        The pattern of a result depends on those of the operands alone. So it is
        computed once for tensors of these shapes, of zeros.
        """
        shapes = tuple(tuple(map(int, t.shape)) for t in tensors)
        dtypes = tuple(t.dtype for t in tensors)
        known: Result | None = self.results.get((shapes, dtypes))
        if known is None:
            known = self._result(shapes, dtypes)
            self.results[shapes, dtypes] = known
        return known

    def _result(self, shapes: Any, dtypes: Any) -> "Result":
        with _disable_current_modes(), torch._C._DisableFuncTorch():
            zeros = [
                torch.zeros((), dtype=dtype).expand(shape)
                if len(shape) > 1
                else torch.zeros(shape, dtype=dtype)
                for shape, dtype in zip(shapes, dtypes, strict=True)
            ]
            evaluation = self.evaluation()
            made = evaluation.run(self.operands(zeros))
        return Result(evaluation.result, made.shape, made.stride(), made.dtype)


@dataclass(frozen=True)
class Result:
    """What a fake kernel says, and the pattern of a sparse result."""

    pattern: Pattern | None
    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype


# The patterns of a call keep it; who has its number has a tensor of the pattern.
# Numbers are drawn: torch keeps graphs on disk, and another process must not take one
# with its own number for its own pattern.
_calls: "weakref.WeakValueDictionary[int, Call]" = weakref.WeakValueDictionary()
# As many as there are expressions.
_of_dense: dict[Any, Call] = {}


def _call(
    expression: Expression,
    patterns: tuple[Pattern | None, ...],
    format: Format | None,
    masks: frozenset[int],
) -> Call:
    def make() -> Call:
        made = Call(expression, patterns, format, masks, secrets.randbits(62))
        _calls[made.number] = made
        return made

    key = ("call", expression, patterns, format, masks)
    owner = next((pattern for pattern in patterns if pattern is not None), None)
    if owner is None:
        made = _of_dense.get(key) or _of_dense.setdefault(key, make())
    else:
        made = owner.kept(key, make)
    return made


def _known(number: int) -> Call:
    try:
        return _calls[number]
    except KeyError:
        raise UnsupportedError(
            f"sparray::evaluate: expected the number of an expression whose tensors "
            f"live in this process, got {number}; compile or export the model again"
        ) from None


@torch.library.custom_op("sparray::evaluate", mutates_args=())
def _evaluate(tensors: list[Tensor], number: int) -> Tensor:
    call = _known(number)
    made = call.evaluation().run(call.operands(tensors))
    # An operator's result is never one of its arguments.
    address = made.untyped_storage().data_ptr()
    if any(address == t.untyped_storage().data_ptr() for t in tensors):
        made = made.clone()
    return made


@_evaluate.register_fake
def _fake(tensors: list[Tensor], number: int) -> Tensor:
    made = _known(number).result(tensors)
    return tensors[0].new_empty_strided(made.shape, made.stride, dtype=made.dtype)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    tensors, ctx.number = inputs
    ctx.save_for_backward(*tensors)


def _gradients(
    call: Call, given: Sequence[Tensor], upstream: Tensor, needed: Sequence[bool]
) -> list[Tensor | None]:
    from sparray.torch.autograd import gradient  # which calls this

    evaluation = call.evaluation()
    evaluation.result = call.result(given).pattern
    operands = call.operands(given)
    numbers = [n for n in range(len(operands)) if n not in call.masks]
    return [
        gradient(evaluation, operands, n, upstream, False) if needs else None
        for n, needs in zip(numbers, needed, strict=True)
    ]


def _backward(ctx: Any, upstream: Tensor) -> tuple[Any, None]:
    needed = ctx.needs_input_grad[0]
    call = _known(ctx.number)
    return _gradients(call, ctx.saved_tensors, upstream, needed), None


_evaluate.register_autograd(_backward, setup_context=_setup_context)


class _Transformed(torch.autograd.Function):
    """The operator for `torch.func`, whose gradients ask for a function like this."""

    @staticmethod
    def forward(number: int, *tensors: Tensor) -> Tensor:
        made: Tensor = _evaluate(list(tensors), number)
        return made

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.number, *tensors = inputs
        ctx.save_for_backward(*tensors)
        if not (output.is_floating_point() or output.is_complex()):
            ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *upstreams: Tensor) -> tuple[Any, ...]:
        (upstream,) = upstreams
        needed = ctx.needs_input_grad[1:]
        call = _known(ctx.number)
        return None, *_gradients(call, ctx.saved_tensors, upstream, needed)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], number: int, *tensors: Tensor
    ) -> tuple[Tensor, int]:
        return _batched(info, in_dims[1:], tensors, number)


def _batched(
    info: Any, in_dims: Sequence[int | None], tensors: Sequence[Tensor], number: int
) -> tuple[Tensor, int]:
    """Compute the operator for each member of a batch, which comes out first.

    One expression with an index more computes all of them where only dense operands
    are batched and the result is dense; else one evaluation each.
    """
    from sparray.torch.autograd import evaluate  # which calls this

    call = _known(number)
    given = [
        t if dim is None else t.movedim(dim, 0)
        for t, dim in zip(tensors, in_dims, strict=True)
    ]
    numbers = [n for n in range(len(call.patterns)) if n not in call.masks]
    batched = [n for n, dim in zip(numbers, in_dims, strict=True) if dim is not None]
    one = [
        t if dim is None else t.new_empty(t.shape[1:])
        for t, dim in zip(given, in_dims, strict=True)
    ]
    result = call.result(one)
    dense = all(call.patterns[n] is None for n in batched)
    if dense and result.pattern is None:
        expression, order = with_batch(call.expression, frozenset(batched))
        operands = call.operands(given)
        made, _ = evaluate(
            expression,
            [operands[n] for n in order],
            [call.patterns[n] for n in order],
            named_format("dense", len(expression.assignment.target.indices)),
        )
        return made, 0
    members = [
        evaluate(
            call.expression,
            call.operands(
                [t if d is None else t[m] for t, d in zip(given, in_dims, strict=True)]
            ),
            call.patterns,
            call.format,
        )[0]
        for m in range(info.batch_size)
    ]
    if not members:
        return given[0].new_zeros((0, *result.shape), dtype=result.dtype), 0
    return torch.stack(members), 0


@lru_cache(maxsize=1024)
def with_batch(
    expression: Expression, numbers: frozenset[int]
) -> tuple[Expression, tuple[int, ...]]:
    """Return an expression whose result and some operands have a batch before them.

    Returns
    -------
    expression : Expression
        What computes all members of the batch.
    order : tuple of int
        Which operand of the given expression each of its operands is.
    """
    stated = with_sources(expression)
    known = dict(expression.operands)
    batch = {
        access: Access(access.tensor, (_BATCH, *access.indices))
        for access in accesses(stated.value)
        if known[access.tensor] in numbers
    }
    target = Access(stated.target.tensor, (_BATCH, *stated.target.indices))
    text = print_assignment(Assignment(target, substitute(stated.value, batch)))
    made = assignment_expression(text)
    return made, tuple(known[name] for name in made.tensors)


_BATCH = "batch"


@_evaluate.register_vmap
def _batched_operator(
    info: Any, in_dims: Any, tensors: list[Tensor], number: int
) -> tuple[Tensor, int]:
    return _batched(info, in_dims[0], tensors, number)


def evaluate_traced(
    expression: Expression,
    tensors: Sequence[Tensor],
    patterns: Sequence[Pattern | None],
    format: Format | None,
) -> tuple[Tensor, Pattern | None]:
    """Compute an expression by the operator; as `sparray.torch.autograd.evaluate`."""
    masks = frozenset(
        n
        for n, pattern in enumerate(patterns)
        if pattern is not None and tensors[n] is pattern.ones
    )
    call = _call(expression, tuple(patterns), format, masks)
    given = [tensor for n, tensor in enumerate(tensors) if n not in masks]
    if torch._C._functorch.peek_interpreter_stack() is None:
        made = _evaluate(given, call.number)
    else:
        made = _Transformed.apply(call.number, *given)  # type: ignore[no-untyped-call]
    return made, call.result(given).pattern
