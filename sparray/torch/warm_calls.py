"""Evaluations of tensors that were seen before: one look-up, and the kernel.

A product of one sparse operand and dense ones makes a dense result by one kernel. What
leads to it (arrays that share the tensors' memory, the keys of these, the plan, where
extents come from) depends on dtypes, shapes, strides and alignment alone. It is kept
with the pattern, and for tiny operands it is most of the time of a call.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from sparray.convert.torch_memory import as_strided_tensor
from sparray.dispatch import Given, direct_call, plans_forgotten
from sparray.evaluation.direct_call import DirectCall
from sparray.evaluation.expression import Expression
from sparray.evaluation.stored import stored_operand
from sparray.formats.format import Format
from sparray.sparse_array import SparseArray
from sparray.torch.pattern import Pattern

__all__ = ["key_of", "remember", "run_warm"]

_MOST_KEPT = 64
"""Calls kept with a pattern: batches of many sizes are of one each."""
_LINE = 64
"""Bytes of a cache line, by which kernels tell operands apart."""
_STRIDED = torch.strided


@dataclass(frozen=True, slots=True)
class WarmCall:
    """What an evaluation comes down to.

    Attributes
    ----------
    direct : DirectCall or None
        The kernel; None if the evaluation is not one.
    turned : tuple of bool
        Which tensors are copied so that their first dimension is contiguous.
    sparse : int
        Which tensor has the values of the pattern.
    forgotten : int
        How often plans had been forgotten when it was made.
    """

    direct: DirectCall | None
    turned: tuple[bool, ...]
    sparse: int
    forgotten: int


def key_of(
    expression: Expression,
    patterns: Sequence[Pattern | None],
    format: Format | None,
    tensors: Sequence[torch.Tensor],
) -> tuple[Pattern, Hashable] | None:
    """Return the only pattern, and what a call depends on besides it.

    None if there is not one pattern alone, or a tensor has no memory of its own: it is
    not strided, or stands for its negative or conjugate.
    """
    only: Pattern | None = None
    # Not its road: expressions of one road may read other windows.
    parts: list[Hashable] = [expression, format]
    for tensor, pattern in zip(tensors, patterns, strict=True):
        if pattern is not None:
            if only is not None:
                return None
            only = pattern
        if tensor.layout is not _STRIDED or tensor.is_neg() or tensor.is_conj():
            return None
        place = tensor.data_ptr() % _LINE
        parts += (pattern is None, tensor.dtype, tensor.shape, tensor.stride(), place)
    return None if only is None else (only, tuple(parts))


def run_warm(
    pattern: Pattern, key: Hashable, tensors: Sequence[torch.Tensor]
) -> torch.Tensor | None:
    """Compute what was computed before; None if it was not, or not by one kernel."""
    call = pattern.warm.get(key)
    if call is None or call.direct is None or call.forgotten != plans_forgotten():
        return None
    if True in call.turned:
        tensors = [
            tensor.detach().t().contiguous() if turned else tensor
            for tensor, turned in zip(tensors, call.turned, strict=True)
        ]
    addresses: list[tuple[int, ...]] = [(tensor.data_ptr(),) for tensor in tensors]
    addresses[call.sparse] = (*pattern.addresses, *addresses[call.sparse])
    made = call.direct.run(addresses)
    return None if made is None else as_strided_tensor(made)


def remember(
    pattern: Pattern,
    key: Hashable,
    tensors: Sequence[torch.Tensor],
    expression: Expression,
    operands: Sequence[Given],
    result: Format | None,
) -> None:
    """Keep what an evaluation that was just made came down to.

    Parameters
    ----------
    pattern, key
        As `key_of` gives them.
    tensors : sequence of torch.Tensor
        What was given.
    expression, operands, result
        What was computed with it, as `evaluate_expression` took it.
    """
    known = pattern.warm.get(key)
    if known is not None and known.forgotten == plans_forgotten():
        return
    direct = direct_call(expression, operands, result)
    turned = []
    sparse = -1
    for number, (tensor, operand) in enumerate(zip(tensors, operands, strict=True)):
        is_array = isinstance(operand, np.ndarray)
        given = stored_operand(operand)
        expected: tuple[int, ...] = (tensor.data_ptr(),)
        if isinstance(operand, SparseArray):
            sparse, expected = number, (*pattern.addresses, *expected)
        # Another address is a copy's: made again by each call, if it is known how.
        is_same = given._addresses == expected
        turned.append(not is_same)
        if not is_same and (is_array or sparse == number):
            direct = None
    if len(pattern.warm) >= _MOST_KEPT:
        pattern.warm.clear()
    pattern.warm[key] = WarmCall(direct, tuple(turned), sparse, plans_forgotten())
