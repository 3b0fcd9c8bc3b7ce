"""What cannot be scheduled, refused by name before anything is planned on it."""

from sparray.compiler.index_notation.nodes import Expr
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.walks import walking
from sparray.errors import UnsupportedError

__all__ = ["check_merges"]

_MOST_MERGED = 32
"""Nested loops that merge operands: gcc's time grows with the cube of their number."""


def check_merges(problem: Problem, value: Expr) -> None:
    """Refuse more nested merges than a compiler takes."""
    indices = dict.fromkeys(i for access in accesses(value) for i in access.indices)
    merged = [i for i in indices if len(walking(value, i, problem)) > 1]
    if len(merged) > _MOST_MERGED:
        raise UnsupportedError(
            f"expected at most {_MOST_MERGED} indices along which sparse operands "
            f"meet, got {len(merged)} in {print_assignment(problem.assignment)}"
        )
