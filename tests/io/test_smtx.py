"""Patterns of the Deep Learning Matrix Collection in and out."""

import gzip

import numpy as np
import pytest
from arrays import same

import sparray as sp
from sparray.errors import FileFormatError, ShapeError, UnsupportedError
from sparray.io import describe, read_smtx, write_smtx


@pytest.mark.data_files("dlmc/**/*.smtx", "dlmc/**/*.smtx.gz")
def test_real_patterns(data_file, tmp_path):
    opened = gzip.open if data_file.suffix == ".gz" else open
    with opened(data_file, "rt") as file:
        shape = tuple(map(int, file.readline().replace(",", " ").split()))
        pos, crd = (np.array(file.readline().split(), dtype=int) for _ in range(2))
    array = read_smtx(data_file)
    assert (*array.shape, array.nnz) == shape
    np.testing.assert_array_equal(array.levels[1]["pos"], pos)
    rows = np.repeat(np.arange(shape[0]), np.diff(pos))
    by_row = np.lexsort((crd, rows))
    np.testing.assert_array_equal(array.levels[1]["crd"], crd[by_row])
    assert np.all(array.values == 1)
    assert describe(data_file).n_entries == array.nnz
    write_smtx(tmp_path / "A.smtx", array)
    assert same(array, read_smtx(tmp_path / "A.smtx"))


def test_awkward_files(data):
    folder = data / "awkward" / "smtx"
    ok = read_smtx(folder / "ok.smtx")
    assert ok.todense().tolist() == [[1, 0, 1], [0, 1, 0]]
    assert read_smtx(folder / "empty_rows.smtx").todense()[1].tolist() == [0, 0, 1]
    unsorted = read_smtx(folder / "unsorted.smtx", values=[3.0, 10.0, 2.0])
    assert unsorted.todense().tolist() == [[10, 0, 2, 3]]
    for name in ("col_range", "offsets_decreasing", "nnz_mismatch", "negative_col"):
        with pytest.raises(FileFormatError, match=name):
            read_smtx(folder / f"{name}.smtx")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1, 2\n0 1\n1\n",
        "1, 2, x\n0 1\n1\n",
        "-1, 2, 1\n0 1\n1\n",
        f"{10**17}, 2, 1\n0 1\n1\n",
        f"1, 2, {10**17}\n0 1\n1\n",
        "1, 5, 2\n0 2\n1 1\n",
        "1, 5, 1\n0 99999999999\n1\n",
        "1, 5, 1\n0 1\n1 \x00\n",
        "1, 5, 1\n1 1\n1\n",
        "1, 5, 1\n0 1\n1.0\n",
    ],
)
def test_hostile_files_are_refused(tmp_path, text):
    path = tmp_path / "A.smtx"
    path.write_text(text)
    with pytest.raises(FileFormatError):
        read_smtx(path)


def test_settings(tmp_path):
    path = tmp_path / "A.smtx.gz"
    array = sp.array([[0, 1, 1], [1, 0, 0]], format="csc")
    write_smtx(path, array)
    assert gzip.open(path, "rt").read() == "2, 3, 3\n0 2 3\n1 2 0\n"
    assert read_smtx(path, "coo", dtype="float32").dtype == np.float32
    with pytest.raises(ShapeError, match="values"):
        read_smtx(path, values=[1.0])
    with pytest.raises(UnsupportedError, match="all 1"):
        write_smtx(path, sp.array([[2.0]]))
    with pytest.raises(ShapeError):
        write_smtx(path, sp.array([1.0]))
    empty = sp.from_coords(np.empty((2, 0)), [], (3, 0))
    write_smtx(path, empty)
    assert same(empty, read_smtx(path))
