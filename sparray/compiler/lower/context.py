"""The parts of one function under construction that do not depend on the place."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from enum import Enum
from typing import ClassVar

from sparray.compiler import names
from sparray.compiler.absence import Absence
from sparray.compiler.cin.effective import reads
from sparray.compiler.cin.nodes import Forall, Stmt
from sparray.compiler.cin.traversal import written
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.levels import level_index
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import Builder, add, less, literal, sub
from sparray.compiler.loop_ir.dtypes import dtype_kind
from sparray.compiler.lower.lists import CollectedBuffers
from sparray.compiler.lower.scope import Place, Scope
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.schedule.assemble import Assembly
from sparray.formats.level import Level, LevelView
from sparray.records import dataclass

__all__ = [
    "zero_of",
    "Context",
    "Output",
    "Phase",
    "RowBuffers",
    "extent_of",
    "parameters",
    "slice_lengths",
]


class Phase(Enum):
    """Which entry point is built."""

    COUNT = "count"
    """Count the stored entries of a sparse result; no value is computed."""
    FILL = "fill"
    """Compute the result."""


@dataclass(frozen=True, slots=True)
class RowBuffers:
    """The memory of a row workspace: ``size`` values.

    ``begin`` is the position of its first value in the operand whose pattern it has;
    0 where it has one for each value of its index.
    """

    values: ir.Buffer
    size: ir.Expr
    begin: ir.Expr


@dataclass(slots=True)
class Output:
    """How the result is written; one subclass per way of assembly.

    Attributes
    ----------
    followed : Access
        The access whose places `bound` and `store` look at: the target's, or that of
        the operand whose pattern the result has.
    sparse : bool
        Whether an entry exists only where `store` is called.
    one_chunk : bool
        Whether each thread takes one chunk alone of a parallel loop.
    """

    followed: Access
    sparse: ClassVar[bool] = False
    one_chunk: ClassVar[bool] = False

    @property
    def follows(self) -> frozenset[Access]:
        """The followed access, as a set to join with what a statement reads."""
        return frozenset({self.followed})

    def begin(self, scope: Scope, ctx: "Context") -> Scope:
        """Emit what comes before the loops: nothing, unless a subclass says so."""
        return scope

    def end(self, ctx: "Context") -> None:
        """Emit what comes after the loops: nothing, unless a subclass says so."""

    def whole(self, scope: Scope, ctx: "Context") -> Iterator[Scope]:
        """Surround the loops where one task runs all of them.

        They are emitted for each scope that this yields.
        """
        yield scope

    def takes_any_order(self, index: str, ctx: "Context") -> bool:
        """Tell whether the coordinates of an index may come in any order, each once."""
        return False

    def bound(self, index: str, scope: Scope, ctx: "Context") -> Iterator[Scope]:
        """Surround the body of a loop in which an index has just been bound.

        The body is emitted for each scope that this yields.
        """
        yield scope

    def store(
        self,
        target: Access,
        value: Callable[[Scope], ir.Expr],
        op: str | None,
        scope: Scope,
        ctx: "Context",
    ) -> None:
        """Write the value at the scope's coordinates, or combine it by ``op``."""
        raise NotImplementedError

    def prefetch(self, scope: Scope, ctx: "Context") -> None:
        """Bring near what `store` will write: nothing, unless a subclass says so."""


@dataclass(slots=True)
class Context:
    """Builder, problem, phase and memory of one function.

    Attributes
    ----------
    vector_bytes : int
        Width of the target's vector registers.
    assembly : Assembly
        How the result comes into being.
    registers : dict
        The vector (or scalar) variables of each register workspace, per tile.
    scalars : dict
        Variable and presence flag of each scalar workspace.
    sums : dict
        Further variables of a workspace whose sums are kept side by side.
    lists : dict
        Memory of each workspace that lists its coordinates.
    panels : dict
        Memory of each dense workspace.
    tile_sizes : dict
        The largest size of each tile, by its inner index.
    pinned : dict
        The coordinate of each index whose loop runs as part of another one.
    clamped : dict
        The first and the last but one position, if not all, that a chunk may walk of an
        operand's second level.
    rows : dict
        Memory of each workspace that holds a row.
    absence : Absence
        What operands and workspaces are where they hold nothing; and the result, if
        that is a constant.
    chunk : ir.Expr
        Number of the chunk of the outermost loop that runs; 0 if it is not divided.
    instead : callable, optional
        What is asked first about each loop; True if it has emitted what stands for it.
    """

    problem: Problem
    phase: Phase
    vector_bytes: int
    builder: Builder
    output: "Output"
    assembly: Assembly
    absence: Absence
    registers: dict[str, tuple[ir.Var, ...]] = field(default_factory=dict)
    scalars: dict[str, tuple[ir.Var | None, ir.Var | None]] = field(
        default_factory=dict
    )
    sums: dict[str, tuple[tuple[ir.Var, ...], ...]] = field(default_factory=dict)
    lists: dict[str, CollectedBuffers] = field(default_factory=dict)
    panels: dict[str, ir.Buffer] = field(default_factory=dict)
    tile_sizes: dict[str, int] = field(default_factory=dict)
    pinned: dict[str, ir.Expr] = field(default_factory=dict)
    clamped: dict[Access, tuple[ir.Expr, ir.Expr | None]] = field(default_factory=dict)
    rows: dict[str, RowBuffers] = field(default_factory=dict)
    chunk: ir.Expr = field(default_factory=lambda: literal(0))
    instead: Callable[[Forall, Scope], bool] | None = None

    @contextmanager
    def asked_first(self, instead: Callable[[Forall, Scope], bool]) -> Iterator[None]:
        """Let something be asked first about each loop that is lowered meanwhile."""
        outer, self.instead = self.instead, instead
        try:
            yield
        finally:
            self.instead = outer

    @property
    def counting(self) -> bool:
        """True while the function only counts."""
        return self.phase is Phase.COUNT

    def spec(self, tensor: str) -> TensorSpec:
        """Return a tensor's spec."""
        return self.problem.specs[tensor]

    def level(self, tensor: str, depth: int) -> Level:
        """Return the level that follows ``depth`` resolved ones."""
        return self.spec(tensor).format.levels[depth]

    def values(self, tensor: str) -> ir.Buffer:
        """Return a tensor's values buffer."""
        if tensor in self.rows:
            return self.rows[tensor].values
        spec = self.spec(tensor)
        return ir.Buffer(names.values(tensor), spec.dtype, tensor == names.OUTPUT)

    def element(self, access: Access, place: Place) -> ir.Expr:
        """Return where the value of an access at a place is in its values buffer."""
        row = self.rows.get(access.tensor)
        if row is None or row.begin == literal(0):
            return place.element
        return sub(place.element, row.begin)

    def followed_by(self, statement: Stmt) -> frozenset[Access]:
        """Return the accesses whose places a statement needs to know."""
        found = reads(statement)
        if not self.rows:
            return found | self.output.follows
        targets = {assignment.target for assignment in written(statement)}
        if any(target.tensor == names.OUTPUT for target in targets):
            found |= self.output.follows
        return found | {target for target in targets if target.tensor in self.rows}

    def view(
        self, access: Access, depth: int, slices: Sequence[ir.Expr] = ()
    ) -> LevelView:
        """Return what a level's functions need to see of an access's level.

        ``slices`` are those of the place at which the access is.
        """
        level = self.level(access.tensor, depth)
        spec = self.spec(access.tensor)
        writable = access.tensor == names.OUTPUT
        owner = spec.pattern or access.tensor
        buffers = {
            role: level_buffer(owner, spec, depth, role, writable=writable)
            for role in level.roles
        }
        extent = extent_of(level_index(spec, access, depth))
        above = spec.format.levels[spec.format.batch_ndim : depth]
        first = sum(len(other.roles) for other in above)
        begins = dict(zip(level.roles, slices[first:-1], strict=False))
        return LevelView(extent, buffers, self.builder.fresh, begins=begins)


def extent_of(index: str) -> ir.Expr:
    """Return the number of values of an index, or of a part of one."""
    part = names.derived(index)
    if part is None:
        return ir.Var(names.extent(index))
    if isinstance(part, names.Diagonal):
        row, column = (ir.Var(names.extent(i)) for i in (part.row, part.column))
        rows, columns = less(literal(0), row), less(literal(0), column)
        some = ir.Binary("and", rows, columns, "bool")
        return ir.Select(some, sub(add(row, column), literal(1)), literal(0))
    if part.is_remainder:
        return literal(part.size)
    rounded = add(ir.Var(names.extent(part.base)), literal(part.size - 1))
    return ir.Binary("floordiv", rounded, literal(part.size), "int64")


def level_buffer(
    tensor: str, spec: TensorSpec, depth: int, role: str, *, writable: bool
) -> ir.Buffer:
    """Return one buffer of a level."""
    dtype = spec.format.levels[depth].buffer_dtype(role, spec.index_dtype)
    return ir.Buffer(names.level_buffer(tensor, depth, role), dtype.name, writable)


def parameters(
    tensor: str, spec: TensorSpec, *, writable: bool = False
) -> Sequence[ir.Buffer | ir.Var]:
    """Return what a kernel takes of a tensor, in its order.

    That is the length of a slice's part of each buffer, if there are slices, the
    buffers of each level, and the values.
    """
    buffers = [
        level_buffer(tensor, spec, depth, role, writable=writable)
        for depth, level in enumerate(spec.format.levels)
        for role in level.roles
    ]
    buffers.append(ir.Buffer(names.values(tensor), spec.dtype, writable))
    lengths = [ir.Var(name) for name in slice_lengths(tensor, spec)]
    return [*lengths, *buffers]


def slice_lengths(tensor: str, spec: TensorSpec) -> list[str]:
    """Return the parameters that hold the lengths of a slice's parts of buffers."""
    n = spec.format.batch_ndim
    if n == 0:
        return []
    buffers = [
        names.level_buffer(tensor, depth, role)
        for depth, level in enumerate(spec.format.levels)
        for role in level.roles
        if depth >= n
    ]
    return [names.slice_length(b) for b in (*buffers, names.values(tensor))]


def zero_of(dtype: str) -> bool | int | float:
    """Return the zero of a dtype as a Python number."""
    return _ZERO[dtype_kind(dtype)]


_ZERO = {"b": False, "i": 0, "u": 0, "f": 0.0, "c": 0.0}
