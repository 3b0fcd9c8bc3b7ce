"""Compressed layouts of SciPy and torch: blocks, batches, and what is shared."""

import numpy as np
import pytest
import scipy.sparse

from sparray.convert import array, from_scipy, to_scipy
from sparray.errors import InvalidBufferError

rng = np.random.default_rng(3)
DENSE = rng.integers(1, 9, (4, 6)) * (rng.random((4, 6)) < 0.3) * 1.0


@pytest.mark.parametrize("block", [(2, 3), (1, 1), (4, 6), (4, 2)], ids=str)
def test_bsr_is_shared_both_ways(block):
    matrix = scipy.sparse.bsr_array(DENSE, blocksize=block)
    matrix.sort_indices()
    made = from_scipy(matrix, copy=False)
    assert made.format.name == f"bcsr{block}"
    assert np.array_equal(made.todense(), DENSE)
    assert np.shares_memory(made.values, matrix.data)
    assert np.shares_memory(made.levels[1]["crd"], matrix.indices)
    assert not np.shares_memory(from_scipy(matrix).values, matrix.data)
    again = to_scipy(made)
    assert again.format == "bsr"
    assert again.blocksize == block
    assert again.has_canonical_format
    assert np.shares_memory(again.data, made.values)
    assert np.shares_memory(again.indices, made.levels[1]["crd"])
    assert np.array_equal((again @ DENSE.T), DENSE @ DENSE.T)
    assert not np.shares_memory(to_scipy(made, copy=True).data, made.values)


def test_blocks_that_do_not_divide_the_shape_become_csr():
    for block in [(3, 2), (4, 4), (9, 9)]:
        matrix = to_scipy(array(DENSE, f"bcsr{block}"))
        assert matrix.format == "csr"
        assert np.array_equal(matrix.toarray(), DENSE)
    assert to_scipy(array(DENSE, "bcsc(2, 3)")).format == "csc"
    assert np.array_equal(to_scipy(array(DENSE, "bcsc(2, 3)")).toarray(), DENSE)


def bsr(indptr, indices, data):
    matrix = scipy.sparse.bsr_array((4, 6), blocksize=(2, 3))
    matrix.indptr, matrix.indices = np.array(indptr), np.array(indices)
    matrix.data = data
    return matrix


def test_unsorted_and_repeated_blocks_are_mended_in_a_copy():
    data = np.arange(1.0, 19.0).reshape(3, 2, 3)
    kept = data.copy()
    unsorted = from_scipy(bsr([0, 2, 3], [1, 0, 1], data), copy=False)
    assert unsorted.levels[1]["crd"].tolist() == [0, 1, 1]
    assert np.array_equal(unsorted.values[:6], data[1].reshape(-1))
    repeated = bsr([0, 2, 3], [1, 1, 0], data)
    made = from_scipy(repeated)
    assert made.nnz == 12
    assert np.array_equal(made.todense()[:2, 3:], data[0] + data[1])
    assert np.array_equal(made.todense()[2:, :3], data[2])
    assert np.array_equal(data, kept)


def test_longer_buffers_than_needed():
    data = np.ones((4, 2, 3))
    made = from_scipy(bsr([0, 1, 2], [1, 0, 9, 9], data))
    assert made.nnz == 12


@pytest.mark.parametrize(
    ("indptr", "indices", "data"),
    [
        ([0, 2, 1], [0, 1], np.ones((2, 2, 3))),
        ([0, 1, 9], [0, 1], np.ones((2, 2, 3))),
        ([0, 1], [0, 1], np.ones((2, 2, 3))),
        ([0, 1, 2], [0, 2], np.ones((2, 2, 3))),
        ([0, 1, 2], [0, -1], np.ones((2, 2, 3))),
        ([0, 1, 2], [1, 0], np.ones((1, 2, 3))),
        ([0, 2, 2], [1, 0], np.ones((3, 2, 3))[:1]),
        ([0, 1, 2], [1, 0], np.ones((2, 3, 3))),
        ([0, 1, 2], [1, 0], np.ones((2, 0, 3))),
        ([0, 1, 2], [1, 0], np.ones((2, 6))),
    ],
)
def test_malformed_blocks_are_refused(indptr, indices, data):
    with pytest.raises(InvalidBufferError):
        from_scipy(bsr(indptr, indices, data))


def torch_batch(layout, block):
    torch = pytest.importorskip("torch")
    values = np.zeros((2, 3, 4, 6))
    # torch wants as many blocks in each matrix of a batch
    values[:, :, :2, :3] = rng.integers(1, 9, (2, 3, 2, 3))
    values[:, :, 2:, 3:] = rng.integers(1, 9, (2, 3, 2, 3))
    given = torch.tensor(values).to_sparse(layout=layout, blocksize=block)
    return torch, values, given


@pytest.mark.parametrize(
    ("name", "layout", "block"),
    [
        ("batched_csr", "sparse_csr", None),
        ("batched_csc", "sparse_csc", None),
        ("batched_bcsr(2, 3)", "sparse_bsr", (2, 3)),
        ("batched_bcsc(2, 3)", "sparse_bsc", (2, 3)),
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_batches_are_shared_with_torch_both_ways(name, layout, block):
    torch = pytest.importorskip("torch")
    _, values, given = torch_batch(getattr(torch, layout), block)
    made = array(given, copy=False)
    assert made.format.name == name
    assert np.array_equal(made.todense(), values)
    assert made.values.ctypes.data == given.values().data_ptr()
    by_row = layout in ("sparse_csr", "sparse_bsr")
    indices = given.col_indices() if by_row else given.row_indices()
    assert made.levels[3]["crd"].ctypes.data == indices.data_ptr()
    again = made.to_torch()
    assert again.layout == getattr(torch, layout)
    assert again.values().data_ptr() == given.values().data_ptr()
    assert torch.equal(again.to_dense(), given.to_dense())
    assert array(given).values.ctypes.data != given.values().data_ptr()


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", ["bcsr(2, 3)", "bcsc(2, 3)", "bcsr(4, 1)"])
def test_blocks_are_shared_with_torch_both_ways(name):
    torch = pytest.importorskip("torch")
    made = array(DENSE, name)
    given = made.to_torch()
    assert given.layout == (torch.sparse_bsr if name[3] == "r" else torch.sparse_bsc)
    assert given.values().data_ptr() == made.values.ctypes.data
    assert np.array_equal(given.to_dense().numpy(), DENSE)
    again = array(given, copy=False)
    assert again.format == made.format
    assert np.shares_memory(again.values, made.values)


def test_batches_that_torch_does_not_have_become_coo():
    torch = pytest.importorskip("torch")
    cube = np.zeros((2, 3, 4))
    cube[0, 1, 2], cube[1, 0, :2] = 5, 6
    given = array(cube, "batched_csr").to_torch()
    assert given.layout == torch.sparse_coo
    assert np.array_equal(given.to_dense().numpy(), cube)
    odd = array(DENSE, "bcsr(3, 4)").to_torch()
    assert odd.layout == torch.sparse_csr
    assert np.array_equal(odd.to_dense().numpy(), DENSE)


@pytest.mark.filterwarnings("ignore:Sparse")
def test_malformed_batches_are_refused():
    torch = pytest.importorskip("torch")

    def make(pos, crd, n, shape=(2, 2, 2)):
        return torch.sparse_csr_tensor(
            torch.tensor(pos),
            torch.tensor(crd),
            torch.ones(n),
            shape,
            check_invariants=False,
        )

    good = make([[0, 1, 2], [0, 2, 2]], [[0, 1], [0, 1]], (2, 2))
    assert array(good).nnz == 4
    unsorted = make([[0, 1, 2], [0, 2, 2]], [[0, 1], [1, 0]], (2, 2))
    assert array(unsorted).levels[2]["crd"].tolist() == [0, 1, 0, 1]
    for pos, crd, n in [
        ([[0, 1, 2], [0, 2, 3]], [[0, 1], [0, 1]], (2, 2)),
        ([[0, 1, 2], [1, 2, 2]], [[0, 1], [0, 1]], (2, 2)),
        ([[0, 1, 2], [0, 2, 2]], [[0, 1], [0, 2]], (2, 2)),
        ([[0, 1, 2], [0, 2, 2]], [[0, 1], [0, 1]], (2, 1)),
        ([[0, 1, 2]], [[0, 1]], (1, 2)),
    ]:
        with pytest.raises(InvalidBufferError):
            array(make(pos, crd, n))


@pytest.mark.filterwarnings("ignore:Sparse")
def test_products_of_batches_are_those_of_torch():
    torch = pytest.importorskip("torch")
    import sparray as sp

    _, values, given = torch_batch(torch.sparse_csr, None)
    left = array(given.to_dense().numpy()[0], "batched_csr")
    right = rng.integers(1, 5, (3, 6, 5)) * 1.0
    expected = torch.bmm(torch.tensor(values[0]), torch.tensor(right)).numpy()
    assert np.array_equal(sp.einsum("bij,bjk->bik", left, right), expected)
    shared = sp.einsum("bij,jk->bik", left, right[0])
    assert np.array_equal(shared, values[0] @ right[0])
    sampled = sp.einsum("bij,bik,bjk->bij", left, expected, right)
    assert sampled.format == left.format
    assert np.array_equal(
        sampled.todense(), values[0] * (expected @ right.transpose(0, 2, 1))
    )
