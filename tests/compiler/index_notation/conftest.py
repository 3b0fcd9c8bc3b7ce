"""Random statements of index notation, as Hypothesis strategies."""

import pytest
from hypothesis import strategies as st

from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Literal,
    Reduce,
)
from sparray.compiler.loop_ir.operators import OPERATORS, reductions

TARGET_INDICES = ("i", "j")
# Distinct indices have distinct extents, so that a wrong axis cannot go unnoticed.
EXTENTS = {"i": 3, "j": 2, "p": 4, "q": 1}

SAFE_OPERATORS = (
    "add", "sub", "mul", "min", "max", "lt", "ge", "eq", "and", "or", "not", "relu",
    "abs",
)  # fmt: skip

ANY_LITERAL = st.one_of(
    st.booleans(),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False),
)
SMALL_LITERAL = st.sampled_from([0, 1, 2, -1, True, False, 0.5, 0.0, 1.0])


def _access(draw, bound):
    # The number of indices belongs to a tensor's name, and fixes its shape.
    indices = draw(st.lists(st.sampled_from(bound), max_size=3, unique=True))
    return Access("T_" + "".join(indices), tuple(indices))


def _expression(draw, bound, depth, operators, literals):
    kind = draw(st.integers(0, 9)) if depth else draw(st.integers(0, 3))
    if kind == 0:
        return Literal(draw(literals))
    if kind <= 3:
        return _access(draw, bound)
    spare = [i for i in ("p", "q") if i not in bound]
    if kind == 4 and spare:
        op = draw(st.sampled_from(reductions()))
        operand = _expression(draw, (*bound, *spare), depth - 1, operators, literals)
        factor = Access("F_" + "".join(spare), tuple(spare))
        return Reduce(op, tuple(spare), Apply("mul", (factor, operand)))
    row = OPERATORS[draw(st.sampled_from(operators))]
    return Apply(
        row.name,
        tuple(
            _expression(draw, bound, depth - 1, operators, literals)
            for _ in range(row.arity)
        ),
    )


@st.composite
def _assignments(draw, operators, literals):
    value = _expression(draw, TARGET_INDICES, 4, operators, literals)
    return Assignment(Access("y", TARGET_INDICES), value)


@pytest.fixture(scope="session")
def any_assignments():
    """Statements with every operator and literal, to be printed and parsed."""
    return _assignments(tuple(OPERATORS), ANY_LITERAL)


@pytest.fixture(scope="session")
def safe_assignments():
    """Statements whose values are finite for finite operands."""
    return _assignments(SAFE_OPERATORS, SMALL_LITERAL)


@pytest.fixture(scope="session")
def extents():
    return EXTENTS
