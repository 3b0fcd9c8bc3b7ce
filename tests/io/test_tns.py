"""FROSTT tensors in and out."""

import gzip

import numpy as np
import pytest
from arrays import same
from hypothesis import given, settings
from hypothesis import strategies as st

import sparray as sp
from sparray.errors import DTypeError, FileFormatError, ShapeError, UnsupportedError
from sparray.io import describe, read_tns, write_tns

# Files with indices from 0, and one that is another kind of object.
ZERO_BASED = {"pyttb_sptensor_0_based.tns", "splatt_small4_zeroidx.tns"}
INVALID = {"pyttb_invalid_type.tns"}


def reference(path, base):
    """Return coordinates and values, read line by line; headers are stepped over."""
    text = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    with text as file:
        rows = [line.split() for line in file if line.strip() and line[0] != "#"]
    if rows[0] == ["sptensor"]:
        rows = rows[4:]
    elif len(rows[0]) == 1:
        rows = rows[2:]
    table = np.array(rows, dtype=np.float64)
    return table[:, :-1].T.astype(np.int64) - base, table[:, -1]


@pytest.mark.data_files("tensors/*.tns", "tensors/*.tns.gz")
def test_real_tensors(data_file):
    if data_file.name in INVALID:
        with pytest.raises(FileFormatError, match="line 1"):
            read_tns(data_file)
        return
    zero_based = data_file.name in ZERO_BASED
    array = read_tns(data_file, zero_based=zero_based)
    coords, values = reference(data_file, int(not zero_based))
    assert same(array, sp.from_coords(coords, values, array.shape))
    assert all(row.max() < n for row, n in zip(coords, array.shape, strict=True))
    assert describe(data_file).details["dimensions"] == str(array.ndim)
    if zero_based:
        with pytest.raises(FileFormatError, match="indices are from 1"):
            read_tns(data_file)


def test_headers_say_the_shape(data):
    folder = data / "tensors"
    assert read_tns(folder / "parti_3D_12031_with_header.tns.gz").shape == (100, 80, 60)
    path = folder / "pyttb_sptensor_0_based.tns"
    assert read_tns(path, zero_based=True).shape == (5, 4, 3)
    assert describe(path).n_entries == 18


def test_awkward_files(data):
    folder = data / "awkward" / "tns"
    for name, message in (
        ("ragged", "line 2"),
        ("float_index", "got '1.5'"),
        ("not_number", "got 'x'"),
    ):
        with pytest.raises(FileFormatError, match=message):
            read_tns(folder / f"{name}.tns")
    duplicates = read_tns(folder / "duplicates.tns").todense()
    assert (duplicates[0, 0, 0], duplicates[1, 1, 1]) == (3, 5)
    assert read_tns(folder / "order1.tns").todense().tolist() == [1, 0, 0, 0, 2]
    wide = read_tns(folder / "linear_overflow.tns")
    assert wide.shape == (4 * 10**9,) * 3
    assert wide.to_coords()[0].tolist() == [[0, 4 * 10**9 - 1]] * 3
    assert wide.values.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got none"),
        ("# c\n", "got none"),
        ("1\n", "expected the extents"),
        ("x\n", "the number of dimensions, or an entry"),
        ("0\n\n", "1 to 64 dimensions"),
        ("65\n", "1 to 64 dimensions"),
        ("2\n3\n1 1 5\n", "expected the extents, got '3'"),
        ("2\n3 3\n1 1 1 5\n", "line 3: expected 3 numbers"),
        ("2\n3 3\n4 1 5\n", "from 1 to 3"),
        ("sptensor\n2\n3 3\n", "the number of entries"),
        ("sptensor\n2\n3 3\n2\n1 1 1\n", "expected 2 entries, got 1"),
        (f"sptensor\n2\n3 3\n{10**18}\n1 1 1\n", f"got {10**18} as their number"),
        ("sptensor\n2\n3 -3\n2\n", "extents"),
        ("sptensor\n1 1 1\n", "number of dimensions"),
        ("2\n9999999999999999999 3\n1 1 1\n", "2\\*\\*63"),
        ("1 2 3\n1 2\n", "line 2"),
        (" ".join(["1"] * 70), "at most 64"),
    ],
)
def test_errors_name_the_line(tmp_path, text, message):
    path = tmp_path / "A.tns"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_tns(path)


def test_a_tensor_that_expands_without_end_is_stopped(tmp_path):
    path = tmp_path / "A.tns.gz"
    with gzip.open(path, "wb", 9) as file:
        for _ in range(120):
            file.write(b"1 1 1 1\n" * 2**17)
    with pytest.raises(FileFormatError, match="compressed bytes, got more"):
        read_tns(path)


@settings(max_examples=50)
@given(
    st.integers(1, 6),
    st.lists(st.floats(allow_nan=False), max_size=12),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_what_is_written_reads_back_the_same(
    tmp_path_factory, ndim, values, zero_based, header, seed
):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 2**40, ndim).tolist())
    coords = [rng.integers(0, n, len(values)) for n in shape]
    array = sp.from_coords(coords, np.array(values, np.float64), shape)
    path = tmp_path_factory.mktemp("tns") / "A.tns.gz"
    write_tns(path, array, zero_based=zero_based, header=header)
    if not values and not header:
        return
    given_shape = None if header else shape
    assert same(array, read_tns(path, zero_based=zero_based, shape=given_shape))


def test_settings(tmp_path):
    path = tmp_path / "A.tns"
    array = sp.array([[0, 2.5], [3, 0]])
    write_tns(path, array, header=True)
    assert read_tns(path, "csf", dtype="float32").dtype == np.float32
    with pytest.raises(ShapeError, match="header"):
        read_tns(path, shape=(3, 3))
    with pytest.raises(DTypeError):
        write_tns(path, sp.array([1j]))
    with pytest.raises(UnsupportedError, match="fill value"):
        write_tns(path, sp.array(np.ones(2), fill_value=1))
    with pytest.raises(ShapeError):
        write_tns(path, sp.array(3.0))
    assert same(array, read_tns(path))
