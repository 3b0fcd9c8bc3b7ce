"""The points of merge lattices."""

import numpy as np
import pytest

from sparray.compiler.absence import Absence, fill_of
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.merge_lattice import lattice
from sparray.errors import UnsupportedError


def points(text, walked, dtype="float64", **fills):
    value = parse_assignment(f"y[i] = {text}").value
    known = {access.tensor: access for access in accesses(value)}
    given = {name: fill_of(0) for name in known} | fills
    absence = Absence(dict.fromkeys(known, dtype), given)
    found = lattice(value, [known[name] for name in walked], absence)
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
        ("A[i] + 1", "A", ["A"]),
        ("A[i] * 0", "A", []),
        ("D[i]", "", ["-"]),
        ("max(A[i], B[i])", "AB", ["AB", "A", "B"]),
        ("exp(A[i])", "A", ["A"]),
        ("exp(A[i]) + D[i]", "A", ["A", "-"]),
        ("relu(A[i]) * B[i]", "AB", ["AB"]),
        ("A[i] / B[i]", "AB", ["AB", "A"]),
        ("A[i] & ~B[i]", "AB", ["AB", "A"]),
        ("A[i] == B[i]", "AB", ["AB", "A", "B"]),
    ],
)  # fmt: skip
def test_points(text, walked, expected):
    assert points(text, walked) == expected


@pytest.mark.parametrize(
    ("text", "fills", "expected"),
    [
        # A union, whatever the fill values: none of them ends the product.
        ("A[i] * B[i]", {"A": 2, "B": 3}, ["AB", "A", "B"]),
        # What 0 annihilates is decided by the operand whose fill value it is.
        ("A[i] * B[i]", {"A": 0, "B": 3}, ["AB", "A"]),
        ("A[i] + B[i]", {"A": np.nan, "B": np.inf}, ["AB", "A", "B"]),
        ("A[i] * D[i]", {"A": 1}, ["A", "-"]),
        ("A[i] * D[i]", {"A": np.nan}, ["A", "-"]),
        # What reduces has work unless each term is its identity.
        ("sum(k, A[i,k])", {"A": 0}, ["A"]),
        ("sum(k, A[i,k])", {"A": 1}, ["A", "-"]),
        ("prod(k, A[i,k])", {"A": 1}, ["A"]),
        ("prod(k, A[i,k])", {"A": 0}, ["A", "-"]),
        ("min(k, A[i,k])", {"A": np.inf}, ["A"]),
        ("min(k, A[i,k])", {"A": 0}, ["A", "-"]),
        ("max(k, A[i,k])", {"A": -np.inf}, ["A"]),
        ("all(k, A[i,k])", {"A": 1}, ["A"]),
        ("any(k, A[i,k])", {"A": 0}, ["A"]),
    ],
)
def test_points_follow_from_fill_values(text, fills, expected):
    given = {name: fill_of(float(value)) for name, value in fills.items()}
    walked = "AB" if "B" in fills else "A"
    assert points(text, walked, **given) == expected


def test_integers_overflow_in_their_own_dtype():
    fills = {"A": fill_of(100), "B": fill_of(100)}
    assert points("A[i] + B[i] - (A[i] + 100)", "AB", "int8", **fills) == [
        "AB",
        "A",
        "B",
    ]


def test_larger_points_come_first_in_the_order_walked():
    assert points("A[i] + B[i]", "BA") == ["AB", "B", "A"]


def test_too_many_operands_are_refused():
    names = [f"A{n}" for n in range(13)]
    text = " + ".join(f"{name}[i]" for name in names)
    with pytest.raises(UnsupportedError, match="at most 12 sparse operands"):
        points(text, names)
