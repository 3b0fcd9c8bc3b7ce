"""Random schedules of statements of random programs, proposed as a user would write.

Unlike `random_schedules` nothing tells which loops there are: the names are those that
the statement has, and those that accepted commands made. What is refused has to be
refused by a `ScheduleError` that shows the expression and the command.
"""

from unittest import mock

import numpy as np
from oracle_check import densify, interpreted, same
from program_problems import RandomProgram, random_program

from sparray.compiler.hand_schedule import Schedule
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.nodes import Assignment
from sparray.compiler.index_notation.printer import print_expression
from sparray.compiler.index_notation.traversal import accesses, walk
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.schedule.parallelize import CHUNKS
from sparray.errors import DTypeError, ScheduleError
from sparray.evaluation import programs
from sparray.evaluation.program_steps import ProgramOptions

__all__ = ["check_scheduled_program"]

_PROPOSALS = 8


def _proposal(
    rng: np.random.Generator, statement: Assignment, schedule: Schedule
) -> Schedule:
    """Return a schedule of a statement with one more command."""
    value = statement.value
    loops = _loops(statement, schedule)
    loop, other = (str(rng.choice(loops)) for _ in "12")
    tensor = str(rng.choice([access.tensor for access in accesses(value)]))
    parts = list(walk(value))
    part = print_expression(parts[rng.integers(len(parts))])
    kinds = [
        lambda: schedule.reorder(" ".join(rng.permutation(loops))),
        lambda: schedule.split(loop, int(rng.choice([2, 3, 64]))),
        lambda: schedule.tile(loop, str(rng.choice(["1", "4", "8 2 1"]))),
        schedule.accumulate,
        lambda: schedule.unroll(loop, int(rng.choice([2, 4]))),
        lambda: schedule.vectorize(loop),
        lambda: schedule.prefetch(loop, 4),
        lambda: schedule.parallelize(loop, str(rng.choice(CHUNKS))),
        lambda: schedule.fuse(loop, other),
        lambda: schedule.pos(loop, tensor),
        lambda: schedule.precompute(part, loop),
        lambda: schedule.pack(tensor, loop),
        lambda: schedule.collect(str(rng.choice(["list", "hashed"]))),
        lambda: schedule.collect("list", tensor),
        lambda: schedule.assemble(str(rng.choice([each.value for each in Assembly]))),
    ]
    return kinds[rng.integers(len(kinds))]()


def _loops(statement: Assignment, schedule: Schedule) -> list[str]:
    """Return the names of loops that a statement has, as a user sees them."""
    read = {i for a in accesses(statement.value) for i in a.indices}
    loops = sorted(read) or ["i"]
    for command in schedule.commands:
        if command.name == "split":
            index = str(command.arguments[0])
            at = loops.index(index)
            loops[at : at + 1] = [f"{index}_out", f"{index}_in"]
    return loops


def check_scheduled_program(seed: int) -> int:
    """Compare with dense NumPy after each command; return how many were accepted."""
    rng = np.random.default_rng([seed, 7])
    question = random_program(seed)
    schedules: dict[str, Schedule] = {}
    try:
        expected = _expected(question)
        if expected is None:
            return 0
        for _ in range(_PROPOSALS):
            statement = question.program.statements[
                rng.integers(len(question.program.statements))
            ]
            schedules = _try(rng, question, statement, schedules, expected)
    except Exception as error:
        error.add_note(f"{question}\n{ ({n: str(s) for n, s in schedules.items()}) }")
        raise
    return sum(len(one.commands) for one in schedules.values())


def _expected(question: RandomProgram) -> list[np.ndarray] | None:
    """Return the results by dense NumPy; None if they are refused or not finite."""
    known = {name: densify(operand) for name, operand in question.operands.items()}
    try:
        for statement in question.program.statements:
            read = {n: a for n, a in known.items() if n != statement.target.tensor}
            known[statement.target.tensor] = evaluate(statement, read)
    except DTypeError:
        return None
    if not all(np.isfinite(array).all() for array in known.values()):
        return None
    return [known[name] for name in question.program.outputs]


def _try(
    rng: np.random.Generator,
    question: RandomProgram,
    statement: Assignment,
    schedules: dict[str, Schedule],
    expected: list[np.ndarray],
) -> dict[str, Schedule]:
    """Return the schedules with one more command, or as they are if it is refused."""
    target = statement.target.tensor
    longer = _proposal(rng, statement, schedules.get(target, Schedule()))
    proposed = {**schedules, target: longer}
    options = ProgramOptions(schedules=tuple(proposed.items()))
    try:
        with interpreted(), mock.patch.object(programs, "_known", {}):
            results = programs.evaluate_program(
                question.program, question.operands, options=options
            )
    except ScheduleError as error:
        assert "expression: " in str(error), error
        assert "at fault: " in str(error), error
        return schedules
    except Exception as error:
        error.add_note(f"proposed: {longer} of {target}")
        raise
    for result, wanted in zip(results, expected, strict=True):
        assert result.values.dtype == wanted.dtype, f"{longer} of {target}"
        same(densify(result), wanted)
    return proposed
