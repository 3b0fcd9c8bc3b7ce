"""Tensors in and out of other libraries."""

import numpy as np
import pytest
import scipy.sparse
import torch

import sparray as sp
import sparray.torch as spt
from sparray.errors import DTypeError, FormatError, InvalidBufferError

from .conftest import full, gapped

ELEMENTS = gapped(5, 6)
FORMATS = ["csr", "csc", "coo", "dcsr"]
SOURCES = {
    "dense": lambda: ELEMENTS,
    "numpy": lambda: ELEMENTS.numpy(),
    "csr": lambda: ELEMENTS.to_sparse_csr(),
    "csc": lambda: ELEMENTS.to_sparse_csc(),
    "coo": lambda: ELEMENTS.to_sparse_coo(),
    "scipy": lambda: scipy.sparse.csr_array(ELEMENTS.numpy()),
    "SparseArray": lambda: sp.array(ELEMENTS.numpy(), format="coo"),
    "SparseTensor": lambda: spt.tensor(ELEMENTS, "csc"),
}


@pytest.mark.parametrize("format", [None, *FORMATS])
@pytest.mark.parametrize("source", SOURCES)
def test_from_anything(source, format):
    for make in (spt.tensor, spt.as_tensor):
        made = make(SOURCES[source](), format)
        assert torch.equal(made.to_dense(), ELEMENTS)
        if format is not None:
            assert made.format.name == format


def test_tensor_is_a_leaf_with_its_own_values():
    array = sp.array(ELEMENTS.numpy(), format="csr")
    W = spt.tensor(array, requires_grad=True)
    assert W.pattern.levels is array._levels and W.is_leaf
    with torch.no_grad():
        W.values().zero_()
    assert array.values.any()


def test_as_tensor_shares_values():
    array = sp.array(ELEMENTS.numpy(), format="csr")
    assert spt.as_tensor(array).values().data_ptr() == array.values.ctypes.data
    sparse = ELEMENTS.to_sparse_csr()
    assert spt.as_tensor(sparse).values().data_ptr() == sparse.values().data_ptr()


@pytest.mark.parametrize("layout", ["strided", "sparse_csr", "sparse_csc", "coo"])
def test_as_tensor_stays_in_the_graph(layout):
    leaf = ELEMENTS.clone().requires_grad_()
    source = {
        "strided": leaf,
        "sparse_csr": leaf.to_sparse_csr(),
        "sparse_csc": leaf.to_sparse_csc(),
        "coo": leaf.to_sparse_coo(),
    }[layout]
    (spt.as_tensor(source, "dcsr") * 3).sum().backward()
    grad = leaf.grad if leaf.grad.layout == torch.strided else leaf.grad.to_dense()
    assert torch.equal(grad, 3.0 * (ELEMENTS != 0))


@pytest.mark.parametrize("wanted", FORMATS)
@pytest.mark.parametrize("format", FORMATS)
def test_to_format_stays_in_the_graph(format, wanted):
    W = spt.tensor(ELEMENTS, format, requires_grad=True)
    made = W.to_format(wanted)
    assert made.format.name == wanted
    assert torch.equal(made.to_dense(), ELEMENTS)
    weights = full(5, 6)
    (made * weights).sum().backward()
    assert torch.equal(W.grad.to_dense(), weights * (ELEMENTS != 0))


def test_out_to_torch_without_a_copy():
    W = spt.tensor(ELEMENTS, "csr")
    made = W.to_sparse_csr()
    assert made.values().data_ptr() == W.values().data_ptr()
    crd = W.pattern.levels[1]["crd"]
    assert made.col_indices().data_ptr() == crd.ctypes.data
    coo = spt.tensor(ELEMENTS, "coo")
    assert coo.to_sparse()._values().data_ptr() == coo.values().data_ptr()


@pytest.mark.parametrize(
    "convert",
    [
        torch.Tensor.to_sparse_csr,
        torch.Tensor.to_sparse_csc,
        torch.Tensor.to_sparse_coo,
        torch.Tensor.to_sparse,
        lambda W: W.to_sparse(layout=torch.sparse_csr),
    ],
)
@pytest.mark.parametrize("format", FORMATS)
def test_out_to_torch(format, convert):
    W = spt.tensor(ELEMENTS, format, requires_grad=True)
    made = convert(W)
    assert torch.equal(made.to_dense(), ELEMENTS)
    made.to_dense().sum().backward()
    assert torch.equal(W.grad.values(), torch.ones_like(W.values()))


def test_to_sparray_and_through_its_functions():
    W = spt.tensor(ELEMENTS, "coo", requires_grad=True)
    array = sp.array(W, copy=False)
    assert array.format.name == "coo"
    assert array.values.ctypes.data == W.values().data_ptr()
    x = np.ones(6)
    np.testing.assert_allclose(sp.einsum("ij,j->i", W, x), ELEMENTS.numpy() @ x)


def test_from_buffers_keeps_the_graph():
    values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    W = spt.from_buffers(
        "csr",
        (3, 3),
        [{}, {"pos": [0, 2, 2, 3], "crd": torch.tensor([0, 1, 2])}],
        values * 2,
    )
    W.sum().backward()
    assert torch.equal(values.grad, torch.full((3,), 2.0))


def test_from_buffers_checks_them():
    with pytest.raises(InvalidBufferError, match="crd"):
        spt.from_buffers(
            "csr", (2, 2), [{}, {"pos": [0, 1, 2], "crd": [0, 5]}], torch.ones(2)
        )


def test_formats_without_a_place_for_each_gradient():
    for format in ("dense", "(i, j) -> (i: dense, j: hashed)"):
        with pytest.raises(FormatError, match="format: expected one"):
            spt.tensor(ELEMENTS, format)


def test_dtypes():
    assert spt.tensor(ELEMENTS, dtype=torch.float32).dtype == torch.float32
    for dtype in (torch.float16, torch.bfloat16):
        assert spt.tensor(ELEMENTS.to(dtype)).dtype == dtype
        assert spt.tensor(ELEMENTS, dtype=dtype).dtype == dtype
    with pytest.raises(DTypeError, match="float8"):
        spt.tensor(ELEMENTS.to(torch.float8_e5m2))


def test_read_only_values_are_copied():
    array = sp.array(ELEMENTS.numpy(), format="csr")
    array.values.flags.writeable = False
    made = spt.as_tensor(array)
    assert made.values().data_ptr() != array.values.ctypes.data


def test_a_shape_that_torch_cannot_count():
    array = sp.from_coords(np.zeros((2, 1), int), np.ones(1), (2**40, 2**40), "coo")
    with pytest.raises(ValueError, match="shape: expected one whose number"):
        spt.tensor(array)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("format", ["csr", "coo", "bcsr(2, 2)"])
def test_16_bit_values_are_shared(dtype, format):
    W = spt.tensor(ELEMENTS, format, dtype=dtype)
    array = W.to_array()
    assert array.dtype.name == str(dtype).removeprefix("torch.")
    assert array.values.ctypes.data == W.values().data_ptr()
    again = spt.as_tensor(array)
    assert again.dtype == dtype
    assert again.values().data_ptr() == W.values().data_ptr()
    assert torch.equal(again.todense(), ELEMENTS.to(dtype))
    plain = array.to_format("csr").to_torch()
    assert plain.dtype == dtype and torch.equal(plain.to_dense(), ELEMENTS.to(dtype))
    for given in (plain, plain.to_dense(), plain.to_sparse_coo()):
        assert torch.equal(spt.tensor(given).todense(), ELEMENTS.to(dtype))
