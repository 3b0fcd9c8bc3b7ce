"""What the scheduler knows of the operands' sizes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from sparray.compiler import names
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.index_notation.simplify import accesses, free_indices
from sparray.compiler.problem import Problem, TensorSpec
from sparray.formats.format import Format
from sparray.records import dataclass

__all__ = ["Statistics", "assumed_sizes", "assumed_statistics", "bucket"]

_ASSUMED_EXTENT = 4096
_ASSUMED_FIBRE = 16


Pair = tuple[str, frozenset[str]]
"""An index, and two operands that have it."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sizes that decisions are taken from.

    Attributes
    ----------
    extents : mapping of str to int
        Number of values of each index.
    positions : mapping of str to sequence of int
        For each operand the number of positions of each of its levels.
    workspace_bytes : int
        What each thread's workspaces may take of memory.
    overlaps : mapping of (str, frozenset of str) to float
        By an index and two operands: the pairs of their entries that have the same
        value of it, in units of what there would be if entries were spread evenly.
        1 where it is not given.
    repeats : mapping of (str, frozenset of str) to float
        By an index and two operands: how many products of their entries that agree at
        it have the same other coordinates, in the mean. 1 where it is not given.
    parallel : bool
        Whether kernels may run on more than one thread.
    known : bool
        Whether these are sizes of operands, and not assumed ones.
    distinct : mapping of str to int
        Of operands that repeat coordinates, about how many of them differ; where it is
        known.
    merging : str
        How repeated coordinates are to meet: ``"sort"``, ``"hash"``, or what the
        estimates prefer.
    aligned : frozenset of str
        Dense operands each of whose rows begins where a cache line does.
    """

    extents: Mapping[str, int]
    positions: Mapping[str, Sequence[int]]
    workspace_bytes: int = 2**63
    overlaps: Mapping[Pair, float] = field(default_factory=dict)
    repeats: Mapping[Pair, float] = field(default_factory=dict)
    parallel: bool = True
    known: bool = True
    distinct: Mapping[str, int] = field(default_factory=dict)
    merging: str = ""
    aligned: frozenset[str] = frozenset()

    def extent(self, index: str) -> float:
        """Return the number of values of an index, or of a part of one."""
        part = names.derived(index)
        if part is None:
            return float(self.extents[index])
        if isinstance(part, names.Diagonal):
            return float(self.extents[part.row] + self.extents[part.column])
        if part.is_remainder:
            return float(part.size)
        return float(-(-self.extents[part.base] // part.size))

    def fibre(self, access: Access, depth: int) -> float:
        """Return the mean number of positions below one position of the parent."""
        counts = self.positions[access.tensor]
        parents = counts[depth - 1] if depth else 1
        return counts[depth] / max(1, parents)

    def positions_in(
        self, format: Format, indices: Sequence[str], entries: float
    ) -> list[int]:
        """Return about how many positions each level has of an array in a format.

        Parameters
        ----------
        format : Format
            One level for each dimension.
        indices : sequence of str
            Of the array's dimensions.
        entries : float
            How many it stores.
        """
        counts, parents = [], 1
        for level, dimension in zip(format.levels, format.order, strict=True):
            if not level.unique:
                parents = int(entries)
            elif not level.branchless:
                parents *= int(self.extent(indices[dimension]))
                if not level.full:
                    parents = min(parents, int(entries))
            counts.append(max(1, parents))
        return counts

    def renamed(self, names: Mapping[str, str]) -> "Statistics":
        """Return the statistics of some operands, by other names."""

        def of_pairs(known: Mapping[Pair, float]) -> dict[Pair, float]:
            return {
                (index, frozenset(names[one] for one in both)): number
                for (index, both), number in known.items()
                if both <= names.keys()
            }

        return replace(
            self,
            positions={new: self.positions[old] for old, new in names.items()},
            overlaps=of_pairs(self.overlaps),
            repeats=of_pairs(self.repeats),
            distinct={
                n: self.distinct[o] for o, n in names.items() if o in self.distinct
            },
            aligned=frozenset(n for o, n in names.items() if o in self.aligned),
        )

    def respecified(
        self, accesses: Sequence[Access], specs: Mapping[str, TensorSpec]
    ) -> "Statistics":
        """Return the statistics with operands in other formats.

        Parameters
        ----------
        accesses : sequence of Access
            Of the problem.
        specs : mapping of str to TensorSpec
            By operand: what it is converted to.
        """
        positions = {
            access.tensor: self.positions_in(
                specs[access.tensor].format,
                access.indices,
                self.positions[access.tensor][-1],
            )
            for access in accesses
            if access.tensor in specs
        }
        return replace(self, positions={**self.positions, **positions})


def bucket(size: int) -> int:
    """Return a size rounded to a power of two, so that kernels are reused."""
    return 0 if size <= 0 else 1 << round(math.log2(size))


def assumed_statistics(
    problem: Problem, sizes: tuple[int, int] | None = None
) -> Statistics:
    """Return sizes to decide by where no operand is at hand.

    Parameters
    ----------
    problem : Problem
        What is computed.
    sizes : (int, int), optional
        The extent of each index, and the length of a fibre, of operands for which this
        is; by default they are not known.
    """
    extent, fibre = sizes or (_ASSUMED_EXTENT, _ASSUMED_FIBRE)
    found = [problem.assignment.target, *accesses(problem.assignment.value)]
    extents = {
        index: extent
        for access in found
        for index in (*access.indices, *free_indices(access))
    }
    positions = {
        access.tensor: _assumed_positions(problem.specs[access.tensor], extent, fibre)
        for access in found
    }
    return Statistics(extents, positions, known=sizes is not None)


def assumed_sizes(spec: TensorSpec) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape and the positions that are assumed of an operand."""
    shape = (_ASSUMED_EXTENT,) * spec.format.ndim
    return shape, tuple(_assumed_positions(spec, _ASSUMED_EXTENT, _ASSUMED_FIBRE))


def _assumed_positions(spec: TensorSpec, extent: int, fibre: int) -> list[int]:
    counts: list[int] = []
    parents = 1
    for level in spec.format.levels:
        if level.full:
            parents *= extent
        elif not level.branchless:
            # An outermost sparse level has a large share of its coordinates.
            parents *= fibre if counts else extent // 2
        counts.append(parents)
    return counts
