"""The `parallelize` command: the outermost loop on several threads."""

from dataclasses import replace

from sparray.compiler.cin.nodes import Forall, Stmt, Tiles, Where
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Parallelize", "CHUNKS"]

CHUNKS = ("entries", "rows", "merge")
"""What chunks may have equal numbers of."""


@dataclass(frozen=True, slots=True)
class Parallelize:
    """Split the outermost loop over threads, in chunks of equal numbers of something.

    **Rewrite**: ``∀i s`` → ``∀i[parallel] s``, in chunks of equal stored entries where
    the loops walk the level below a located one; by rows, ``∀i s`` → ``∀i[parallel by
    rows] s``, in chunks of equal numbers of steps; by merge, ``∀i (out[i] = w where ∀j
    w += t)`` → ``∀i[parallel by merge] (...)``, in chunks of equal numbers of entries
    and steps together: entries of one ``i`` may be in several chunks, whose sums are
    added in the order of the chunks, the same one in every run with as many threads.
    Where `pack` has put copies before the loop, both run on threads, one after the
    other: ``tiles(j: sizes) ((∀i s) where (∀k ∀jt Bp[k,jt] = B[k,j]))`` → ``tiles(j:
    sizes) ((∀i[parallel] s) where (∀k[parallel] ∀jt Bp[k,jt] = B[k,j]))``.

    Attributes
    ----------
    index : str
        The outermost loop.
    by : {"entries", "rows", "merge"}
        What the chunks have equal numbers of.
    """

    index: str
    by: str = "entries"

    def __str__(self) -> str:
        by = "" if self.by == "entries" else f", {self.by}"
        return f"parallelize({self.index}{by})"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement with its outermost loop marked.

        Raises
        ------
        ScheduleError
            If the index is not that of the outermost loop.
        """
        if isinstance(statement, Forall) and statement.index == self.index:
            return replace(statement, parallel=True, chunks=self.by)
        if self.by != "merge":
            if isinstance(statement, Tiles) and _copies(statement.body):
                return replace(statement, body=self.apply(statement.body))
            if isinstance(statement, Where) and _copies(statement):
                consumer = self.apply(statement.consumer)
                producer = statement.producer
                if isinstance(producer, Forall) and not producer.vector:
                    producer = replace(producer, parallel=True)
                return replace(statement, consumer=consumer, producer=producer)
        raise ScheduleError(
            f"parallelize: expected {self.index} to be the outermost loop"
        )


def _copies(statement: Stmt) -> bool:
    """Tell whether a statement makes a panel before the loops that read it."""
    return isinstance(statement, Where) and statement.workspace.kind == "dense"
