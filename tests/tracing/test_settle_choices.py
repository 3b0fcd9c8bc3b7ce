"""Choices that are settled where they stand."""

import pytest

from sparray.compiler.index_notation.program_text import parse_program
from sparray.tracing.settle_choices import settle_choices

DTYPES = {name: "float64" for name in ("a", "b", "A", "m", "n")} | {"s": "float32"}


@pytest.mark.parametrize(
    "before, after",
    [
        ("where(m[i], exp(where(m[i], a[i], 1)), 0)", "where(m[i], exp(a[i]), 0)"),
        ("where(m[i], a[i], where(m[i], 1, b[i]))", "where(m[i], a[i], b[i])"),
        ("where(m[i], where(n[i], a[i], 1), 0)", None),
        ("where(m[i], where(m[i], s[i], a[i]), 0)", None),
        ("where(m[i], where(m[i], s[i], 0.5), 0)", "where(m[i], s[i], 0)"),
        ("where(m[i], a[i], 0) + where(m[i], 1, a[i])", None),
        (
            "where(m[i] > 0, where(n[i], where(m[i] > 0, a[i], 1), 2), 0)",
            "where(m[i] > 0, where(n[i], a[i], 2), 0)",
        ),
        (
            "where(m[i], sum(j, where(m[j], A[i,j], 1)), 0)",
            None,
        ),
        (
            "where(m[i], sum(j, where(m[i], A[i,j], 1)), 0)",
            "where(m[i], sum(j, A[i,j]), 0)",
        ),
    ],
)
def test_a_condition_is_known_inside_its_choice(before, after):
    program = settle_choices(parse_program(f"out[i] = {before}"), DTYPES)
    assert program == parse_program(f"out[i] = {before if after is None else after}")
