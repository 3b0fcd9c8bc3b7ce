"""Arrays on top of each other, side by side, and along a diagonal."""

import numpy as np
import pytest
import scipy.linalg

import sparray as sp
from sparray.errors import DTypeError, ShapeError, WouldDensifyError

A = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
B = np.array([[0.0, 4.0, 0.0], [5.0, 0.0, 6.0]])
FORMATS = ["csr", "csc", "coo", "dcsr", "bcsr(1, 1)"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["hstack", "vstack"])
def test_stacks_of_matrices(name, format):
    arrays = [sp.array(one, format=format) for one in (A, B)]
    made = getattr(sp, name)(arrays)
    assert made.nnz == 6
    np.testing.assert_array_equal(made.todense(), getattr(np, name)([A, B]))


@pytest.mark.parametrize("name", ["hstack", "vstack"])
def test_stacks_of_vectors_and_of_more_dimensions(name):
    for one in (A[0], np.stack([A, B])):
        made = getattr(sp, name)([sp.array(one, format="coo"), one])
        np.testing.assert_array_equal(made.todense(), getattr(np, name)([one, one]))


@pytest.mark.parametrize("format", FORMATS)
def test_blocks_along_the_diagonal(format):
    arrays = [sp.array(one, format=format) for one in (A, B.T, A[:, :0])]
    made = sp.block_diag(arrays)
    assert made.nnz == 6
    assert made.format == arrays[0].format
    expected = scipy.linalg.block_diag(A, B.T, A[:, :0])
    np.testing.assert_array_equal(made.todense(), expected)


def test_blocks_along_the_diagonal_of_other_dtypes_and_fill_values():
    filled = sp.array(np.where(A == 0, -1, A), format="csr", fill_value=-1.0)
    made = sp.block_diag([filled, filled.astype("complex64")])
    assert made.dtype == np.complex128
    assert made.fill_value == -1
    assert made.nnz == 2 * filled.nnz
    with pytest.raises(WouldDensifyError, match="block_diag: expected arrays with one"):
        sp.block_diag([filled, sp.array(A)])


def test_what_cannot_be_joined():
    for name in ("hstack", "vstack"):
        with pytest.raises(ShapeError, match="got none"):
            getattr(sp, name)([])
    with pytest.raises(ShapeError, match="expected matrices, got none"):
        sp.block_diag([])
    with pytest.raises(ShapeError, match=r"expected matrices, got \(3,\)"):
        sp.block_diag([A[0]])


@pytest.mark.parametrize("format", FORMATS)
def test_elements_as_python_scalars(format):
    array = sp.array(A, format=format)
    assert array.tolist() == A.tolist()
    assert array.item(1, 2) == 3.0
    assert type(array.item(0, 1)) is float
    assert array[:1, :1].item() == 1.0
    with pytest.raises(DTypeError, match="item: expected an array of one element"):
        array.item()
    with pytest.raises(IndexError):
        array.item(2, 0)
