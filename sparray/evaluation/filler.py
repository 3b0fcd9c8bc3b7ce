"""The fill value of a kernel's result, when the kernel runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparray.compiler.index_notation.nodes import Access, Expr
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.compiler.problem import Problem
from sparray.evaluation.stored import Operand

__all__ = ["Filler"]


class Filler:
    """Gives the fill value of a problem's result; made once per kernel and process.

    Parameters
    ----------
    problem : Problem
        What the kernel computes.
    """

    def __init__(self, problem: Problem) -> None:
        names = [name for name, _ in problem.operands]
        value = problem.assignment.value
        self._known: Any = problem.output.fill.value
        self._dtype = numpy_dtype(problem.output.dtype)
        self._copied: int | None = None
        self._constant: Expr | None = None
        self._scalars: tuple[tuple[str, int], ...] = ()
        if isinstance(value, Access) and value.tensor not in problem.absence.scalars:
            self._copied = names.index(value.tensor)
        elif not problem.has_known_fill and problem.constant is not None:
            self._constant = problem.constant
            self._scalars = tuple(
                (name, number)
                for number, name in enumerate(names)
                if name in problem.absence.scalars
            )

    @property
    def known(self) -> Any:
        """The value, if it is the same for all operands; else None."""
        depends = self._copied is not None or self._constant is not None
        return None if depends else self._known

    def fill(self, operands: Sequence[Operand]) -> Any:
        """Return the value for operands in the problem's order."""
        if self._copied is not None:
            return operands[self._copied].fill_value
        if self._constant is None:
            return self._known
        # Imported for constants of scalars: the first call is to be quick.
        from sparray.compiler.index_notation.interpreter import Evaluator

        arrays = {
            name: operands[number].values.reshape(()) for name, number in self._scalars
        }
        value = Evaluator(arrays, {}).evaluate(self._constant).value
        return np.asarray(value).astype(self._dtype)[()]
