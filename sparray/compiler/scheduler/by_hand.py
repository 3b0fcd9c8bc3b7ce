"""Follow a schedule that a user wrote: check it, and complete what it leaves open.

A schedule says which loops run in which order, and every optional command. What a
kernel cannot be without, the scheduler adds: loops over the parts that formats store,
an order where none is given, what holds sums, the way of assembly.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import NoReturn, cast

from sparray.compiler import names
from sparray.compiler.cin.nodes import Stmt
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.cin.verify import verify
from sparray.compiler.hand_schedule import Schedule, WrittenCommand
from sparray.compiler.index_notation.dtypes import result_dtype, settle_literals
from sparray.compiler.index_notation.simplify import accesses, simplify_typed
from sparray.compiler.index_notation.traversal import contains_reduce
from sparray.compiler.levels import is_walked, n_levels, walked_index
from sparray.compiler.loop_ir.dtypes import computed_dtype
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.accumulate import Accumulate
from sparray.compiler.schedule.assemble import Assemble, Assembly
from sparray.compiler.schedule.collect import Collect
from sparray.compiler.schedule.fuse import Fuse
from sparray.compiler.schedule.pack import Pack
from sparray.compiler.schedule.parallelize import Parallelize
from sparray.compiler.schedule.pos import Pos
from sparray.compiler.schedule.precompute import Precompute
from sparray.compiler.schedule.prefetch import Prefetch
from sparray.compiler.schedule.reorder import Reorder
from sparray.compiler.schedule.split import Split
from sparray.compiler.schedule.split_positions import SplitPositions
from sparray.compiler.schedule.tile import Tile
from sparray.compiler.schedule.unroll import Unroll
from sparray.compiler.schedule.vectorize import Vectorize
from sparray.compiler.scheduler.candidates import (
    Candidate,
    best_candidate,
    candidate_in,
)
from sparray.compiler.scheduler.cost_model import estimate_loops
from sparray.compiler.scheduler.decision import (
    Command,
    Decision,
    Reason,
    needs_zero,
    start,
    wide_problem,
)
from sparray.compiler.scheduler.hand_checks import HandChecks
from sparray.compiler.scheduler.knobs import Knobs
from sparray.compiler.scheduler.limits import check_merges
from sparray.compiler.scheduler.loop_order import constraints
from sparray.compiler.scheduler.nested import inner_reduction
from sparray.compiler.scheduler.reasons import why_collected
from sparray.compiler.scheduler.shape import (
    Shape,
    late_indices,
    shape_of,
    stored_order,
)
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.tiling import tile_sizes
from sparray.compiler.scheduler.user_names import UserNames
from sparray.compiler.scheduler.workspace_kinds import usual_workspace, workspace_kinds
from sparray.errors import ExpressionError, InternalError, ScheduleError
from sparray.records import dataclass

__all__ = ["ByHand"]

_LOOPS = ("split", "reorder")
_WORKSPACES = ("accumulate", "tile", "collect")
_COPIES = ("pack", "precompute")
_MOST_SUMS = 64


@dataclass(frozen=True, slots=True)
class ByHand:
    """A schedule that a user wrote for an expression.

    Attributes
    ----------
    schedule : Schedule
        The commands.
    names : UserNames
        What the expression calls its indices and tensors.
    """

    schedule: Schedule
    names: UserNames

    def decide(
        self, problem: Problem, statistics: Statistics, vector_bytes: int
    ) -> Decision:
        """Return the decision that follows the schedule.

        A result of 16-bit floats that is added up in place is one of float32, as in
        `decide_widely`.

        Raises
        ------
        ScheduleError
            If a command does not apply, would change the result, or makes loops that
            the formats do not allow. The message has the expression, the statement
            that was reached and the command at fault.
        """
        decision = _Making(self, problem, statistics, vector_bytes).decide()
        wide = wide_problem(decision)
        if wide is None:
            return decision
        return _Making(self, wide, statistics, vector_bytes).decide()


@dataclass(slots=True)
class _Making:
    """A decision in the making.

    ``order`` has every loop, outermost first; ``fault`` is the command that is applied,
    or was applied last.
    """

    hand: ByHand
    problem: Problem
    statistics: Statistics
    vector_bytes: int
    fault: WrittenCommand | None = None
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    stages: list[Stmt] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)

    @property
    def shape(self) -> Shape:
        return shape_of(self.problem, self.parts)

    def decide(self) -> Decision:
        self.stages = [start(self.problem)]
        if inner_reduction(self.problem.assignment.value) is not None:
            self.fail("expected sums side by side, got one inside another", None)
        self._arrange()
        candidate = self._judge()
        self._apply_loops()
        accumulates, tiled = self._apply_workspace(candidate)
        self._annotate(candidate)
        shape, choice = self.shape, candidate.choice
        late = late_indices(self.order, frozenset(shape.reduced))
        zeroed = needs_zero(late, choice, shape, self.problem, tiled)
        way = cast(Assembly, choice.way)
        zeroed |= accumulates and way is Assembly.INSERT
        self._check_assembly(candidate)
        self.reasons.append(Reason(f"assemble by {way.value}", choice.reason))
        return Decision(
            self.problem,
            tuple(self.stages),
            tuple(self.commands),
            Assemble(way, choice.source, zeroed),
            estimate_loops(shape.merged, self.order, self.problem, self.statistics),
            candidate.cost,
            tuple(self.reasons),
            self.statistics,
        )

    def fail(self, message: str, at: WrittenCommand | None) -> NoReturn:
        """Raise an error that shows expression, statement and command."""
        user = self.hand.names
        if self.stages:
            reached = print_statement(user.statement(self.stages[-1]))
        lines = [
            f"schedule: {message}",
            f"  expression: {user.text}",
            f"  schedule:   {self.hand.schedule}",
            f"  at fault:   {at if at is not None else '(all of it)'}",
            "  reached:    " + reached.replace("\n", "\n    "),
        ]
        raise ScheduleError("\n".join(lines))

    def _demand(self, refusal: str | None, written: WrittenCommand) -> None:
        if refusal is not None:
            self.fail(f"{written.name}: expected {refusal}", written)

    def _checks(self, candidate: Candidate) -> HandChecks:
        choice, user = candidate.choice, self.hand.names
        return HandChecks(self.order, choice, self.shape, self.problem, user)

    def _loop(self, name: str, written: WrittenCommand) -> str:
        """Return the canonical loop of a user's name."""
        user = self.hand.names
        loops = {user.index(loop): loop for loop in self.order}
        if name not in loops:
            self.fail(
                f"{written.name}: expected a loop of {', '.join(loops) or '(none)'}, "
                f"got {name}",
                written,
            )
        return loops[name]

    def _written(self, kinds: Sequence[str]) -> list[WrittenCommand]:
        return [c for c in self.hand.schedule.commands if c.name in kinds]

    # Which loops there are, and in which order.

    def _arrange(self) -> None:
        shape = self.shape
        check_merges(self.problem, shape.merged)
        best = best_candidate(self.problem, self.statistics)
        target = self.problem.assignment.target.indices
        kept = [part for i in target for part in shape.parts.get(i, (i,))]
        self.order = (*kept, *shape.reduced) if best is None else best.order
        self._arrange_stages()
        cuts = self.hand.schedule.position_splits()
        for written in self._written(_LOOPS):
            if any(written is cut for cut in cuts):
                continue
            self.fault = written
            if written.name == "split":
                self._split(written)
            else:
                self._reorder(written)
            self._arrange_stages()

    def _arrange_stages(self) -> None:
        """Let an error show the loops as they are now."""
        statement = self.stages[0]
        for index, parts in self.shape.parts.items():
            statement = Split(index, parts).apply(statement)
        if self.order:
            statement = Reorder(self.order).apply(statement)
        self.stages[1:] = [statement]

    def _split(self, written: WrittenCommand) -> None:
        index, by = written.arguments
        user = self.hand.names
        whole = {user.index(i): i for i in self.shape.parts}
        if index in whole:
            stored = Split(whole[index], self.shape.parts[whole[index]])
            if user.command(stored) == str(written):
                return
            self.fail(
                f"split: expected {user.command(stored)}: {index} is stored in those "
                f"parts, or is split already",
                written,
            )
        loop = self._loop(index, written)
        if names.derived(loop) is not None or not by.isdigit():
            self.fail("split: expected an index, and a number of values", written)
        for access in accesses(self.shape.merged):
            spec = self.problem.specs[access.tensor]
            for depth in range(n_levels(spec)):
                if walked_index(spec, access, depth) == loop and is_walked(
                    spec, access, depth
                ):
                    self.fail(
                        f"split: expected an index that is located, got {index}, whose "
                        f"coordinates are those that {self._tensor(access.tensor)} "
                        "stores",
                        written,
                    )
        parts = names.quotient(loop, int(by)), names.remainder(loop, int(by))
        taken = {*map(user.index, self.order), *user.indices.values()}
        if taken & {*map(user.index, parts)}:
            self.fail(f"split: the expression has an index {index}_in, too", written)
        self.parts[loop] = parts
        at = self.order.index(loop)
        self.order = (*self.order[:at], *parts, *self.order[at + 1 :])

    def _reorder(self, written: WrittenCommand) -> None:
        wanted = written.arguments[0].split()
        found = [self._loop(name, written) for name in wanted]
        if sorted(found) != sorted(self.order):
            loops = " ".join(map(self.hand.names.index, self.order))
            self.fail(
                f"reorder: expected each of {loops} once, got {' '.join(wanted)}",
                written,
            )
        self.order = tuple(found)

    def _tensor(self, canonical: str) -> str:
        return self.hand.names.tensors.get(canonical, canonical)

    # Whether the formats allow it.

    def _judge(self) -> Candidate:
        user, problem = self.hand.names, self.problem
        place = {loop: n for n, loop in enumerate(self.order)}
        for access in accesses(self.shape.merged):
            spec = problem.specs[access.tensor]
            for outer, inner in sorted(constraints(access, spec, self.order)):
                if place.get(outer, -1) < place.get(inner, len(place)):
                    continue
                stored = " ".join(map(user.index, stored_order(access, problem)))
                self.fail(
                    f"expected the loop over {user.index(outer)} around that over "
                    f"{user.index(inner)}: {self._tensor(access.tensor)} is stored "
                    f"along {stored}",
                    self.fault,
                )
        found = candidate_in(self.order, problem, self.statistics, self.parts)
        if isinstance(found, str):
            self.fail(f"no kernel computes this in these loops: {found}", self.fault)
        return found

    # From the loops to the statement that is lowered.

    def _apply_loops(self) -> None:
        del self.stages[1:]
        cuts = self.hand.schedule.position_splits()
        splits = [c for c in self._written(("split",)) if c not in cuts]
        asked = {c.arguments[0] for c in splits}
        for index, parts in self.shape.parts.items():
            by_hand = self.hand.names.index(index) in asked
            why = f"{index} is stored in these parts"
            self._apply(Split(index, parts), None if by_hand else why)
        if self.order:
            by_hand = bool(self._written(("reorder",)))
            why = "the cheapest order that the levels allow"
            self._apply(Reorder(self.order), None if by_hand else why)

    def _apply(self, command: Command, why: str | None) -> None:
        """Apply a command: one that was asked for, or one with a reason."""
        user = self.hand.names
        try:
            made = command.apply(self.stages[-1])
            verify(made)
        except InternalError as error:
            self.fail(f"{user.command(command)}: {error}", self.fault)
        except ScheduleError as error:
            self.fail(self._in_user_names(command, error), self.fault)
        self.commands.append(command)
        self.stages.append(made)
        reason = why if why is not None else "asked for by hand"
        self.reasons.append(Reason(user.command(command), reason))

    def _in_user_names(self, command: Command, error: ScheduleError) -> str:
        """Return an error's message with the user's names: the same command fails."""
        user = self.hand.names
        if isinstance(command, Split | Reorder | Accumulate | Collect):
            return str(error)
        renamed = user.renamed(command)
        if isinstance(renamed, Pack | Pos):
            # Without the indices that tell apart how one tensor is read.
            renamed = replace(renamed, tensor=renamed.tensor.partition("[")[0])
        try:
            renamed.apply(user.statement(self.stages[-1]))
        except ScheduleError as again:
            return str(again)
        return str(error)

    def _apply_workspace(self, candidate: Candidate) -> tuple[bool, bool]:
        """Return whether products are added in place, and whether in tiles."""
        given = self._written(_WORKSPACES)
        for written in given:
            self.fault = written
            if written.name == "accumulate":
                self._demand(self._checks(candidate).accumulate(), written)
                self._apply(Accumulate(), None)
            elif written.name == "collect":
                kind, *among = written.arguments
                tensor = self._operand(among[0], written) if among else ""
                self._demand(self._checks(candidate).collect(tensor), written)
                self._apply(Collect(kind, tensor), None)
            else:
                index = self._loop(written.arguments[0], written)
                sizes = tuple(map(int, written.arguments[1].split()))
                self._demand(self._checks(candidate).tile(index, sizes), written)
                self._apply(Tile(index, sizes), None)
        if not given:
            self._complete_workspace(candidate)
        for written in self._written(_COPIES):
            self.fault = written
            if written.name == "pack":
                self._pack(written)
            else:
                self._precompute(written)
        made = [type(command) for command in self.commands]
        return Accumulate in made, Tile in made

    def _complete_workspace(self, candidate: Candidate) -> None:
        kinds = workspace_kinds(self.order, candidate.choice, self.shape, self.problem)
        if kinds[:1] == ("registers",):
            dtype, usual = self.problem.output.dtype, Knobs()
            sizes = tile_sizes(dtype, self.vector_bytes, usual.tile_bytes)
            why = "sums of a tile stay in vector registers"
            self._apply(Tile(self.order[-1], sizes), why)
        elif kinds[:1] == ("memory",):
            self._apply(Accumulate(), "products are added where they belong")
        elif (held := usual_workspace(candidate, kinds)) != "list":
            collect = Collect.named(held)
            if collect is not None:
                self._apply(collect, why_collected(held, candidate.collecting))

    def _precompute(self, written: WrittenCommand) -> None:
        problem, user = self.problem, self.hand.names
        dtypes = {name: spec.dtype for name, spec in problem.operands}
        try:
            value = user.parse(written.arguments[0], problem.assignment.value)
        except ExpressionError as error:
            self.fail(f"precompute: {error}", written)
        value = simplify_typed(settle_literals(value, dtypes), dtypes)
        read = accesses(value)
        if not read or contains_reduce(value):
            self.fail("precompute: expected operands, and no sum of them", written)
        for access in read:
            if not problem.specs[access.tensor].format.is_dense:
                tensor = self._tensor(access.tensor)
                self.fail(f"precompute: expected dense operands, got {tensor}", written)
        number = 1 + sum(isinstance(c, Precompute) for c in self.commands)
        dtype = computed_dtype(result_dtype(value, dtypes))
        index = self._loop(written.arguments[1], written)
        self._apply(Precompute(value, index, f"t{number}", dtype), None)

    def _pack(self, written: WrittenCommand) -> None:
        problem = self.problem
        name, before = written.arguments
        tensor = self._operand(name, written)
        spec = problem.specs[tensor]
        if not spec.format.is_dense:
            self.fail(f"pack: expected a dense operand, got {spec.format}", written)
        diagonals = [names.derived(loop) for loop in self.order]
        if any(isinstance(part, names.Diagonal) for part in diagonals):
            self.fail("pack: expected no loop over a diagonal", written)
        dtype = computed_dtype(spec.dtype)
        self._apply(Pack(tensor, self._loop(before, written), dtype), None)

    def _operand(self, name: str, written: WrittenCommand) -> str:
        """Return the canonical operand of a user's name."""
        user, operands = self.hand.names, self.problem.operands
        tensors = {user.tensors.get(tensor, tensor): tensor for tensor, _ in operands}
        if name not in tensors:
            self.fail(
                f"{written.name}: expected a tensor of {', '.join(tensors)}, got "
                f"{name}",
                written,
            )
        return tensors[name]

    def _fuse(self, candidate: Candidate) -> None:
        over = {written.arguments[0] for written in self._written(("pos",))}
        for written in self._written(("fuse", "pos")):
            self.fault = written
            first, second = written.arguments
            index, checks = self._loop(first, written), self._checks(candidate)
            if written.name == "pos":
                tensor = self._operand(second, written)
                refusal = checks.pos(index, tensor, self.stages[-1])
                self._demand(refusal, written)
                self._apply(Pos(index, tensor), None)
                continue
            pair = index, self._loop(second, written)
            if first not in over:
                self._demand(checks.fuse(pair), written)
            self._apply(Fuse(*pair), None)
        for written in self.hand.schedule.position_splits():
            self.fault = written
            index, size = (
                self._loop(written.arguments[0], written),
                written.arguments[1],
            )
            if not size.isdigit():
                self.fail("split: expected a number of stored entries", written)
            self._apply(SplitPositions(index, int(size)), None)

    def _annotate(self, candidate: Candidate) -> None:
        self._fuse(candidate)
        for written in self._written(("prefetch", "unroll", "vectorize")):
            self.fault = written
            index = self._loop(written.arguments[0], written)
            if written.name == "prefetch":
                self._apply(Prefetch(index, int(written.arguments[1])), None)
            elif written.name == "unroll":
                sums = int(written.arguments[1])
                if sums > _MOST_SUMS:
                    self.fail(f"unroll: expected at most {_MOST_SUMS} sums", written)
                self._demand(self._checks(candidate).unroll(index), written)
                self._apply(Unroll(index, sums), None)
            else:
                self._demand(self._checks(candidate).vectorize(index), written)
                self._apply(Vectorize(index), None)
        for written in self._written(("parallelize",)):
            self.fault = written
            index = self._loop(written.arguments[0], written)
            by = written.arguments[1:]
            checks = self._checks(candidate)
            refusal = checks.parallelize(index, by, self.stages[-1])
            self._demand(refusal, written)
            self._apply(Parallelize(index, *by), None)

    def _check_assembly(self, candidate: Candidate) -> None:
        choice = candidate.choice
        found = Assemble(cast(Assembly, choice.way), choice.source)
        full = self.hand.names.command(found)
        for written in self._written(("assemble",)):
            short = f"assemble({found.way.value})"
            if str(written) not in (full, short):
                self.fail(f"assemble: expected {full}: {choice.reason}", written)
