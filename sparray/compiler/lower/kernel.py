"""Lower one scheduled statement to the functions of a kernel."""

from dataclasses import replace

from sparray.compiler import names
from sparray.compiler.absence import Absence, fill_of
from sparray.compiler.cin.nodes import Forall, Stmt
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.kernel_facts.allotting import allotted_depths
from sparray.compiler.kernel_facts.appending import (
    append_groups,
    keeps_fibres_apart,
    keeps_leaf,
    located_prefix,
)
from sparray.compiler.kernel_facts.entry_bound import entry_bound
from sparray.compiler.kernel_facts.index_order import index_order
from sparray.compiler.kernel_facts.workspaces import largest_tiles, workspaces
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import Builder

# Importing these registers how each kind of statement is lowered.
from sparray.compiler.lower import assign, forall, tiles, where  # noqa: F401
from sparray.compiler.lower.access import advance, start
from sparray.compiler.lower.allot import AllotOutput, needed_buffers
from sparray.compiler.lower.append import AppendOutput, ScatterOutput, counts_buffer
from sparray.compiler.lower.blocks import BlocksOutput, ScatterBlocksOutput
from sparray.compiler.lower.body import lower_tested
from sparray.compiler.lower.context import Context, Output, Phase, parameters
from sparray.compiler.lower.loops import lower_parallel_loop
from sparray.compiler.lower.merge_path import lower_merge_path
from sparray.compiler.lower.one_pass import BoundedOutput
from sparray.compiler.lower.output import InheritOutput, InsertOutput, PlaceOutput
from sparray.compiler.lower.parallel import task
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.statement import lower_statement
from sparray.compiler.lower.workspaces import buffered_workspaces
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assemble, Assembly
from sparray.compiler.schedule.vectorize import vectorises_reduction
from sparray.errors import InternalError
from sparray.formats.level import Locatable
from sparray.records import dataclass

__all__ = ["lower_kernel"]


def lower_kernel(
    problem: Problem, statement: Stmt, assemble: Assemble, vector_bytes: int
) -> tuple[ir.Function, ...]:
    """Lower a statement to one function, or to counting ones and a filling one.

    Parameters
    ----------
    problem : Problem
        Formats and dtypes.
    statement : Stmt
        The scheduled CIN.
    assemble : Assemble
        How the result comes into being.
    vector_bytes : int
        Width of the target's vector registers.

    Returns
    -------
    tuple of ir.Function
        ``count`` first, where the result needs it and operands do not bound it, or
        ``count1``, ``count2``, ... for levels that are made one after the other;
        ``evaluate`` last. Parameters:
        every operand's buffers, the result's buffers (``evaluate`` only; just the
        values of an inheriting result; those that are made already, of one made level
        by level), the counts or offsets of each appended group, the extents in
        `index_order`, the number of threads.
    """
    made: list[tuple[str, Phase, int | None]] = [(names.FILL, Phase.FILL, None)]
    if assemble.way is Assembly.ALLOT:
        rounds = allotted_depths(problem.output.format)
        made[:0] = [(names.round_of(depth), Phase.COUNT, depth) for depth in rounds]
    elif assemble.way.counts and not entry_bound(problem, assemble.way, statement):
        made.insert(0, (names.COUNT, Phase.COUNT, None))
    return tuple(
        _lower_phase(problem, statement, assemble, _Entry(*entry), vector_bytes)
        for entry in made
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """One function of a kernel: its name, its phase, and the level it counts for."""

    name: str
    phase: Phase
    depth: int | None


def _followed(problem: Problem, statement: Stmt) -> list[Access]:
    """Return the accesses that have levels: those of operands and of rows."""
    flat = {
        made.workspace.name
        for made in workspaces(statement)
        if made.workspace.kind == "scalar"
    }
    return [access for access in problem.reads if access.tensor not in flat]


def _lower_phase(
    problem: Problem,
    statement: Stmt,
    assemble: Assemble,
    entry: _Entry,
    vector_bytes: int,
) -> ir.Function:
    phase = entry.phase
    given = _parameters(problem, assemble, entry)
    builder = Builder([p.name for p in given])
    output = _output(problem, statement, assemble, entry.depth)
    absence = _absence(problem, statement)
    ctx = Context(problem, phase, vector_bytes, builder, output, assemble.way, absence)
    scope = advance(start(_followed(problem, statement), Scope()), ctx)
    ctx.tile_sizes.update(largest_tiles(statement))
    tests, scope = scope.tests, replace(scope, tests=())
    lower_tested(statement, tests, scope, ctx, _lower_tasks)
    reassociate = phase is Phase.FILL and vectorises_reduction(statement)
    return ir.Function(entry.name, given, builder.block(), reassociate)


def _lower_tasks(statement: Stmt, scope: Scope, ctx: Context) -> None:
    """Emit the loops, in one task or in parallel ones."""
    if isinstance(statement, Forall) and statement.chunks == "merge":
        lower_merge_path(statement, scope, ctx)
    elif isinstance(statement, Forall) and statement.parallel:
        lower_parallel_loop(statement, scope, ctx)
    else:
        with task(scope, ctx, buffered_workspaces(statement)) as inside:
            for surrounded in ctx.output.whole(inside, ctx):
                lower_statement(statement, surrounded, ctx)


def _absence(problem: Problem, statement: Stmt) -> Absence:
    """Return what operands, workspaces and the result are where they hold nothing."""
    operands = problem.absence
    dtypes, fills = dict(operands.dtypes), dict(operands.fills)
    patterns = dict(operands.patterns)
    for made in workspaces(statement):
        name = made.workspace.name
        dtypes[name] = made.workspace.dtype
        fills[name] = fill_of(where.initial(made).value)
        if made.workspace.kind == "pattern":
            patterns[name] = problem.specs[name].pattern or name
    if problem.constant is not None:
        fills[names.OUTPUT] = problem.output.fill
    return Absence(dtypes, fills, operands.scalars, patterns)


def _parameters(
    problem: Problem, assemble: Assemble, entry: _Entry
) -> tuple[ir.Buffer | ir.Var, ...]:
    given: list[ir.Buffer | ir.Var] = []
    for name, spec in problem.operands:
        given.extend(parameters(name, spec))
    if assemble.way is Assembly.ALLOT:
        given.extend(needed_buffers(problem.output, entry.depth))
    elif entry.phase is Phase.FILL:
        out = parameters(names.OUTPUT, problem.output, writable=True)
        given.extend(out[-1:] if assemble.way is Assembly.INHERIT else out)
    if assemble.way.counts:
        given.extend(counts_buffer(group) for group in append_groups(problem.output))
    given.extend(ir.Var(names.extent(index)) for index in index_order(problem))
    given.append(ir.Var(names.THREADS))
    return tuple(given)


def _output(
    problem: Problem, statement: Stmt, assemble: Assemble, depth: int | None
) -> Output:
    target = problem.assignment.target
    if assemble.way is Assembly.INSERT:
        return InsertOutput(target)
    if assemble.way is Assembly.PLACE:
        return PlaceOutput(target, problem.output)
    if assemble.way is Assembly.ALLOT:
        return AllotOutput(target, problem.output, depth)
    if assemble.way is Assembly.APPEND:
        if entry_bound(problem, assemble.way, statement):
            return BoundedOutput(target, problem.output)
        return AppendOutput(target, problem.output, keeps_leaf(problem, assemble.way))
    if assemble.way is Assembly.SCATTER:
        apart = isinstance(statement, Forall) and keeps_fibres_apart(
            statement.index, problem, assemble.way
        )
        below = problem.output.format.levels[located_prefix(problem.output) + 1 :]
        has_blocks = any(isinstance(level, Locatable) for level in below)
        kind = ScatterBlocksOutput if has_blocks else ScatterOutput
        return kind(target, problem.output, apart)
    if assemble.way is Assembly.BLOCKS:
        return BlocksOutput(target, problem.output)
    return InheritOutput(_source(problem, assemble))


def _source(problem: Problem, assemble: Assemble) -> Access:
    for access in problem.reads:
        if access.tensor == assemble.source:
            return access
    raise InternalError(f"expected an operand to inherit from, got {assemble}")
