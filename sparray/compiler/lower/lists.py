"""Memory of workspaces that list the coordinates which they hold.

Two kinds have what this module states: `ListBuffers` here, `TableBuffers` beside it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import Builder, literal
from sparray.records import dataclass

__all__ = ["CollectedBuffers", "ListBuffers"]


class CollectedBuffers(Protocol):
    """Sums by coordinate, with the list of the coordinates that were met.

    Between two uses it holds nothing. ``values`` is None while nothing is computed.
    """

    @property
    def values(self) -> ir.Buffer | None:
        """The sums."""

    @property
    def coordinates(self) -> ir.Buffer:
        """The coordinates that were met, ``count`` of them."""

    @property
    def count(self) -> ir.Var:
        """How many coordinates were met."""

    def if_held(self, coordinate: ir.Expr, b: Builder) -> AbstractContextManager[None]:
        """Surround what is done at a coordinate, where it may not hold every one."""

    def update(
        self,
        coordinate: ir.Expr,
        value: ir.Var | None,
        combined: Callable[[ir.Expr], ir.Expr],
        b: Builder,
    ) -> None:
        """Emit an update: the first value of a coordinate as it is, others combined.

        ``combined`` gives what is stored in place of an old value.
        """

    def element(self, coordinate: ir.Expr, b: Builder) -> ir.Expr:
        """Return where in ``values`` the sum of a coordinate is that was met."""

    def sort(self, b: Builder) -> None:
        """Emit the sorting of the list."""

    def clear(self, b: Builder) -> None:
        """Emit what makes it hold nothing, in as many steps as it held coordinates."""

    def release(self, b: Builder) -> None:
        """Emit the release of its memory."""


@dataclass(frozen=True, slots=True)
class ListBuffers:
    """A value and a mark for each coordinate that there is, and the list.

    ``wanted``, if given, is true at the coordinates that the list may hold.
    """

    values: ir.Buffer | None
    marks: ir.Buffer
    coordinates: ir.Buffer
    count: ir.Var
    wanted: ir.Buffer | None = None

    @classmethod
    def allocated(
        cls, name: str, dtype: str | None, size: ir.Expr, among: bool, b: Builder
    ) -> "ListBuffers":
        """Emit the allocation of a workspace's memory, with clear marks.

        ``among`` says that it holds some coordinates only.
        """
        return cls(
            None if dtype is None else b.allocate(f"{name}_values", dtype, size),
            b.allocate(f"{name}_marks", "bool", size, zeroed=True),
            b.allocate(f"{name}_list", "int64", size),
            b.declare(f"{name}_count", literal(0)),
            b.allocate(f"{name}_wanted", "bool", size, zeroed=True) if among else None,
        )

    def if_held(self, coordinate: ir.Expr, b: Builder) -> AbstractContextManager[None]:
        """Surround what is done at a coordinate: it may be one not wanted."""
        if self.wanted is None:
            return nullcontext()
        return b.branch(ir.Load(self.wanted, coordinate))

    def update(
        self,
        coordinate: ir.Expr,
        value: ir.Var | None,
        combined: Callable[[ir.Expr], ir.Expr],
        b: Builder,
    ) -> None:
        """Emit an update at a coordinate, which joins the list the first time."""
        mark = ir.Load(self.marks, coordinate)
        with b.branch(ir.Unary("not", mark, "bool")):
            b.store(self.marks, coordinate, literal(True))
            b.store(self.coordinates, self.count, coordinate)
            b.increment(self.count)
            if self.values is not None and value is not None:
                b.store(self.values, coordinate, value)
        if self.values is not None and value is not None:
            with b.otherwise():
                old = ir.Load(self.values, coordinate)
                b.store(self.values, coordinate, combined(old))

    def element(self, coordinate: ir.Expr, b: Builder) -> ir.Expr:
        """Return the place of a coordinate's sum: the coordinate itself."""
        return coordinate

    def sort(self, b: Builder) -> None:
        """Emit the sorting of the list, of whose elements there are marks."""
        b.emit(ir.Sort(self.coordinates, self.count, self.marks))

    def clear(self, b: Builder) -> None:
        """Emit the clearing of the marks of all coordinates that are listed."""
        with b.loop("q", literal(0), self.count) as q:
            b.store(self.marks, ir.Load(self.coordinates, q), literal(False))

    def release(self, b: Builder) -> None:
        """Emit the release of its memory."""
        if self.values is not None:
            b.free(self.values)
        b.free(self.marks)
        b.free(self.coordinates)
        if self.wanted is not None:
            b.free(self.wanted)
