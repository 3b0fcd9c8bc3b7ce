"""Many dimensions: indices that occur together are computed as one.

A kernel has a loop for each index, and the C compiler's time grows with the cube of the
number of nested loops that merge operands. Indices that occur in the same sparse
operands, all of them, need one loop only: over the *places*, the different coordinates
along these indices that some operand stores, in order. So ``C[i,j,k] = A[i,j,k] +
B[i,j,k]`` becomes ``C[i] = A[i] + B[i]``, which is compiled like any expression.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.absence import Absence
from sparray.compiler.cin.concretize import merged_value, split_reductions
from sparray.compiler.index_notation.nodes import Access, Assignment, Expr, Reduce
from sparray.compiler.index_notation.simplify import accesses, is_zero
from sparray.compiler.index_notation.traversal import (
    children,
    replace_children,
    walk,
)
from sparray.compiler.loop_ir.operators import operator
from sparray.compiler.problem import TensorSpec, absence_of
from sparray.evaluation.expression import Expression
from sparray.evaluation.stored import Operand, Stored
from sparray.formats.coordinates import (
    combine_duplicates,
    equal_neighbours,
    sort_order,
)
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.formats.packing import pack_coordinates, unpack_coordinates
from sparray.records import dataclass

__all__ = ["Joining", "join_indices"]

_MOST_MERGED = 8
"""Indices along which sparse operands meet up to which a kernel has a loop for each: it
takes 6 s of gcc to add coordinate lists of 8 dimensions, and 40 s for 20."""
_MOST_LOOPS = 32
"""Loops of one kernel."""

Table = npt.NDArray[np.int64]
Groups = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Joining:
    """An expression with one index in place of each group of them.

    Attributes
    ----------
    expression : Expression
        What is computed; it has an operand of its own for each access.
    reads : tuple of Access
        The access of the original expression that each operand stands for.
    target : tuple of str
        The indices of the original result.
    groups : dict of str to tuple of str
        Each index that stands for others, with those.
    """

    expression: Expression
    reads: tuple[Access, ...]
    target: tuple[str, ...]
    groups: Groups

    @property
    def changes_target(self) -> bool:
        """Whether the result has one of the groups."""
        return any(index in self.groups for index in self.target)

    def operands(
        self, given: Mapping[str, Operand]
    ) -> tuple[list[Operand], dict[str, Table]]:
        """Return what the expression is computed of.

        Returns
        -------
        operands : list of Operand
            Those with a group have the number of a place as their coordinate.
        places : dict of str to int64[n_indices, n_places]
            Coordinates of each group's places.
        """
        sparse = {
            access: _entries(given[access.tensor])
            for access in self.reads
            if self._is_fused(access)
        }
        places: dict[str, Table] = {}
        numbers: dict[tuple[Access, str], Table] = {}
        for index, members in self.groups.items():
            tables = {
                access: coords[[access.indices.index(i) for i in members]]
                for access, (coords, _) in sparse.items()
                if index in access.indices
            }
            places[index], found = _number(list(tables.values()))
            numbers.update(zip(((a, index) for a in tables), found, strict=True))
        made: list[Operand] = []
        for access in self.reads:
            operand = given[access.tensor]
            if access not in sparse:
                made.append(operand)
                continue
            coords, values = sparse[access]
            kept = _fused_indices(access.indices, self.groups)
            shape, rows = [], []
            for index in kept:
                at = access.indices.index(index)
                is_group = index in self.groups
                rows.append(numbers[access, index] if is_group else coords[at])
                shape.append(places[index].shape[1] if is_group else operand.shape[at])
            format = named_format("csf", len(kept))
            levels, packed = pack_coordinates(
                format, tuple(shape), np.array(rows), values
            )
            made.append(Stored(format, tuple(shape), levels, packed))
        return made, places

    def result(
        self,
        made: Stored,
        places: Mapping[str, Table],
        format: Format,
        shape: tuple[int, ...],
    ) -> Stored:
        """Return the result with coordinates in place of the numbers of places."""
        found, values = unpack_coordinates(
            made.format, made.shape, made._levels, made.values
        )
        kept = _fused_indices(self.target, self.groups)
        coords = np.empty((len(self.target), len(values)), dtype=np.int64)
        for row, index in zip(found, kept, strict=True):
            members = self.groups.get(index, (index,))
            table = places[index][:, row] if index in self.groups else row[np.newaxis]
            coords[[self.target.index(member) for member in members]] = table
        levels, packed = pack_coordinates(format, shape, coords, values)
        return Stored(format, shape, levels, packed)

    def _is_fused(self, access: Access) -> bool:
        return any(index in self.groups for index in access.indices)


def join_indices(
    expression: Expression, specs: Mapping[str, TensorSpec], *, at_once: bool = False
) -> Joining | None:
    """Return an expression of fewer indices, where there are too many to compile.

    Parameters
    ----------
    expression : Expression
        What to compute.
    specs : mapping of str to TensorSpec
        Of each of its operands.
    at_once : bool
        Whether to number places however few the indices are, along a single one too.

    Returns
    -------
    Joining or None
        None where a kernel has a loop for each index, or no two of them can be one.
    """
    value = expression.assignment.value
    found = tuple(dict.fromkeys(accesses(value)))
    sparse = [a for a in found if not specs[a.tensor].format.is_dense]
    merged = [i for i in expression.indices if sum(i in a.indices for a in sparse) > 1]
    few = len(merged) <= _MOST_MERGED and len(expression.indices) <= _MOST_LOOPS
    zero = all(spec.fill.is_zero for spec in specs.values())
    if (few and not at_once) or not zero or expression.missing != "zero":
        return None
    if expression.mask is not None:
        # Places of a mask are not where anything is computed.
        return None
    absence = absence_of(tuple(specs.items()))
    groups = _groups(expression, found, sparse, absence, 1 if at_once else 2)
    if not groups:
        return None
    target = expression.assignment.target
    fused = Assignment(
        Access(target.tensor, _fused_indices(target.indices, groups)),
        _fused(value, groups),
    )
    tensors = tuple(access.tensor for access in found)
    operands = tuple((name, number) for number, name in enumerate(tensors))
    made = Expression(expression.text, fused, tensors, operands)
    return Joining(made, found, target.indices, groups)


def _groups(
    expression: Expression,
    found: Sequence[Access],
    sparse: Sequence[Access],
    absence: Absence,
    least: int,
) -> Groups:
    """Return the indices that occur in the same places, at least so many together."""
    assignment = expression.assignment
    reduces = [n for n in walk(assignment.value) if isinstance(n, Reduce)]
    places: dict[tuple[object, ...], list[str]] = {}
    for index in expression.indices:
        inside = tuple(a for a in found if index in a.indices)
        bound = tuple(n for n, node in enumerate(reduces) if index in node.indices)
        key = (inside, bound, index in assignment.target.indices)
        if not all(a in sparse and a.indices.count(index) == 1 for a in inside):
            continue
        terms = [assignment.value, *(reduces[n] for n in bound)]
        if all(_is_nothing(term, inside, absence) for term in terms):
            places.setdefault(key, []).append(index)
    return {same[0]: tuple(same) for same in places.values() if len(same) >= least}


def _is_nothing(expr: Expr, inside: Sequence[Access], absence: Absence) -> bool:
    """Tell whether there is nothing to compute where no operand has an entry."""
    if isinstance(expr, Reduce):
        if operator(expr.op).identity != 0 or operator(expr.op).definition is not None:
            return False
        expr = expr.operand
    value, reductions = split_reductions(expr)
    return is_zero(absence.without(merged_value(value, reductions), inside))


def _fused(expr: Expr, groups: Groups) -> Expr:
    if isinstance(expr, Access):
        return Access(expr.tensor, _fused_indices(expr.indices, groups))
    below = tuple(_fused(child, groups) for child in children(expr))
    made = replace_children(expr, below)
    if isinstance(made, Reduce):
        return replace(made, indices=_fused_indices(made.indices, groups))
    return made


def _fused_indices(indices: Sequence[str], groups: Groups) -> tuple[str, ...]:
    """Return indices without those that another one stands for."""
    gone = {index for group in groups.values() for index in group[1:]}
    return tuple(index for index in indices if index not in gone)


def _entries(operand: Operand) -> tuple[Table, npt.NDArray[Any]]:
    """Return an operand's entries, repeated coordinates added up."""
    coords, values = unpack_coordinates(
        operand.format, operand.shape, operand._levels, operand.values
    )
    if operand.format.unique:
        return coords, values
    return combine_duplicates(coords, values, range(len(coords)))


def _number(tables: Sequence[Table]) -> tuple[Table, list[Table]]:
    """Return the different columns of tables in order, and where each column is."""
    joined = np.concatenate(tables, axis=1)
    order = sort_order(list(joined))
    if order is None:
        order = np.arange(joined.shape[1])
    ordered = joined[:, order]
    first = ~equal_neighbours(list(ordered), len(order))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(first) - 1
    ends = np.cumsum([table.shape[1] for table in tables])[:-1]
    return ordered[:, first], np.split(numbers, ends)
