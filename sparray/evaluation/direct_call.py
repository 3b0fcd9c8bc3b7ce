"""A kernel that is called with addresses alone, where its result is dense.

What is made of arrays before a kernel is called (operands, their keys, the plan that
they have) is the same whenever extents, dtypes and order in memory are. Who knows that
they are calls the kernel by this.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.address import address
from sparray._kernels.memory import empty, zeros
from sparray._kernels.runtime import num_threads
from sparray.compiler import names
from sparray.compiler.schedule.assemble import Assembly
from sparray.evaluation.stored import natural_order

if TYPE_CHECKING:
    from sparray.evaluation.execution import Runner

__all__ = ["DirectCall", "direct_call_of"]


@dataclass(frozen=True, slots=True)
class DirectCall:
    """A kernel, and all that it is given but addresses.

    Attributes
    ----------
    function : callable
        Takes addresses of the operands' buffers and of the result, extents, and the
        number of threads.
    operands : tuple of int
        Which given operand each of the kernel's operands is.
    extents : tuple of int
        Of each index in the kernel's order.
    size : int
        Elements of the result.
    dtype : dtype
        Of the result.
    zeroed : bool
        Whether the kernel adds to a result that is zero.
    shape : tuple of int
        Of the result as it lies in memory, outermost dimension first.
    axes : tuple of int or None
        Which of these each dimension of the result is; None if they are in order.
    """

    function: Callable[..., int]
    operands: tuple[int, ...]
    extents: tuple[int, ...]
    size: int
    dtype: np.dtype[Any]
    zeroed: bool
    shape: tuple[int, ...]
    axes: tuple[int, ...] | None

    def run(self, addresses: Sequence[Sequence[int]]) -> npt.NDArray[Any] | None:
        """Return the result; None if the kernel's workspace does not fit in memory.

        Parameters
        ----------
        addresses : sequence of sequence of int
            Of the buffers of each given operand, which the caller keeps alive.
        """
        make = zeros if self.zeroed else empty
        values = make(self.size, self.dtype)
        given: list[int] = []
        for number in self.operands:
            given += addresses[number]
        status = self.function(*given, address(values), *self.extents, num_threads())
        if status:
            return None
        if len(self.shape) != 1:
            values = values.reshape(self.shape)
        return values if self.axes is None else values.transpose(self.axes)


def direct_call_of(
    runner: "Runner", operands: tuple[int, ...], extents: Sequence[int]
) -> DirectCall | None:
    """Return a runner's kernel as one that is called with addresses alone.

    None if it was not compiled, or makes something else than one dense array with a
    fill value that is known.

    Parameters
    ----------
    runner : Runner
        Of the kernel.
    operands : tuple of int
        Which given operand each of the kernel's operands is.
    extents : sequence of int
        Of each index in the kernel's order.
    """
    if runner.way is not Assembly.INSERT or runner.kernel is None:
        return None
    if runner.zeroed and runner.filler.known != 0:
        return None
    order = runner.output.format.order
    shape = [extents[slot] for slot in runner.slots]
    in_memory = tuple([shape[dimension] for dimension in order])
    in_order = order == natural_order(len(order))
    return DirectCall(
        runner.kernel.functions[names.FILL],
        operands,
        tuple(extents),
        math.prod(in_memory),
        runner.dtype,
        runner.zeroed,
        in_memory,
        None if in_order else tuple(int(axis) for axis in np.argsort(order)),
    )
