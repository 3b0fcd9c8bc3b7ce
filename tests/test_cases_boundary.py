"""Inputs from public bug reports, as far as the boundary reaches them.

`cases/cases.jsonl` names the report of each; see its ``source``.
"""

import math

import numpy as np
import pytest
from bug_reports import CASES, LARGEST, operand, reference

from sparray.convert import array, from_coords
from sparray.errors import SparrayError
from sparray.formats import NAMED_FORMATS

OPERANDS = [
    pytest.param(entry, id=f"{case['id']}-{name}")
    for case in CASES.values()
    for name, entry in case["setup"].items()
    if isinstance(entry, dict)
    and "given" in entry
    and case["expected"]["type"] != "raises"
]


@pytest.mark.parametrize("entry", OPERANDS)
def test_every_operand_survives_every_format(entry):
    made = operand(entry)
    assert made.shape == tuple(entry["shape"])
    assert made.dtype == entry["dtype"]
    assert repr(made)
    is_small = made.size <= LARGEST
    for name, named in NAMED_FORMATS.items():
        if named.fits(made.ndim) and (is_small or name in ("coo", "csf")):
            other = made.to_format(name)
            assert other.nnz == made.nnz or (other.format.pads and other.nnz > made.nnz)
            if is_small:
                assert np.array_equal(
                    other.todense(),
                    reference(entry),
                    equal_nan=made.dtype.kind in "fc",
                )


@pytest.mark.parametrize("case_id", ["case_001", "case_003", "case_005", "case_007"])
def test_malformed_input_is_refused(case_id):
    case = CASES[case_id]
    builtins = {"ValueError": ValueError, "IndexError": IndexError}
    expected = tuple(builtins[name] for name in case["expected"]["any_of"])
    with pytest.raises(expected) as caught:
        operand(case["setup"]["A"])
    assert isinstance(caught.value, SparrayError)


def test_case_009_values_must_be_one_per_coordinate():
    setup = CASES["case_009"]["setup"]
    with pytest.raises(ValueError, match="values: expected 1 dimension"):
        from_coords(setup["coords"], setup["values"], setup["shape"])


def test_case_012_repeats_are_added_in_the_wider_dtype():
    case = CASES["case_012"]
    made = operand(case["setup"]["A"])
    assert made.dtype == "uint16"
    assert made.todense().tolist() == case["expected"]["values"]


def test_case_014_big_integers():
    case = CASES["case_014"]
    made = operand(case["setup"]["A"]).T
    assert made.dtype == "int64"
    assert made.todense().tolist() == case["expected"]["values"]


@pytest.mark.parametrize("name", ["dense", "coo", "csf"])
def test_case_015_no_dimensions_and_nothing_stored(name):
    made = array(CASES["case_015"]["setup"]["A"]["data"], name)
    assert (made.shape, made.nnz) == ((), 0)
    assert made.todense()[()] == 0.0
    assert made.to_coords()[0].shape == (0, 0)


def test_case_018_an_empty_vector_has_an_empty_table():
    made = operand(CASES["case_018"]["setup"]["A"])
    assert made.nnz == 0
    assert made.to_coords()[0].shape == (1, 0)


@pytest.mark.parametrize("case_id", ["case_019", "case_021", "case_029", "case_082"])
def test_huge_shapes(case_id):
    case = CASES[case_id]
    entry = case["setup"]["A"]
    made = operand(entry)
    assert made.size == math.prod(entry["shape"])
    assert made.size == case["expected"].get("size", made.size)
    for name in ("coo", "csf"):
        coords, values = made.to_format(name).to_coords()
        found = dict(zip(zip(*coords.tolist(), strict=True), values, strict=True))
        given = zip(*entry["coords"], strict=True)
        assert found == dict(zip(given, entry["values"], strict=True))


def test_case_022_shape_as_an_integer_array():
    case = CASES["case_022"]
    entry = case["setup"]["A"]
    made = from_coords(entry["coords"], entry["values"], np.array(entry["shape"]))
    assert made.todense().tolist() == case["expected"]["values"]


def test_case_023_the_callers_coordinates_are_copied():
    case = CASES["case_023"]
    entry = case["setup"]["A"]
    coords = np.array(entry["coords"])
    made = from_coords(coords, entry["values"], entry["shape"])
    coords[:] = 0
    assert made.todense().tolist() == case["expected"]["values"]


def test_case_048_repeats_without_dimensions():
    made = operand(CASES["case_048"]["setup"]["A"])
    assert made.todense()[()] == 7.0


def test_case_060_coordinates_that_are_a_strided_view():
    entry = CASES["case_060"]["setup"]["A"]
    wide = np.repeat(np.array(entry["coords"]), 2, axis=1)
    made = from_coords(wide[:, ::2], entry["values"], entry["shape"])
    assert np.array_equal(made.todense(), reference(entry))


def test_case_126_an_empty_array_keeps_its_dtype():
    made = operand(CASES["case_126"]["setup"]["A"]).to_format("coo")
    assert made.dtype == np.int32
    assert made.todense().tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("name", ["coo", "csr", "dense", "csf"])
def test_case_127_text_of_an_array_without_elements(name):
    entry = CASES["case_127"]["setup"]["A"]
    text = repr(array(np.zeros(entry["shape"]), name))
    assert "density none" in text
