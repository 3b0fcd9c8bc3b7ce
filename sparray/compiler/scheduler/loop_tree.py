"""What each loop of a schedule does: how often it runs, what it computes and moves.

An estimate by the statistics that the schedule was decided by. Bytes are those that a
loop's loads and stores take, whatever of them a cache may hold: of the coordinates that
it walks, and of the values that change with it. What stays the same in a loop is loaded
outside, and scalars and tiles stay in registers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import prod

import numpy as np

from sparray.compiler import names
from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.effective import effective_value
from sparray.compiler.cin.nodes import (
    Assign,
    Forall,
    Stmt,
    Tiles,
    Where,
    Workspace,
)
from sparray.compiler.cin.nodes import Sequence as Statements
from sparray.compiler.index_notation.nodes import Access, Apply, Expr, Literal
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.index_notation.traversal import substitute, walk
from sparray.compiler.kernel_facts.workspaces import (
    LISTED,
    LISTED_BYTES,
    largest_tiles,
    workspaces,
)
from sparray.compiler.levels import is_walked, level_index, n_levels, walked_index
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.collecting import table_bytes
from sparray.compiler.scheduler.cost_model import loop_length
from sparray.compiler.scheduler.decision import Decision
from sparray.compiler.scheduler.walks import walked_at
from sparray.errors import InternalError
from sparray.records import dataclass

__all__ = ["Loop", "WorkspaceSize", "loop_tree", "workspace_sizes"]

_APPENDS = frozenset({Assembly.APPEND, Assembly.SCATTER})
_IN_REGISTERS = frozenset({"scalar", "registers"})
_LOOKED_AT = {"list": 1, "hashed": 8}
"""Bytes beside a value that tell whether there is one: a mark, or a coordinate."""


@dataclass(slots=True)
class Loop:
    """One loop, or the whole nest.

    Attributes
    ----------
    head : str
        ``"for i"`` and how the loop runs; ``"all"`` for the whole nest.
    visits : str
        Which values of its index it visits, by which operands.
    why : str
        What holds it in its place.
    iterations : float
        How often its body runs in all.
    flops, n_bytes : float
        What its body computes and moves in all, the loops inside included.
    inside : list of Loop
        The loops in its body.
    """

    head: str
    visits: str
    why: str
    iterations: float
    flops: float = 0.0
    n_bytes: float = 0.0
    inside: "list[Loop]" = field(default_factory=list)

    def walk(self, depth: int = 0) -> "Iterator[tuple[int, Loop]]":
        """Yield each loop with its depth, this one first."""
        yield depth, self
        for loop in self.inside:
            yield from loop.walk(depth + 1)


@dataclass(frozen=True, slots=True)
class WorkspaceSize:
    """A workspace and the memory that it takes, for each thread."""

    workspace: Workspace
    n_bytes: int


@dataclass(frozen=True, slots=True)
class _Place:
    """A loop around a statement: its node, the index that it runs over, its tree."""

    node: Forall | Tiles | None
    index: str
    loop: Loop


def loop_tree(decision: Decision) -> Loop:
    """Return what each loop of a decision's schedule does, below one for all of it."""
    root = Loop("all", "", "", 1.0)
    _Estimator(decision).visit(decision.statement, (_Place(None, "", root),))
    return root


def workspace_sizes(
    decision: Decision, extents: Mapping[str, int]
) -> tuple[WorkspaceSize, ...]:
    """Return each workspace of a schedule and its size.

    Parameters
    ----------
    decision : Decision
        The schedule.
    extents : mapping of str to int
        Of each index of the problem.
    """
    sizes = dict(largest_tiles(decision.statement)) | dict(extents)
    return tuple(
        WorkspaceSize(place.workspace, _n_bytes(place.workspace, sizes, decision))
        for place in workspaces(decision.statement)
    )


def _n_bytes(workspace: Workspace, sizes: Mapping[str, int], decision: Decision) -> int:
    each = np.dtype(workspace.dtype).itemsize
    if workspace.kind == "hashed":
        (index,) = workspace.indices
        return table_bytes(_per_use(decision), _length(index, sizes), each)
    if workspace.kind == "pattern":
        spec = decision.problem.specs[workspace.name]
        access = Access(workspace.name, workspace.indices)
        return each * sizes[level_index(spec, access, n_levels(spec) - 1)]
    if workspace.kind == "list":
        each += LISTED_BYTES + bool(workspace.among)
    return each * prod(_length(index, sizes) for index in workspace.indices)


def _per_use(decision: Decision) -> float:
    """Return how many values a workspace inside the loops of the result gets, about."""
    kept, uses, values = decision.problem.assignment.target.indices, 1.0, 1.0
    before = True
    for loop in decision.loops:
        before = before and names.whole(loop.index) in kept
        uses = loop.iterations if before else uses
        values = loop.iterations
    return values / max(1.0, uses)


def _length(index: str, sizes: Mapping[str, int]) -> int:
    """Return the number of values of an index, or of a block's part of one."""
    part = names.derived(index)
    if not isinstance(part, names.Block):
        return sizes[index]
    return part.size if part.is_remainder else -(-sizes[part.base] // part.size)


class _Estimator:
    """Walks a decision's CIN and adds up what each loop does."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.problem = decision.problem
        self.statistics = decision.statistics
        self.specs = decision.problem.specs
        self.order = [loop.index for loop in decision.loops]
        # One with a pattern is walked as an operand is.
        self.kinds = {
            place.workspace.name: place.workspace
            for place in workspaces(decision.statement)
            if place.workspace.kind != "pattern"
        }
        # How many values a workspace gets before it is read.
        self.filled: dict[str, float] = {}

    def visit(self, statement: Stmt, around: tuple[_Place, ...]) -> None:
        """Add what a statement does to the loops around it."""
        if isinstance(statement, Forall | Tiles):
            self._loop(statement, around)
        elif isinstance(statement, Where):
            outer = around[-1].loop
            before = len(outer.inside)
            self.visit(statement.producer, around)
            made = [_innermost(loop) for loop in outer.inside[before:]]
            filled = max(made, default=outer.iterations)
            self.filled[statement.workspace.name] = filled / max(1, outer.iterations)
            self.visit(statement.consumer, around)
        elif isinstance(statement, Statements):
            for part in statement.statements:
                self.visit(part, around)
        elif isinstance(statement, Assign):
            self._assign(statement, around)
        else:
            raise InternalError(f"expected a CIN statement, got {statement!r}")

    def _loop(self, node: Forall | Tiles, around: tuple[_Place, ...]) -> None:
        head = _head(node)
        if isinstance(node, Forall) and node.fused:
            # Its steps are those of two loops, which tell more than their product.
            inner = foralls(node.fused, node.body)
            node = replace(node, fused=(), body=inner)
        outer = around[-1].loop
        value = effective_value(node.body)
        tiles = _tiles_around(node.index, around)
        index = node.index if tiles is None else tiles.index
        if tiles is not None:
            length = self._tile_length(tiles)
            visits, why = "one tile", "its sums stay in vector registers"
        else:
            length, visits = self._visited(value, index)
            why = self._why(value, index)
        if isinstance(node, Tiles):
            length /= max(1.0, self._tile_length(node))
            visits = f"tiles of {', '.join(map(str, node.sizes))}"
        loop = Loop(head, visits, why, outer.iterations * length)
        outer.inside.append(loop)
        if tiles is None:
            self._walk_levels(value, index, outer, loop)
        self.visit(node.body, (*around, _Place(node, index, loop)))
        outer.flops += loop.flops
        outer.n_bytes += loop.n_bytes

    def _tile_length(self, tiles: Tiles) -> float:
        extent = int(self.statistics.extent(tiles.index))
        left, count = extent, 0
        for size in tiles.sizes:
            count += left // size
            left %= size
        return extent / max(1, count)

    def _visited(self, value: Expr, index: str) -> tuple[float, str]:
        """Return how many values of an index a loop visits, and which."""
        extent = self.statistics.extent(index)
        held = [a for a in accesses(value) if a.tensor in self.kinds]
        for access in held:
            name = access.tensor
            if self.kinds[name].kind in LISTED and index in access.indices:
                return min(extent, self.filled[name]), f"the list of {name}, sorted"
        one: Expr = Literal(1)
        value = substitute(value, dict.fromkeys(held, one))
        walked, points = walked_at(value, index, self.problem)
        length = loop_length(value, index, self.order, self.problem, self.statistics)
        return length, _visits(walked, points)

    def _why(self, value: Expr, index: str) -> str:
        """Return what the place of a loop depends on."""
        parts = []
        found = [a for a in accesses(value) if a.tensor not in self.kinds]
        for access in found:
            spec = self.specs[access.tensor]
            for depth in range(n_levels(spec)):
                if walked_index(spec, access, depth) != index:
                    continue
                if is_walked(spec, access, depth):
                    above = level_index(spec, access, depth - 1) if depth else None
                    place = "outermost" if above is None else f"below {_shown(above)}"
                    parts.append(f"{access.tensor} stores {_shown(index)} {place}")
        if not parts:
            with_index = [a.tensor for a in found if index in a.indices]
        if not parts and with_index:
            verb = "finds" if len(with_index) == 1 else "find"
            parts = [f"{' and '.join(with_index)} {verb} any {_shown(index)}"]
        return "; ".join(dict.fromkeys(parts))

    def _walk_levels(self, value: Expr, index: str, outer: Loop, loop: Loop) -> None:
        """Count the bounds and coordinates that a loop loads."""
        for access in accesses(value):
            if access.tensor in self.kinds:
                continue
            spec = self.specs[access.tensor]
            width = np.dtype(spec.index_dtype).itemsize
            for depth, level in enumerate(spec.format.levels):
                if walked_index(spec, access, depth) != index:
                    continue
                if is_walked(spec, access, depth):
                    loop.n_bytes += width * loop.iterations * ("crd" in level.roles)
                    outer.n_bytes += width * outer.iterations * ("pos" in level.roles)

    def _assign(self, statement: Assign, around: tuple[_Place, ...]) -> None:
        target, inner = statement.target, around[-1].loop
        applied = sum(isinstance(node, Apply) for node in walk(statement.value))
        inner.flops += (applied + (statement.op is not None)) * inner.iterations
        for access in dict.fromkeys(accesses(statement.value)):
            self._move(access, around, 1)
        self._move(target, around, 1 if statement.op is None else 2)
        if self.decision.assemble.way in _APPENDS and target.tensor == names.OUTPUT:
            width = np.dtype(self.problem.output.index_dtype).itemsize
            levels = self.problem.output.format.levels
            inner.n_bytes += (
                width * inner.iterations * sum("crd" in x.roles for x in levels[-1:])
            )

    def _move(self, access: Access, around: tuple[_Place, ...], times: int) -> None:
        """Count a value where it changes: in the innermost loop that it depends on."""
        workspace = self.kinds.get(access.tensor)
        if workspace is None:
            each = np.dtype(self.specs[access.tensor].dtype).itemsize
        elif workspace.kind in _IN_REGISTERS:
            return
        else:
            each = np.dtype(workspace.dtype).itemsize
            each += _LOOKED_AT.get(workspace.kind, 0)
        place = next(
            (p for p in reversed(around) if _depends(access, p.index)), around[0]
        )
        place.loop.n_bytes += times * each * place.loop.iterations


def _tiles_around(index: str, around: tuple[_Place, ...]) -> Tiles | None:
    """Return the tiles of which a loop runs over one."""
    for place in around:
        if isinstance(place.node, Tiles) and place.node.inner == index:
            return place.node
    return None


def _depends(access: Access, index: str) -> bool:
    part = names.derived(index)
    if isinstance(part, names.Diagonal):
        return part.column in access.indices
    return names.whole(index) in access.indices or index in access.indices


def _innermost(loop: Loop) -> float:
    return max(inner.iterations for _, inner in loop.walk())


def _head(node: Forall | Tiles) -> str:
    notes = []
    if node.parallel:
        notes.append("parallel")
    if isinstance(node, Forall):
        inner = ", ".join(map(_shown, node.fused))
        notes += [f"one loop with {inner}"] * bool(node.fused)
        notes += [f"positions of {node.pos}"] * bool(node.pos)
        notes += [f"blocks of {node.block}"] * bool(node.block)
        notes += ["vector"] * node.vector
        notes += [f"prefetch {node.prefetch}"] * bool(node.prefetch)
        notes += [f"unroll {node.unroll}"] * (node.unroll > 1)
    kind = "tiles of" if isinstance(node, Tiles) else "for"
    return f"{kind} {_shown(node.index)}" + (f" [{', '.join(notes)}]" if notes else "")


def _visits(walked: Sequence[Access], points: tuple[frozenset[Access], ...]) -> str:
    """Return which values of an index a loop visits, by what it walks."""
    if not walked:
        return "every value"
    found = [access.tensor for access in walked]
    if frozenset() in points:
        return f"every value, with the entries of {', '.join(found)}"
    if len(walked) == 1:
        return f"the entries of {found[0]}"
    if points == (frozenset(walked),):
        return f"where {' and '.join(found)} meet"
    return f"where {' or '.join(found)} has entries"


def _shown(index: str) -> str:
    """Return an index as formats write it: ``j // 4``, ``j - i``."""
    part = names.derived(index)
    if isinstance(part, names.Diagonal):
        return f"{part.column} - {part.row}"
    if isinstance(part, names.Block):
        return f"{part.base} {'%' if part.is_remainder else '//'} {part.size}"
    return index
