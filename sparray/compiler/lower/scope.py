"""What lowering knows at one place of the loop nest; immutable, so branches differ."""

from collections.abc import Collection, Mapping
from dataclasses import field, replace

from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add
from sparray.records import dataclass

__all__ = ["Place", "Scope", "Tile"]


@dataclass(frozen=True, slots=True)
class Place:
    """How far an access has been followed into its levels.

    Attributes
    ----------
    depth : int
        Number of levels that are resolved.
    begin : ir.Expr
        The position in the last resolved level (0 before the first).
    end : ir.Expr or None
        End of the range of positions with the same coordinates, where a level is
        not unique; None stands for ``begin + 1``.
    slices : tuple of ir.Expr
        Where the slice that positions count in begins in each buffer below the levels
        that are sliced, ``values`` last; empty where no level is.
    """

    depth: int
    begin: ir.Expr
    end: ir.Expr | None = None
    slices: tuple[ir.Expr, ...] = ()

    @property
    def element(self) -> ir.Expr:
        """The place of the position in the buffer of values."""
        return add(self.slices[-1], self.begin) if self.slices else self.begin


@dataclass(frozen=True, slots=True)
class Tile:
    """One tile of an index: ``size`` values from ``start`` on."""

    index: str
    inner: str
    size: int
    start: ir.Expr


@dataclass(frozen=True, slots=True)
class Scope:
    """Coordinates of the bound indices, places of the accesses, the open tile.

    ``lanes`` is 1 in scalar code. A vector loop is lowered piece by piece: ``lanes`` is
    the width of one piece and ``piece`` its number in the tile. ``tests`` are accesses
    that have been located where they may hold nothing, each with whether they do.
    """

    coordinates: Mapping[str, ir.Expr] = field(default_factory=dict)
    places: Mapping[Access, Place] = field(default_factory=dict)
    tile: Tile | None = None
    lanes: int = 1
    piece: int = 0
    tests: tuple[tuple[Access, ir.Expr], ...] = ()

    def bind(self, index: str, coordinate: ir.Expr) -> "Scope":
        """Return the scope with one more bound index."""
        return replace(self, coordinates={**self.coordinates, index: coordinate})

    def place(self, access: Access, place: Place) -> "Scope":
        """Return the scope with an access followed further."""
        return replace(self, places={**self.places, access: place})

    def keep(self, accesses: Collection[Access]) -> "Scope":
        """Return the scope that follows no other accesses than these."""
        places = {a: place for a, place in self.places.items() if a in accesses}
        return replace(self, places=places)
