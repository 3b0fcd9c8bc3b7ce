"""Parts of an expression as arrays of their own, where too many operands meet.

Operands that meet in a union make a case for each set of them that can be present: 7 of
three, 63 of six. Each case is code, with a branch that is foreseen less often the more
there are. So a chain of sums is computed a few terms at a time, from the left, which
changes no rounding.
"""

from collections.abc import Iterator

from sparray.compiler import names
from sparray.compiler.cin.concretize import merged_value, split_reductions
from sparray.compiler.index_notation.nodes import Access, Assignment, Expr, Reduce
from sparray.compiler.index_notation.simplify import accesses, free_indices
from sparray.compiler.index_notation.traversal import children, marks
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.draft import used_operands
from sparray.compiler.scheduler.output_format import infer_format
from sparray.compiler.scheduler.walks import walked_at, walking

__all__ = ["wide_part"]

_MOST_POINTS = 8
"""Cases of one merge: those of three operands in a union.

Two kernels in place of one for four CSR matrices of 300×300, 0.05 of them stored, take
as long (429 and 433 µs, in turns, on two threads), for five 0.79 and three for six 0.66
of it; compiling five in DCSR takes 1.1 s instead of 5.7.
"""
_MOST_ENUMERATED = 5
"""Operands of which every subset is looked at."""


def wide_part(problem: Problem) -> Expr | None:
    """Return what to compute first; None if nowhere too many operands meet.

    It is the largest operand of the innermost operator at which too many meet.
    """
    value = problem.assignment.value
    found = _wide(value, problem) if _may_be_wide(_operands(value)) else None
    if found is None:
        return None
    parts = [part for part in _parts(found) if _operands(part) > 1]
    fit = [part for part in parts if _is_array(part, problem)]
    return max(fit, key=_operands, default=None)


def _wide(expr: Expr, problem: Problem) -> Expr | None:
    """Return the innermost part at which too many operands meet, the first one."""
    for child in children(expr):
        inner = _wide(child, problem)
        if inner is not None:
            return inner
    if isinstance(expr, Access) or not _meet(expr, problem):
        return None
    return expr


def _meet(expr: Expr, problem: Problem) -> bool:
    """Tell whether too many operands meet in a loop over an expression."""
    value = merged_value(*split_reductions(expr))
    read = list(dict.fromkeys(accesses(value)))
    for index in dict.fromkeys(i for access in read for i in access.indices):
        walked = len(walking(value, index, problem))
        if walked > _MOST_ENUMERATED:
            return True
        if _may_be_wide(walked):
            _, points = walked_at(value, index, problem)
            if len(points) > _MOST_POINTS:
                return True
    return False


def _may_be_wide(operands: int) -> bool:
    """Tell whether some operands have enough subsets for too many cases."""
    return 1 << operands > _MOST_POINTS


def _parts(expr: Expr) -> Iterator[Expr]:
    """Yield the operands of an expression; of a reduction those of what it reduces."""
    for child in children(expr):
        if isinstance(child, Reduce):
            yield from _parts(child)
        yield child


def _operands(expr: Expr) -> int:
    return len(set(accesses(expr)))


def _is_array(expr: Expr, problem: Problem) -> bool:
    """Tell whether a part can be an array: it has one value where nothing is stored.

    Or nothing is left out, as a dense operand is added. A number cannot say that it is
    a sum of nothing, which a sparse result leaves out.
    """
    indices = free_indices(expr)
    if not indices:
        whole = problem.assignment.value
        return problem.output.format.is_dense and not marks(whole)
    if problem.absence.constant(expr) is not None:
        return True
    used = used_operands(problem.operands, expr)
    return infer_format(Assignment(Access(names.OUTPUT, indices), expr), used).is_full
