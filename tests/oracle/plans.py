"""Plans of expressions as tests ask for them, and operands to plan for."""

import numpy as np

import sparray as sp
from sparray.compiler.scheduler.steps import KernelStep
from sparray.evaluation.expression import assignment_expression, einsum_expression
from sparray.evaluation.planning import operands_plan
from sparray.formats import as_format

__all__ = ["ROWS", "entries", "plan", "schedules"]

ROWS = 2000


def entries(n=ROWS, per_row=8, seed=0, format="csr", shape=None):
    """A square array with a few entries in each row."""
    rng = np.random.default_rng(seed)
    rows, columns = np.arange(n).repeat(per_row), rng.integers(0, n, n * per_row)
    shape = (n, n) if shape is None else shape
    return sp.from_coords([rows, columns], np.ones(n * per_row), shape, format)


def plan(text, *operands, format=None):
    expression = (
        assignment_expression(text)
        if "=" in text
        else einsum_expression(text, len(operands))
    )
    ndim = len(expression.assignment.target.indices)
    wanted = None if format is None else as_format(format, ndim)
    return operands_plan(expression, operands, wanted).plan


def schedules(*arguments, **named):
    return [
        step.decision.schedule if isinstance(step, KernelStep) else "sort"
        for step in plan(*arguments, **named).steps
    ]
