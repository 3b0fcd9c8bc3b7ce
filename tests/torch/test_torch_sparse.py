"""Matrices of the package torch_sparse: the real ones, or what stands for them."""

import importlib.util
import sys
import types

import pytest
import torch

import sparray.torch as spt
from sparray.errors import (
    FormatError,
    InvalidBufferError,
    MissingExtraError,
    ShapeError,
    UnsupportedError,
)

from .conftest import full, gapped


class Double:
    """What `torch_sparse.SparseTensor` (0.6.18) is to those who make and read it.

    Indices are int64, rows are sorted and given as pointers, or counted from rows;
    there may be no values.
    """

    def __init__(
        self,
        row=None,
        rowptr=None,
        col=None,
        value=None,
        sparse_sizes=None,
        is_sorted=False,
        trust_data=False,
    ):
        assert is_sorted and col.dtype == torch.int64 and col.dim() == 1
        if rowptr is None:
            counts = torch.bincount(row, minlength=sparse_sizes[0])
            rowptr = torch.cat([torch.zeros(1).long(), counts.cumsum(0)])
        assert rowptr.dtype == torch.int64 and len(rowptr) == sparse_sizes[0] + 1
        assert value is None or len(value) == len(col)
        self._parts, self._sizes = (rowptr, col, value), sparse_sizes

    def csr(self):
        return self._parts

    def sparse_sizes(self):
        return self._sizes

    def to_dense(self):
        rowptr, col, value = self._parts
        rows = torch.repeat_interleave(torch.arange(self._sizes[0]), rowptr.diff())
        return value.new_zeros(self._sizes).index_put((rows, col), value)


HAS_PACKAGE = importlib.util.find_spec("torch_sparse") is not None


@pytest.fixture(
    params=[
        "double",
        pytest.param(
            "torch_sparse",
            marks=pytest.mark.skipif(
                not HAS_PACKAGE, reason="needs torch_sparse, which is not installed"
            ),
        ),
    ]
)
def matrix(request, monkeypatch):
    """The class of matrices."""
    if request.param == "torch_sparse":
        from torch_sparse import SparseTensor

        return SparseTensor
    package = types.ModuleType("torch_sparse")
    package.SparseTensor = Double
    monkeypatch.setitem(sys.modules, "torch_sparse", package)
    return Double


def made_of(matrix, dense, value):
    csr = dense.to_sparse_csr()
    return matrix(
        rowptr=csr.crow_indices(),
        col=csr.col_indices(),
        value=value,
        sparse_sizes=tuple(dense.shape),
        is_sorted=True,
        trust_data=True,
    )


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "ell", "bcsr(2, 2)"])
def test_there_and_back(matrix, format):
    A = gapped(4, 6)
    W = spt.tensor(A, format, requires_grad=True)
    there = spt.to_torch_sparse(W)
    assert isinstance(there, matrix)
    torch.testing.assert_close(there.to_dense(), A)
    back = spt.from_torch_sparse(there)
    assert back.format.name == "csr"
    weights = full(4, 6)
    (back * weights).sum().backward()
    stored = W.with_values(torch.ones_like(W.values())).to_dense() != 0
    torch.testing.assert_close(W.grad.to_dense(), torch.where(stored, weights, 0))


def test_buffers_are_shared(matrix):
    A = gapped(4, 6)
    value = A[A != 0].requires_grad_()
    given = made_of(matrix, A, value)
    W = spt.from_torch_sparse(given)
    rowptr, col, _ = given.csr()
    assert W.values().data_ptr() == value.data_ptr()
    level = W.pattern.levels[1]
    assert level["crd"].ctypes.data == col.data_ptr()
    assert level["pos"].ctypes.data == rowptr.data_ptr()
    W = spt.tensor(A, "csr")
    assert spt.to_torch_sparse(W).csr()[2].data_ptr() == W.values().data_ptr()


def test_edges_without_values_are_ones(matrix):
    A = gapped(4, 6)
    given = made_of(matrix, A, None)
    made = spt.from_torch_sparse(given)
    assert made.dtype == torch.get_default_dtype()
    torch.testing.assert_close(made.to_dense(), (A != 0).float())
    made = spt.from_torch_sparse(given, torch.float64)
    assert made.dtype == torch.float64 and (made.values() == 1).all()


def test_bad_input(matrix):
    A = gapped(4, 6)
    with pytest.raises(FormatError, match="got Tensor"):
        spt.from_torch_sparse(A)
    several = full(int((A != 0).sum()), 2)
    with pytest.raises(UnsupportedError, match="one value for each entry"):
        spt.from_torch_sparse(made_of(matrix, A, several))
    twice = matrix(
        row=torch.tensor([0, 0]),
        col=torch.tensor([1, 1]),
        value=torch.ones(2),
        sparse_sizes=(2, 2),
        is_sorted=True,
    )
    with pytest.raises(InvalidBufferError, match="crd"):
        spt.from_torch_sparse(twice)
    with pytest.raises(ShapeError, match="expected a matrix"):
        spt.to_torch_sparse(spt.tensor(gapped(2, 3, 4)))
    with pytest.raises(UnsupportedError, match="fill value 0"):
        spt.to_torch_sparse(spt.tensor(A).exp())


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_sparse", None)
    with pytest.raises(MissingExtraError, match="PyTorch Geometric"):
        spt.to_torch_sparse(spt.tensor(gapped(4, 6)))
