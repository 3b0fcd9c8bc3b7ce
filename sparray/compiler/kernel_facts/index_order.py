"""The indices whose extents a kernel takes."""

from sparray.compiler import names
from sparray.compiler.index_notation.affine import is_affine
from sparray.compiler.index_notation.nodes import Access, Reduce
from sparray.compiler.index_notation.traversal import free_indices, walk
from sparray.compiler.problem import Problem

__all__ = ["index_order"]


def index_order(problem: Problem) -> tuple[str, ...]:
    """Return the indices in the order in which kernels receive their extents.

    After them stands each affine coordinate, for the extent of its dimension, and its
    first coordinate.
    """
    assignment = problem.assignment
    found = dict.fromkeys(assignment.target.indices)
    windows: list[str] = []
    for value in problem.values:
        for node in walk(value):
            if isinstance(node, Reduce):
                found.update(dict.fromkeys(node.indices))
            elif isinstance(node, Access):
                found.update(dict.fromkeys(free_indices(node)))
                windows += filter(is_affine, node.indices)
    for window in windows:
        found.update(dict.fromkeys((window, names.first(window))))
    return tuple(found)
