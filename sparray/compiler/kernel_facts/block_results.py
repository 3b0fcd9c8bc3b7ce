"""Whether a kernel clears the blocks of its result itself."""

from sparray.compiler.index_notation.nodes import Literal
from sparray.compiler.problem import Problem

__all__ = ["clears_blocks"]


def clears_blocks(problem: Problem) -> bool:
    """Tell whether a kernel that lists blocks writes their padding, which is zero.

    It does so just before it fills them, while they are in a cache. Any other fill
    value is the caller's to write.
    """
    constant = problem.constant
    return isinstance(constant, Literal) and bool(constant.value == 0)
