"""Conversions on the way, and the costs that explanations give."""

import re

import numpy as np
import pytest

import sparray as sp

# Rows of 300 random columns each, and a small matrix that is stored the wrong way.
RNG = np.random.default_rng(0)


def tall(rows):
    coords = np.repeat(np.arange(rows), 6), RNG.integers(0, 300, 6 * rows)
    return sp.from_coords(coords, np.ones(6 * rows), (rows, 300), "csr")


def small():
    dense = RNG.random((300, 40)) * (RNG.random((300, 40)) < 0.1)
    return sp.array(dense, format="csc")


def costs(text):
    return [float(cost) for cost in re.findall(r"estimated cost: (\S+)", str(text))]


def test_a_conversion_is_sized_by_what_it_converts():
    little, wrong = tall(2_000), small()
    first, product = costs(sp.explain("ik,kj->ij", little, wrong))
    again, larger = costs(sp.explain("ik,kj->ij", tall(200_000), wrong))
    # The other operand has a hundred times the entries; what is converted is the same.
    assert again == pytest.approx(first)
    assert larger > 50 * product
    assert first < product


def test_the_result_of_a_conversion_is_sized_by_the_result():
    A = tall(2_000)
    text = str(sp.explain("ij->ji", A, format="csr"))
    few = costs(text)
    many = costs(sp.explain("ij->ji", tall(20_000), format="csr"))
    assert sum(many) > 5 * sum(few)


def test_an_explanation_has_the_cost_of_what_was_taken():
    text = str(sp.explain("ik,kj->ij", tall(2_000), small()))
    (taken,) = re.findall(r"compute out, in place of one at (\S+) multiply-adds", text)
    rejected = text.partition("in place of one at")[2]
    others = re.findall(r": (\S+) multiply-adds", rejected)
    assert others
    # A way with conversions costs what its steps do, within what is rounded.
    assert float(taken) <= 1.01 * min(map(float, others))
    assert float(taken) >= max(costs(text))


@pytest.mark.parametrize("formats", [("dcsr", "dcsc"), ("csr", "coo"), ("coo", "csc")])
@pytest.mark.parametrize("extent", [10, 1_000])
def test_nothing_that_was_rejected_costs_less_than_what_was_taken(formats, extent):
    # Small enough that what a step costs by itself decides.
    rows, columns = RNG.integers(0, 50, 200), RNG.integers(0, extent, 200)
    A = sp.from_coords((rows, columns), np.ones(200), (50, extent), formats[0])
    B = sp.from_coords((columns, rows), np.ones(200), (extent, 50), formats[1])
    text = str(sp.explain("ik,kj->ij", A, B)).rpartition("rejected ways to compute ")[2]
    taken, *others = map(float, re.findall(r"(?:at|:) (\S+) multiply-adds", text))
    assert others
    # Within what is rounded.
    assert taken <= 1.01 * min(others)


def test_a_single_number_is_converted():
    # It is added up in float32, then rounded.
    A = small().astype("float16").to_format("csr")
    made = sp.compute("s = A[i,j]", A=A, schedule="accumulate()")
    assert made.dtype == "float16"
    assert float(made) == pytest.approx(float(A.todense().astype("f8").sum()), rel=1e-3)
