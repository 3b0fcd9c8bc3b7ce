"""Inputs from public bug reports, as far as the boundary reaches them.

`cases/cases.jsonl` names the report of each; see its ``source``.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from sparray.convert import array, from_buffers, from_coords
from sparray.errors import SparrayError
from sparray.formats import NAMED_FORMATS, Format

FILE = Path(__file__).parent / "cases" / "cases.jsonl"
CASES = {
    case["id"]: case for case in map(json.loads, FILE.read_text("utf-8").splitlines())
}
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
LARGEST = 10**6


def numbers(value):
    """Turn the words and pairs that JSON needs for some numbers into numbers."""
    if isinstance(value, list):
        return [numbers(item) for item in value]
    if isinstance(value, dict):
        return complex(numbers(value["re"]), numbers(value["im"]))
    return SPECIAL.get(value, value) if isinstance(value, str) else value


def operand(entry):
    """Make the array that an entry of a case's setup describes."""
    dtype = entry["dtype"]
    shape = entry["shape"]
    if entry["given"] == "compressed":
        order = (0, 1) if entry["compressed_axis"] == "rows" else (1, 0)
        buffers = {"pos": entry["indptr"], "crd": entry["indices"]}
        levels = [{}, {role: np.array(b, "int32") for role, b in buffers.items()}]
        csr = Format.parse("csr", 2)
        values = np.array(numbers(entry["values"]), dtype)
        return from_buffers(Format(csr.levels, order), shape, levels, values)
    fill = numbers(entry.get("fill_value", 0))
    if entry["given"] == "coords":
        values = np.array(numbers(entry["values"]), entry.get("values_dtype", dtype))
        return from_coords(entry["coords"], values, shape, fill_value=fill, dtype=dtype)
    dense = np.array(numbers(entry["data"]), dtype).reshape(shape)
    return array(dense, fill_value=fill)


def reference(entry):
    """Make the same array densely, one entry after the other."""
    shape = entry["shape"]
    if entry["given"] in ("dense", "numpy"):
        return np.array(numbers(entry["data"]), entry["dtype"]).reshape(shape)
    dense = np.zeros(shape, entry["dtype"])
    values = numbers(entry["values"])
    if entry["given"] == "coords":
        coords = zip(*entry["coords"], strict=True) if shape else [()] * len(values)
    else:
        outer = np.repeat(np.arange(len(entry["indptr"]) - 1), np.diff(entry["indptr"]))
        pairs = zip(outer.tolist(), entry["indices"], strict=True)
        by_row = entry["compressed_axis"] == "rows"
        coords = (pair if by_row else pair[::-1] for pair in pairs)
    for coordinate, value in zip(coords, values, strict=True):
        dense[tuple(coordinate)] += np.asarray(value, entry["dtype"])
    return dense


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
