"""What libraries that take torch's sparse tensors see of ours."""

import re

import pytest
import torch

import sparray.torch as spt
from sparray.errors import FormatError

from .conftest import gapped

LAYOUTS = {
    "csr": torch.sparse_csr,
    "csc": torch.sparse_csc,
    "coo": torch.sparse_coo,
    "dcsr": torch.sparse_coo,
    "dcsc": torch.sparse_coo,
    "dia": torch.sparse_coo,
    "bcsr(2, 2)": torch.sparse_coo,
    "ell": torch.sparse_coo,
}


@pytest.mark.parametrize("format", LAYOUTS)
def test_layouts(format):
    W = spt.tensor(gapped(4, 6), format)
    assert W.layout == LAYOUTS[format]
    assert not W.is_sparse  # optimizers would refuse such a gradient


def test_buffers_of_rows_and_columns():
    A = gapped(4, 6)
    W, own = spt.tensor(A, "csr"), A.to_sparse_csr()
    assert torch.equal(W.crow_indices(), own.crow_indices())
    assert torch.equal(W.col_indices(), own.col_indices())
    W, own = spt.tensor(A, "csc"), A.to_sparse_csc()
    assert torch.equal(W.ccol_indices(), own.ccol_indices())
    assert torch.equal(W.row_indices(), own.row_indices())
    assert W.row_indices() is W.row_indices() and W.row_indices().dtype == torch.int64


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "dcsc", "bcsr(2, 2)"])
def test_each_value_has_its_coordinates(format):
    W = spt.tensor(gapped(4, 6), format)
    for indices in (W.indices(), W._indices()):
        assert indices.shape == (2, W.nnz) and indices.dtype == torch.int64
        assert torch.equal(W.to_dense()[tuple(indices)], W.values())
    assert torch.equal(W._values(), W.values()) and W._nnz() == W.nnz
    assert W.coalesce() is W


def test_coordinates_of_three_dimensions():
    W = spt.tensor(gapped(3, 4, 5), "csf")
    assert W.layout == torch.sparse_coo
    assert torch.equal(W.to_dense()[tuple(W.indices())], W.values())


@pytest.mark.parametrize(
    ("format", "call", "said"),
    [
        ("csc", "crow_indices", "expected a csr tensor, got csc; W.to_format('csr')"),
        ("coo", "col_indices", "expected a csr tensor, got coo"),
        ("csr", "row_indices", "expected a csc tensor, got csr; W.to_format('csc')"),
        ("dcsr", "ccol_indices", "expected a csc tensor, got dcsr"),
        ("ell", "indices", "which pads; W.to_format('csr')"),
    ],
)
def test_buffers_that_are_not_there(format, call, said):
    W = spt.tensor(gapped(4, 6), format)
    with pytest.raises(FormatError, match=re.escape(said)):
        getattr(W, call)()
