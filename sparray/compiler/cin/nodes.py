"""Nodes of concrete index notation (CIN): loops in an order, with workspaces.

The whole grammar::

    Stmt ::= Forall(index) Stmt | Tiles(index) Stmt | Where(Stmt, Stmt)
           | Sequence(Stmt ...) | Assign(Access, op, Expr)

Expressions are those of index notation without `Reduce`: a reduction is an
`Assign` with an operator. Source: Kjolstad et al. 2019, "Tensor algebra
compilation with workspaces", section IV (forall, where, sequence); `Tiles` is ours.
"""

from sparray.compiler.absence import Fill
from sparray.compiler.index_notation.nodes import Access, Apply, Expr, Literal
from sparray.records import dataclass

__all__ = [
    "Access",
    "Apply",
    "Assign",
    "Expr",
    "Forall",
    "Literal",
    "Sequence",
    "Stmt",
    "Tiles",
    "Where",
    "Workspace",
]


class Stmt:
    """Base of statements."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    """``target = value``, or ``target = op(target, value)``."""

    target: Access
    value: Expr
    op: str | None = None


@dataclass(frozen=True, slots=True)
class Forall(Stmt):
    """The body for every value of an index.

    ``parallel`` splits the loop over threads, in ``chunks`` of equal numbers of stored
    ``"entries"``, of ``"rows"``, or of both together, ``"merge"``;
    ``vector`` asks for vector instructions; ``prefetch`` is how many positions ahead
    of a walked operand the rows that others have there are brought near (0: none);
    ``unroll`` is how many sums are kept side by side; ``fused`` are further indices
    whose loops run with this one's, each inside the one before, as a single loop.
    ``pos`` is the operand whose positions that loop runs over, if any, in blocks of
    ``block`` if that is not 0.
    """

    index: str
    body: Stmt
    parallel: bool = False
    vector: bool = False
    prefetch: int = 0
    unroll: int = 1
    chunks: str = "entries"
    fused: tuple[str, ...] = ()
    pos: str = ""
    block: int = 0


@dataclass(frozen=True, slots=True)
class Tiles(Stmt):
    """The range of an index cut into consecutive tiles.

    Each tile has the first of ``sizes`` (descending, ending in 1) that still fits.
    In the body ``inner`` runs over one tile, and ``index`` is the tile's start
    plus ``inner``.
    """

    index: str
    inner: str
    sizes: tuple[int, ...]
    body: Stmt
    parallel: bool = False


@dataclass(frozen=True, slots=True)
class Workspace:
    """A temporary: its name, indices, dtype and how it is kept.

    ``kind`` is ``"scalar"`` (a local variable), ``"registers"`` (one tile, in vector
    registers), ``"dense"`` (an array over its indices, copied into), ``"list"`` (an
    array with the list of the coordinates that were written, iterated in order),
    ``"hashed"`` (a table of the coordinates that were written, iterated in order),
    ``"row"`` (an array over its indices, like an operand with these), or ``"pattern"``
    (a value for each entry of an operand's row: it has the operand's indices, of which
    the outermost is bound).

    A ``"list"`` may hold such coordinates alone as an operand stores in the same row:
    those ``among`` its entries. Whatever reads the list has work nowhere else.

    ``fill`` is what a workspace is where nothing is assigned to it; by default 0, or
    the identity of the operator that reduces into it.
    """

    name: str
    indices: tuple[str, ...]
    kind: str
    dtype: str
    fill: Fill | None = None
    among: str = ""


@dataclass(frozen=True, slots=True)
class Where(Stmt):
    """Run the producer, which fills the workspace, then the consumer."""

    consumer: Stmt
    producer: Stmt
    workspace: Workspace


@dataclass(frozen=True, slots=True)
class Sequence(Stmt):
    """Statements in order, each adding to what the ones before left."""

    statements: tuple[Stmt, ...]
