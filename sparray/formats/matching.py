"""Assign columns to patterns that hold them: a b-matching by augmenting paths.

The columns of a *chunk* each take one place of a *pattern* that holds all their
entries; a pattern has as many places as it has room. Columns with equal entries are
one *type*, so that a problem is a flow from few types to few patterns. All chunks are
solved side by side: what is a loop over chunks elsewhere is an axis here.

Source: Ford, Fulkerson 1956, "Maximal flow through a network" (augmenting paths, and
that there is none exactly where the flow is maximal); Hall 1935, "On representatives of
subsets" (what a set that cannot be matched looks like).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["UnmatchedError", "match_columns"]

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_MOST_ELEMENTS = 2**22
"""Of the flows that are held at once: chunks are taken in batches."""


class UnmatchedError(Exception):
    """Some columns have no place.

    Parameters
    ----------
    column : int
        One of them.
    patterns : int64[p]
        Those that hold it or a column that could make room for it; they are full.
    excess : int
        How many more columns than places these patterns have.
    """

    def __init__(self, column: int, patterns: Numbers, excess: int) -> None:
        super().__init__(column, patterns, excess)
        self.column, self.patterns, self.excess = column, patterns, excess


def match_columns(
    chunks: Numbers, entries: Mask, room: Numbers, patterns: Mask
) -> Numbers:
    """Return a pattern for each column, so that no pattern has more than its room.

    Parameters
    ----------
    chunks : int64[k]
        The chunk of each column, ascending.
    entries : bool[k, m]
        Where each column has entries.
    room : int64[n_chunks, p]
        Places of each pattern in each chunk; those that are taken are subtracted.
    patterns : bool[p, m]
        Where each pattern has places for entries.

    Raises
    ------
    UnmatchedError
        If there is no such assignment.

    Notes
    -----
    Exact: a column is left over only if no assignment has a place for it.
    """
    assigned = np.empty(len(chunks), dtype=np.int64)
    _, kinds = np.unique(np.packbits(entries, axis=1), axis=0, return_inverse=True)
    kinds = kinds.reshape(-1)
    starts = np.flatnonzero(np.diff(chunks, prepend=-1))
    ends = np.append(starts[1:], len(chunks))
    n_types = int(kinds.max(initial=0)) + 1
    step = max(1, _MOST_ELEMENTS // (n_types * len(patterns)))
    for first in range(0, len(starts), step):
        columns = slice(starts[first], ends[min(first + step, len(starts)) - 1])
        _, local = np.unique(chunks[columns], return_inverse=True)
        here = chunks[starts[first : first + step]]
        types, example, number = np.unique(
            kinds[columns], return_index=True, return_inverse=True
        )
        holds = ~(entries[columns][example] @ ~patterns.T)
        key = local * len(types) + number
        supply = np.bincount(key, minlength=len(here) * len(types))
        flow = _Flow(holds, supply.reshape(len(here), len(types)), room[here])
        try:
            flow.solve()
        except UnmatchedError as error:
            # Of a column of the batch's chunk and type, its number.
            wanted = error.column
            at = int(columns.start) + int(np.flatnonzero(key == wanted)[0])
            raise UnmatchedError(at, error.patterns, error.excess) from None
        room[here] = flow.room
        by_type = np.argsort(key, kind="stable")
        shares = flow.shares.reshape(-1)
        given = np.repeat(np.tile(np.arange(len(patterns)), supply.size), shares)
        assigned[int(columns.start) + by_type] = given
    return assigned


@dataclass(slots=True)
class _Flow:
    """Columns of each type on their way to patterns, chunk by chunk.

    Attributes
    ----------
    holds : bool[t, p]
        Whether a pattern holds the entries of a type.
    supply : int64[b, t]
        Columns that have no place yet.
    room : int64[b, p]
        Free places.
    shares : int64[b, t, p]
        Columns of a type with a place of a pattern.
    """

    holds: Mask
    supply: Numbers
    room: Numbers
    shares: Numbers

    def __init__(self, holds: Mask, supply: Numbers, room: Numbers) -> None:
        self.holds, self.supply, self.room = holds, supply, room
        self.shares = np.zeros((*supply.shape, room.shape[1]), dtype=np.int64)

    def solve(self) -> None:
        """Place every column."""
        # Those that fit the fewest patterns first: most chunks are done by that.
        for kind in np.argsort(self.holds.sum(axis=1), kind="stable"):
            free = self.room * self.holds[kind]
            before = np.cumsum(free, axis=1) - free
            taken = np.clip(self.supply[:, kind, np.newaxis] - before, 0, free)
            self.shares[:, kind] = taken
            self.room -= taken
            self.supply[:, kind] -= taken.sum(axis=1)
        while True:
            left = np.flatnonzero(self.supply.any(axis=1))
            if not len(left):
                return
            self._augment(left)

    def _augment(self, left: Numbers) -> None:
        """Place more columns in each of some chunks, moving others on the way."""
        from_type, from_pattern, target = self._search(left)
        batch = np.arange(len(left))
        amount = self.room[left, target]
        pattern = target
        path: list[tuple[Numbers, Numbers, Numbers]] = []
        while len(batch):
            kind = from_type[batch, pattern]
            path.append((batch, kind, pattern))
            at_source = self.supply[left[batch], kind] > 0
            source = batch[at_source]
            amount[source] = np.minimum(
                amount[source], self.supply[left[source], kind[at_source]]
            )
            batch, kind = batch[~at_source], kind[~at_source]
            pattern = from_pattern[batch, kind]
            amount[batch] = np.minimum(
                amount[batch], self.shares[left[batch], kind, pattern]
            )
        self.room[left, target] -= amount
        for number, (rows, kind, pattern) in enumerate(path):
            chunk = left[rows]
            self.shares[chunk, kind, pattern] += amount[rows]
            goes_on = self.supply[chunk, kind] == 0
            if number + 1 < len(path):
                rows_on, _, pattern_on = path[number + 1]
                self.shares[left[rows_on], kind[goes_on], pattern_on] -= amount[rows_on]
            self.supply[chunk[~goes_on], kind[~goes_on]] -= amount[rows[~goes_on]]

    def _search(self, left: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Find a shortest path to a free place in each chunk, breadth first.

        Returns
        -------
        from_type : int64[b, p]
            By which type a pattern was reached.
        from_pattern : int64[b, t]
            By which pattern a type was: some of its columns have places there.
        target : int64[b]
            The pattern with the free place.
        """
        supply, room, shares = self.supply[left], self.room[left], self.shares[left]
        reached = supply > 0
        frontier = reached.copy()
        seen = np.zeros(room.shape, dtype=bool)
        from_type = np.zeros(room.shape, dtype=np.int64)
        from_pattern = np.zeros(supply.shape, dtype=np.int64)
        target = np.full(len(left), -1)
        while frontier.any():
            new = (frontier @ self.holds) & ~seen
            rows, found = np.nonzero(new)
            by = frontier[rows] & self.holds.T[found]
            from_type[rows, found] = by.argmax(axis=1)
            seen |= new
            ends = new & (room > 0)
            done = ends.any(axis=1)
            target[done] = ends[done].argmax(axis=1)
            movable = (shares > 0) & (new & (target < 0)[:, np.newaxis])[:, np.newaxis]
            frontier = movable.any(axis=2) & ~reached
            rows, found = np.nonzero(frontier)
            from_pattern[rows, found] = movable[rows, found].argmax(axis=1)
            reached |= frontier
        if (target < 0).any():
            stuck = int(np.flatnonzero(target < 0)[0])
            kind = int(np.flatnonzero(supply[stuck])[0])
            raise UnmatchedError(
                int(left[stuck]) * supply.shape[1] + kind,
                np.flatnonzero(seen[stuck]),
                int(supply[stuck].sum()),
            )
        return from_type, from_pattern, target
