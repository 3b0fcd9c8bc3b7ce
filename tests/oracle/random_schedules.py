"""Random legal schedules: commands that are proposed at random, and kept if they apply.

What is refused has to be refused by a `ScheduleError`, before anything is compiled.
"""

from dataclasses import replace

import numpy as np
from oracle_check import Question, plan_of

from sparray.compiler.hand_schedule import Schedule
from sparray.compiler.index_notation.printer import print_expression
from sparray.compiler.index_notation.traversal import walk
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.schedule.parallelize import CHUNKS
from sparray.compiler.scheduler.steps import KernelStep
from sparray.convert import array
from sparray.errors import DTypeError, ScheduleError, UnsupportedError
from sparray.evaluation.expression import assignment_expression

__all__ = ["random_product", "scheduled"]

_PROPOSALS = 8
_PRODUCTS = {
    "y[i] = A[i,j] * x[j]": ("csr", "dense"),
    "y[i] = A[i,j]": ("csr",),
    "C[i,j] = A[i,k] * B[k,j]": ("csr", "dense"),
    "C[i,j] = A[i,k] * (B[k,j] * x[k])": ("csr", "dense", "dense"),
    "C[j,i] = A[k,i] * B[k,j]": ("csc", "dense"),
    "C[i,j] = X[i,k] * Y[k,j]": ("dense", "dense"),
    "C[i,j] = A[i,j] * X[i,k] * Y[k,j]": ("csr", "dense", "dense"),
    "C[i,j] = T[i,k,l] * X[k,j] * Y[l,j]": ("csf", "dense", "dense"),
    "C[i,j] = A[i,k] * B[k,j] + D[i,j]": ("csr", "dense", "dense"),
}
"""Products to which every command applies, which it rarely does to a random one."""


def random_product(seed: int) -> Question:
    """Return a product of small numbers; its extents stand around those of tiles."""
    rng = np.random.default_rng([seed, 5])
    text = str(rng.choice(list(_PRODUCTS)))
    extents = {i: int(rng.choice([0, 1, 2, 4, 5, 9, 17])) for i in "ijkl"}
    expression = assignment_expression(text)
    dtype = str(rng.choice(["float64", "float32", "float64", "int32"]))
    made = []
    for number, name in enumerate(_PRODUCTS[text]):
        (access,) = {a for a, n in expression.axes if n == number}
        shape = tuple(extents[i] for i in access.indices)
        dense = rng.integers(-3, 4, shape).astype(dtype)
        if name != "dense":
            dense *= rng.random(shape) < rng.choice([0.1, 0.5])
            dense = array(dense, format=name)
        made.append(dense)
    return Question(text, tuple(made))


def scheduled(question: Question, seed: int) -> Question:
    """Return the question with a random schedule; as it is, if it takes none."""
    rng = np.random.default_rng([seed, 4])
    loops = _loops(replace(question, schedule=Schedule()))
    if loops is None:
        return question
    question = replace(question, schedule=Schedule())
    for _ in range(_PROPOSALS):
        proposed = replace(question, schedule=_proposal(rng, question, loops or ["i"]))
        found = _loops(proposed)
        if found is not None:
            question, loops = proposed, found
    return question


def _loops(question: Question) -> list[str] | None:
    """Return the loops of a question, by the user's names; None if it is refused."""
    try:
        plan = plan_of(question).plan
    except (DTypeError, UnsupportedError):
        # It is, with or without a schedule.
        return None
    except ScheduleError as error:
        assert f"expression: {question.text}" in str(error)
        assert "at fault:" in str(error)
        return None
    kernels = [step for step in plan.steps if isinstance(step, KernelStep)]
    # Operands may be converted before it, a wide result after it.
    own = [
        step
        for step in kernels
        if step.decision.problem.assignment.target.indices
        == plan.problem.assignment.target.indices
    ]
    index = question.expression.user_names.index
    return [index(loop.index) for loop in own[-1].decision.loops] if own else None


def _part(rng: np.random.Generator, question: Question) -> str:
    """Return a random part of a question's expression."""
    parts = list(walk(question.expression.assignment.value))
    chosen = parts[rng.integers(len(parts))]
    return print_expression(question.expression.user_names.expression(chosen))


def _proposal(
    rng: np.random.Generator, question: Question, loops: list[str]
) -> Schedule:
    schedule = question.schedule or Schedule()
    named = question.expression.user_names.tensors
    tensors = [user for name, user in named.items() if name != "out"]
    loop = str(rng.choice(loops))
    kinds = [
        lambda: schedule.reorder(" ".join(rng.permutation(loops))),
        lambda: schedule.split(loop, int(rng.choice([2, 3, 4, 64]))),
        lambda: schedule.tile(loop, str(rng.choice(["1", "4", "8", "16 4 1"]))),
        schedule.accumulate,
        lambda: schedule.unroll(loop, int(rng.choice([2, 3, 4, 8]))),
        lambda: schedule.vectorize(loop),
        lambda: schedule.prefetch(loop, int(rng.choice([1, 8]))),
        lambda: schedule.parallelize(loops[0], str(rng.choice(CHUNKS))),
        lambda: schedule.fuse(*(loops * 2)[(at := rng.integers(len(loops))) : at + 2]),
        lambda: schedule.precompute(_part(rng, question), loop),
        lambda: schedule.pack(str(rng.choice(tensors or ["A"])), loop),
        lambda: schedule.collect(str(rng.choice(["list", "hashed"]))),
        lambda: schedule.collect("list", str(rng.choice(tensors or ["A"]))),
        lambda: schedule.pos(loop, str(rng.choice(tensors or ["A"]))),
        lambda: schedule.assemble(str(rng.choice([each.value for each in Assembly]))),
    ]
    weights = np.array([4, 3, 3, 2, 2, 1, 1, 2, 3, 3, 4, 2, 1, 3, 1], float)
    return kinds[rng.choice(len(kinds), p=weights / weights.sum())]()
