import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_assignment, print_expression


@settings(max_examples=300)
@given(data=st.data())
def test_what_is_printed_parses_back(any_assignments, data):
    assignment = data.draw(any_assignments)
    text = print_assignment(assignment)
    assert parse_assignment(text) == assignment
    assert print_assignment(parse_assignment(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "(a + b) * c",
        "a + b * c - d",
        "a - (b - c)",
        "a - (b + c)",
        "a / (b * c)",
        "a / b * c",
        "(a ** b) ** c",
        "a ** b ** c",
        "(-a) ** 2",
        "-a ** 2",
        "(-2) ** a",
        "a ** -2",
        "-(a + b)",
        "~(a < b) | c & d",
        "(a < b) < c",
        "max(a, b + c) * 2.5",
        "exp(-(a * b))",
        "exp[] + exp(a)",
        "inf - -1e-05 + 2.0j * complex(1.0, -2.0)",
    ],
)
def test_only_the_parentheses_that_are_needed(text):
    assert print_expression(parse_assignment(f"y = {text}").value) == text
