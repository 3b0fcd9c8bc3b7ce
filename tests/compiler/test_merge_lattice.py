"""The points of merge lattices."""

import pytest

from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.merge_lattice import lattice
from sparray.errors import UnsupportedError


def points(text, walked):
    value = parse_assignment(f"y[i] = {text}").value
    known = {access.tensor: access for access in accesses(value)}
    found = lattice(value, [known[name] for name in walked])
    return [
        "".join(sorted(access.tensor for access in point)) or "-" for point in found
    ]


@pytest.mark.parametrize(
    ("text", "walked", "expected"),
    [
        ("A[i] * B[i]", "AB", ["AB"]),
        ("A[i] + B[i]", "AB", ["AB", "A", "B"]),
        ("A[i] - B[i]", "AB", ["AB", "A", "B"]),
        ("A[i] * B[i] + C[i]", "ABC", ["ABC", "AB", "C"]),
        ("A[i] * (B[i] + C[i])", "ABC", ["ABC", "AB", "AC"]),
        ("(A[i] + B[i]) * (C[i] + D[i])", "ABCD",
         ["ABCD", "ABC", "ABD", "ACD", "BCD", "AC", "AD", "BC", "BD"]),
        ("A[i] * D[i]", "A", ["A"]),
        ("A[i] + D[i]", "A", ["A", "-"]),
        ("A[i] + 1", "A", ["A", "-"]),
        ("A[i] * 0", "A", []),
        ("D[i]", "", ["-"]),
        ("max(A[i], B[i])", "AB", ["AB", "A", "B"]),
        ("exp(A[i])", "A", ["A", "-"]),
        ("relu(A[i]) * B[i]", "AB", ["AB"]),
        ("A[i] / B[i]", "AB", ["AB", "A"]),
        ("A[i] & ~B[i]", "AB", ["AB", "A"]),
        ("A[i] == B[i]", "AB", ["AB", "A", "B", "-"]),
    ],
)  # fmt: skip
def test_points(text, walked, expected):
    assert points(text, walked) == expected


def test_larger_points_come_first_in_the_order_walked():
    assert points("A[i] + B[i]", "BA") == ["AB", "B", "A"]


def test_too_many_operands_are_refused():
    names = [f"A{n}" for n in range(13)]
    text = " + ".join(f"{name}[i]" for name in names)
    with pytest.raises(UnsupportedError, match="at most 12 sparse operands"):
        points(text, names)
