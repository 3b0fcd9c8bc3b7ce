"""Torch tensors in and out."""

import warnings

import numpy as np
import pytest

from sparray.convert import array, from_coords, from_torch, to_torch
from sparray.errors import (
    CoordinateError,
    DTypeError,
    InvalidBufferError,
    SettingError,
    SparrayError,
    UnsupportedError,
)
from sparray.formats import NAMED_FORMATS

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:.*Sparse.*:UserWarning")

rng = np.random.default_rng(2)
DENSE = rng.integers(1, 9, (4, 6)) * (rng.random((4, 6)) < 0.4) * 1.0


def tensor(shape):
    made = torch.rand(*shape, generator=torch.Generator().manual_seed(0))
    return made * (made > 0.5)


@pytest.mark.parametrize(
    ("convert", "name"),
    [
        (lambda t: t, "csr"),
        (lambda t: t.T.contiguous().T, "csr"),
        (lambda t: t.to_sparse(), "coo"),
        (lambda t: t.to_sparse(1), "coo"),
        (lambda t: t.to_sparse_csr(), "csr"),
        (lambda t: t.to_sparse_csc(), "csc"),
        (lambda t: t.to_sparse_bsr((2, 3)), "bcsr(2, 3)"),
        (lambda t: t.to_sparse_bsc((2, 3)), "bcsc(2, 3)"),
        (lambda t: t.to_sparse_bsr((1, 6)), "bcsr(1, 6)"),
    ],
)
def test_every_layout(convert, name):
    given = convert(torch.tensor(DENSE))
    made = from_torch(given)
    assert made.format.name == name
    assert made.dtype == np.float64
    assert np.array_equal(made.todense(), DENSE)
    assert np.array_equal(from_torch(given, "dcsc").todense(), DENSE)
    assert from_torch(given, dtype="float32").dtype == np.float32
    assert np.array_equal(array(given, "csf").todense(), DENSE)


@pytest.mark.parametrize(
    ("shape", "convert"),
    [
        ((3, 2, 4), lambda t: t.to_sparse()),
        ((3, 2, 4), lambda t: t.to_sparse(2)),
        ((3, 2, 4), lambda t: torch.ones_like(t).to_sparse_csr()),
        ((3, 2, 4), lambda t: torch.ones_like(t).to_sparse_csc()),
        ((2, 3, 2, 4), lambda t: torch.ones_like(t).to_sparse_csr()),
        ((3, 2, 4), lambda t: t.to_sparse_csr(dense_dim=1)),
        ((5, 4, 6, 3), lambda t: torch.ones_like(t).to_sparse_bsr((2, 3), dense_dim=1)),
        ((5, 4, 6, 3), lambda t: torch.ones_like(t).to_sparse_bsc((2, 3), dense_dim=1)),
        ((5, 4, 6), lambda t: torch.ones_like(t).to_sparse_bsc((4, 1))),
        ((7,), lambda t: t.to_sparse()),
        ((0, 3), lambda t: t.to_sparse_csr()),
        ((3, 0), lambda t: t.to_sparse_csc()),
        ((3, 0, 2), lambda t: t.to_sparse()),
    ],
)
def test_batches_and_dense_dimensions(shape, convert):
    given = convert(tensor(shape))
    made = from_torch(given)
    assert made.shape == shape
    assert np.array_equal(made.todense(), given.to_dense().numpy())


def test_repeated_entries_are_added_up_and_the_tensor_is_not_changed():
    given = torch.sparse_coo_tensor([[1, 0, 1], [2, 0, 2]], [1.0, 2.0, 4.0], (2, 3))
    made = from_torch(given)
    assert made.nnz == 2
    assert made.todense().tolist() == [[2, 0, 0], [0, 0, 5]]
    assert not given.is_coalesced()
    assert given._nnz() == 3


def test_canonical_buffers_can_be_shared():
    given = torch.tensor(DENSE).to_sparse_csr()
    shared = from_torch(given, copy=False)
    assert shared._addresses[2] == given.values().data_ptr()
    assert shared._addresses[1] == given.col_indices().data_ptr()
    assert from_torch(given)._addresses[2] != given.values().data_ptr()


def test_autograd_lazy_conjugates_and_views():
    given = torch.tensor(DENSE, requires_grad=True)
    assert np.array_equal(from_torch(given).todense(), DENSE)
    lazy = torch.tensor([1 + 2j, 0]).conj()
    assert from_torch(lazy).todense().tolist() == [1 - 2j, 0]
    assert from_torch(torch.tensor(3.0)).shape == ()


def malformed():
    csr, ones = torch.sparse_csr_tensor, torch.ones(2)
    good, crd = torch.tensor([0, 1, 2]), torch.tensor([0, 1])
    yield csr, (torch.tensor([0, 2, 1]), crd, ones, (2, 2))
    yield csr, (torch.tensor([1, 1, 2]), crd, ones, (2, 2))
    yield csr, (good, torch.tensor([0, 9]), ones, (2, 2))
    yield csr, (good, torch.tensor([0, -1]), ones, (2, 2))
    yield csr, (good, crd, torch.ones(1), (2, 2))
    yield csr, (torch.tensor([0, 1, 9]), crd, ones, (2, 2))
    yield torch.sparse_coo_tensor, (torch.tensor([[0, 9]]), ones, (3,))
    yield torch.sparse_coo_tensor, (torch.tensor([[0, -9]]), ones, (3,))
    blocks = torch.ones(2, 2, 2)
    yield torch.sparse_bsr_tensor, (good, torch.tensor([0, 9]), blocks, (4, 4))
    yield torch.sparse_bsr_tensor, (torch.tensor([0, 2, 1]), crd, blocks, (4, 4))
    yield torch.sparse_bsr_tensor, (good, crd, blocks, (5, 4))


@pytest.mark.parametrize(("make", "arguments"), list(malformed()))
def test_malformed_tensors_are_refused(make, arguments):
    given = make(*arguments, check_invariants=False)
    with pytest.raises((InvalidBufferError, CoordinateError)):
        from_torch(given)


def test_what_numpy_cannot_hold_is_refused():
    with pytest.raises(DTypeError, match="float8"):
        from_torch(torch.ones(2).to(torch.float8_e5m2))
    with pytest.raises(UnsupportedError, match=r"expected one on the CPU, got .*meta"):
        from_torch(torch.ones(2, device="meta"))
    with pytest.raises(UnsupportedError, match="fill_value: expected 0"):
        from_torch(torch.ones(2).to_sparse(), fill_value=1)
    assert from_torch(torch.ones(2), fill_value=1).nnz == 0


def address_of_values(given):
    if given.layout == torch.strided:
        return given.data_ptr()
    coo = given.layout == torch.sparse_coo
    return (given._values() if coo else given.values()).data_ptr()


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("csr", torch.sparse_csr),
        ("csc", torch.sparse_csc),
        ("coo", torch.sparse_coo),
        ("dense", torch.strided),
        ("dcsr", torch.sparse_csr),
        ("dcsc", torch.sparse_csc),
        ("(i, j) -> (j: dense, i: dense)", torch.strided),
    ],
)
def test_to_torch(name, layout):
    made = array(DENSE, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = to_torch(made)
        copied = made.to_torch(copy=True)
    assert given.layout == layout
    assert given.dtype == torch.float64
    assert np.array_equal(given.to_dense().numpy(), DENSE)
    assert np.array_equal(copied.to_dense().numpy(), DENSE)
    is_shared = address_of_values(given) == made._addresses[-1]
    assert is_shared == (name not in ("dcsr", "dcsc"))
    assert address_of_values(copied) != made._addresses[-1]


@pytest.mark.parametrize("shape", [(), (5,), (0,), (2, 3, 4), (2, 0, 3)], ids=str)
def test_other_numbers_of_dimensions(shape):
    dense = rng.integers(0, 3, shape)
    for name, named in NAMED_FORMATS.items():
        if named.fits(len(shape)):
            given = to_torch(array(dense, name))
            assert tuple(given.shape) == shape
            assert np.array_equal(given.to_dense().numpy(), dense)


def test_read_only_values_are_shared_without_a_warning():
    made = array(DENSE, "csr")
    made.values.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to_torch(made).values().data_ptr() == made._addresses[-1]


def test_what_torch_cannot_hold_is_refused():
    with pytest.raises(UnsupportedError, match="to_torch: expected fill value 0"):
        to_torch(array(DENSE, "csr", fill_value=1))
    assert to_torch(array(DENSE, "dense", fill_value=1)).tolist() == DENSE.tolist()
    with pytest.raises(SparrayError, match="to_torch: expected an array that torch"):
        to_torch(from_coords(np.ones((70, 1), int), [1.0], (2,) * 70, "csf"))


def test_another_object_is_named():
    with pytest.raises(SettingError, match=r"expected a torch\.Tensor, got ndarray"):
        from_torch(np.ones((2, 2)))
