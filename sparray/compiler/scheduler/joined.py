"""Schedule several statements as one nest: each by itself, then joined along a loop."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sparray.compiler import names
from sparray.compiler.cin.nodes import Sequence as Nests
from sparray.compiler.cin.nodes import Stmt, Workspace
from sparray.compiler.cin.rename import renamed
from sparray.compiler.cin.traversal import workspace_names
from sparray.compiler.index_notation.dtypes import (
    accumulated_dtype,
    result_dtype,
    settle_literals,
)
from sparray.compiler.index_notation.exact import without_annihilators
from sparray.compiler.index_notation.nodes import Access, Assignment, Expr, Literal
from sparray.compiler.index_notation.simplify import simplify_typed, substitute
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.levels import level_index
from sparray.compiler.loop_ir.dtypes import is_half, numpy_dtype
from sparray.compiler.problem import Problem, Temporary, TensorSpec, result_spec
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.schedule.join import Join
from sparray.compiler.scheduler.candidates import candidates
from sparray.compiler.scheduler.decision import Decision, Reason, decide
from sparray.compiler.scheduler.factor import factor_invariants
from sparray.compiler.scheduler.nested import inner_reduction
from sparray.compiler.scheduler.output_format import infer_format
from sparray.compiler.scheduler.shape import shape_of
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.temporaries import searched_spec
from sparray.compiler.scheduler.walks import walked_at
from sparray.errors import ScheduleError, UnsupportedError
from sparray.formats.format import Format
from sparray.formats.level import Locatable, PositionIterable
from sparray.formats.named import named_format

__all__ = ["JoinError", "schedule_joined"]


class JoinError(UnsupportedError):
    """Statements that cannot be one nest.

    Attributes
    ----------
    tensor : str
        The temporary, or the result, that it lies in.
    """

    tensor: str = names.OUTPUT


@dataclass(slots=True)
class _Joiner:
    """A nest in the making, along one outermost loop.

    ``specs`` has every tensor as the statements that read it see it: whole.
    """

    outer: str
    specs: dict[str, TensorSpec]
    statistics: Statistics
    vector_bytes: int
    exact: bool
    current: str = names.OUTPUT
    workspaces: list[Workspace] = field(default_factory=list)
    rows: dict[str, TensorSpec] = field(default_factory=dict)
    values: list[Expr] = field(default_factory=list)
    nests: list[Stmt] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)


def schedule_joined(
    statements: Sequence[Assignment],
    operands: Sequence[tuple[str, TensorSpec]],
    format: Format | None,
    statistics: Statistics,
    vector_bytes: int,
    *,
    exact: bool = False,
) -> Decision:
    """Schedule statements as one nest whose temporaries live for one iteration.

    Parameters
    ----------
    statements : sequence of Assignment
        In common names (`unify_statements`); the last one makes the result.
    operands : sequence of (str, TensorSpec)
        What is read and not made.
    format : Format or None
        Of the result; inferred if not given.
    statistics : Statistics
        Extents of all indices, positions of the operands.
    vector_bytes : int
        Width of the target's vector registers.
    exact : bool
        Whether 0 ends no product (``missing="fill"``).

    Returns
    -------
    Decision
        For one kernel.

    Raises
    ------
    JoinError
        If the statements have no outermost loop in common, or a temporary cannot be
        held for one iteration of it.

    Notes
    -----
    Each statement is scheduled as if it were alone, with the common loop outermost. A
    temporary along that loop alone is a scalar; one that has the pattern of an operand
    has a value for each entry of the operand's row, which the loops that read it walk
    in its place; a dense one has a row.
    """
    first: JoinError | None = None
    for outer in _outermost(statements, format):
        specs = dict(operands)
        joiner = _Joiner(outer, specs, statistics, vector_bytes, exact)
        try:
            for statement in statements[:-1]:
                joiner.current = statement.target.tensor
                _add_temporary(joiner, statement)
            joiner.current = names.OUTPUT
            return _joined(joiner, statements[-1], operands, format)
        except JoinError as error:
            error.tensor = joiner.current
            first = first or error
    raise first or JoinError("there is no loop in common")


def _outermost(
    statements: Sequence[Assignment], format: Format | None
) -> Iterator[str]:
    """Yield the indices whose loop may stand around all statements."""
    target = statements[-1].target
    order = range(len(target.indices)) if format is None else format.dimension_order
    found = [target.indices[dimension] for dimension in order]
    if not found:
        found = list(statements[-2].target.indices)
    yield from found


def _add_temporary(joiner: _Joiner, statement: Assignment) -> None:
    name, indices = statement.target.tensor, statement.target.indices
    if joiner.outer not in indices:
        raise JoinError(
            f"{name} is needed whole: it has no part for each {joiner.outer}"
        )
    problem = _problem(joiner, statement, None)
    if problem.constant is not None and not isinstance(problem.constant, Literal):
        raise JoinError(f"the fill value of {name} depends on scalars")
    decision = _decide(joiner, problem, name)
    spec, row, workspace = _held(joiner, decision, name)
    joiner.specs[name], joiner.rows[name] = spec, row
    joiner.workspaces.append(workspace)
    positions = dict(joiner.statistics.positions)
    if spec.pattern is not None:
        positions[name] = positions[spec.pattern]
    else:
        positions[name] = _dense_positions(indices, spec, joiner.statistics)
    joiner.statistics = replace(joiner.statistics, positions=positions)
    _append(joiner, decision, name)


def _dense_positions(
    indices: Sequence[str], spec: TensorSpec, statistics: Statistics
) -> list[int]:
    count, counts = 1, []
    for dimension in spec.format.order:
        count *= statistics.extents[indices[dimension]]
        counts.append(count)
    return counts


def _problem(joiner: _Joiner, statement: Assignment, format: Format | None) -> Problem:
    """Return the problem of one statement, whose operands may be temporaries."""
    target = Access(names.OUTPUT, statement.target.indices)
    value = statement.value
    read = accesses(value)
    used = tuple(
        (name, joiner.specs[name]) for name in dict.fromkeys(a.tensor for a in read)
    )
    name = statement.target.tensor
    _check_operands(name, read, used)
    dtypes = {operand: spec.dtype for operand, spec in used}
    if joiner.exact:
        value = without_annihilators(value, dtypes)
    dtype = result_dtype(value, dtypes)
    if is_half(numpy_dtype(dtype)):
        raise JoinError(f"{name} would be rounded to 16 bits in the kernel")
    if format is None:
        format = infer_format(Assignment(target, value), used)
    if format.is_dense and name != names.OUTPUT:
        format = _along(joiner.outer, target)
    alike = [spec.index_dtype for _, spec in used if spec.format == format]
    output = TensorSpec(format, dtype)
    if alike:
        output = replace(output, index_dtype=alike[0])
    output = result_spec(value, used, output)
    value = _rewritten(value, used)
    if inner_reduction(value) is not None:
        raise JoinError(f"{name} has a reduction inside another one")
    return Problem(Assignment(target, value), used, output)


def _check_operands(
    name: str, read: Sequence[Access], used: Sequence[tuple[str, TensorSpec]]
) -> None:
    for access in read:
        if len(set(access.indices)) < len(access.indices):
            raise JoinError(f"{name} reads a diagonal of {access.tensor}")
    specs = dict(used)
    for access in read:
        if searched_spec(access, specs[access.tensor]) != specs[access.tensor]:
            raise JoinError(
                f"{name} reads {access.tensor} in a window, for which its levels "
                "cannot be searched"
            )
    for operand, spec in used:
        if not spec.format.is_sorted or not spec.format.unique:
            raise JoinError(
                f"{name} reads {operand}, whose entries would have to be sorted first"
            )


def _along(outer: str, target: Access) -> Format:
    """Return a dense format that stores a row for each value of an index."""
    first = target.indices.index(outer)
    others = [n for n in range(len(target.indices)) if n != first]
    levels = named_format("dense", len(target.indices)).levels
    return Format(levels, (first, *others))


def _rewritten(value: Expr, used: Sequence[tuple[str, TensorSpec]]) -> Expr:
    dtypes = {name: spec.dtype for name, spec in used}
    value = simplify_typed(settle_literals(value, dtypes), dtypes)
    # inf * (a + b) is not inf * a + inf * b: no sum of numbers, but maybe of fills.
    if all(np.isfinite(spec.fill.value) for _, spec in used):
        value = factor_invariants(value, lambda expr: accumulated_dtype(expr, dtypes))
    return value


def _decide(joiner: _Joiner, problem: Problem, name: str) -> Decision:
    """Schedule one statement with the common loop outermost."""
    shape = shape_of(problem)
    if shape.parts:
        raise JoinError(f"{name} reads blocks or diagonals")
    walked, _ = walked_at(shape.merged, joiner.outer, problem)
    if walked:
        raise JoinError(
            f"{name} has work only where {walked[0].tensor} has a row along "
            f"{joiner.outer}"
        )
    ways = (Assembly.INSERT, Assembly.INHERIT)
    found = (
        candidate
        for candidate in candidates(problem, joiner.statistics)
        if candidate.order[:1] == (joiner.outer,) and candidate.choice.way in ways
    )
    best = min(found, key=lambda candidate: candidate.cost, default=None)
    if best is None:
        raise JoinError(
            f"{name} cannot be made with {joiner.outer} outermost, dense or in the "
            "pattern of an operand"
        )
    return decide(problem, best, joiner.statistics, joiner.vector_bytes)


def _held(
    joiner: _Joiner, decision: Decision, name: str
) -> tuple[TensorSpec, TensorSpec, Workspace]:
    """Return a temporary's spec as a whole, its spec in the nest, and what holds it."""
    output = decision.problem.output
    indices = decision.problem.assignment.target.indices
    fill = None if decision.problem.constant is None else output.fill
    if decision.assemble.way is Assembly.INHERIT:
        source = str(decision.assemble.source)
        _check_pattern(joiner, decision, source, name)
        spec = replace(output, pattern=joiner.specs[source].pattern or source)
        made = Workspace(name, indices, "pattern", output.dtype, fill)
        return spec, spec, made
    rest = tuple(index for index in indices if index != joiner.outer)
    row_bytes = numpy_dtype(output.dtype).itemsize
    for index in rest:
        # Extents are known to a power of two only.
        row_bytes *= 2 * joiner.statistics.extents[index]
    if rest and row_bytes > joiner.statistics.workspace_bytes:
        raise JoinError(f"{name} might not fit in memory, a row at a time")
    row = TensorSpec(named_format("dense", len(rest)), output.dtype, of_row=True)
    kind = "row" if rest else "scalar"
    return output, row, Workspace(name, rest, kind, output.dtype, fill)


def _check_pattern(joiner: _Joiner, decision: Decision, source: str, name: str) -> None:
    """Refuse a pattern whose rows are not each one run of entries."""
    spec, target = joiner.specs[source], decision.problem.assignment.target
    levels = spec.format.levels
    read = next(
        a for a in accesses(decision.problem.assignment.value) if a.tensor == source
    )
    fits = (
        read.indices == target.indices
        and len(levels) == len(target.indices) == 2
        and spec.format.batch_ndim == 0
        and level_index(spec, read, 0) == joiner.outer
        and isinstance(levels[0], Locatable)
        and levels[0].full
        and isinstance(levels[1], PositionIterable)
        and not isinstance(levels[1], Locatable)
        and not decision.assemble.zeroed
    )
    if not fits:
        raise JoinError(
            f"{name} has the pattern of {source} ({spec.format}), whose entries along "
            f"{joiner.outer} are no rows"
        )


def _append(joiner: _Joiner, decision: Decision, name: str) -> None:
    """Take a statement's nest, with names that no other nest has."""
    own = workspace_names(decision.statement)
    count = sum(len(workspace_names(nest)) for nest in joiner.nests)
    new = {old: f"w{count + number + 1}" for number, old in enumerate(own)}
    new[names.OUTPUT] = name

    def rename(access: Access) -> Access:
        return Access(new.get(access.tensor, access.tensor), access.indices)

    joiner.nests.append(renamed(decision.statement, rename))
    joiner.decisions.append(decision)
    joiner.values.append(decision.problem.assignment.value)


def _joined(
    joiner: _Joiner,
    last: Assignment,
    operands: Sequence[tuple[str, TensorSpec]],
    format: Format | None,
) -> Decision:
    problem = _problem(joiner, last, format)
    if isinstance(problem.assignment.value, Access):
        raise JoinError("the result is a copy")
    decision = _decide(joiner, problem, names.OUTPUT)
    _append(joiner, decision, names.OUTPUT)
    schedules = tuple(made.schedule for made in joiner.decisions[:-1])
    own = ".".join(map(str, decision.commands))
    join = Join(joiner.outer, tuple(joiner.workspaces), (*schedules, own))
    separate = Nests(tuple(joiner.nests))
    try:
        joined = join.apply(separate)
    except ScheduleError as error:
        # The result is made of several reductions, each with loops of its own.
        raise JoinError(f"there are several loops over {joiner.outer}") from error
    whole = _whole_problem(joiner, problem, operands)
    return Decision(
        whole,
        (separate, joined),
        (join,),
        decision.assemble,
        tuple(loop for made in joiner.decisions for loop in made.loops),
        sum(made.cost for made in joiner.decisions),
        tuple(_reasons(joiner)),
        joiner.statistics,
    )


def _whole_problem(
    joiner: _Joiner, last: Problem, operands: Sequence[tuple[str, TensorSpec]]
) -> Problem:
    """Return the problem of all statements, temporaries as they are held."""
    held = {made.name: made.indices for made in joiner.workspaces}

    def of_row(value: Expr) -> Expr:
        return substitute(
            value,
            {
                a: Access(a.tensor, held[a.tensor])
                for a in accesses(value)
                if a.tensor in held
            },
        )

    *values, final = map(of_row, joiner.values)
    temporaries = tuple(
        Temporary(
            Assignment(Access(made.name, made.indices), value), joiner.rows[made.name]
        )
        for made, value in zip(joiner.workspaces, values, strict=True)
    )
    read = {a.tensor for value in (*values, final) for a in accesses(value)}
    read |= {str(joiner.specs[name].pattern) for name in read}
    return Problem(
        Assignment(last.assignment.target, final),
        tuple((name, spec) for name, spec in operands if name in read),
        last.output,
        temporaries=temporaries,
    )


def _reasons(joiner: _Joiner) -> Iterator[Reason]:
    made: Mapping[str, str] = {
        "scalar": "one value at a time",
        "row": "a row at a time",
        "pattern": "a value for each entry of a row, in the pattern of",
    }
    for workspace in joiner.workspaces:
        held = made[workspace.kind]
        pattern = joiner.specs[workspace.name].pattern
        yield Reason(
            f"hold {workspace.name} for one {joiner.outer}",
            f"all that reads it does so inside the loop over {joiner.outer}: {held}"
            + (f" {pattern}" if pattern is not None else ""),
        )
    labels = [made.name for made in joiner.workspaces] + [names.OUTPUT]
    for label, decision in zip(labels, joiner.decisions, strict=True):
        for reason in decision.reasons:
            yield Reason(f"{label}: {reason.what}", reason.why)
