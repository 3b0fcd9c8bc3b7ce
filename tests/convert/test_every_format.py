"""Every named format becomes every other one and comes back, element for element."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from sparray.convert import array, from_buffers, from_coords
from sparray.errors import FormatError, KernelMemoryError, ShapeError
from sparray.formats import FORMAT_FAMILIES, NAMED_FORMATS, as_format

FAMILIES = {
    "bcsr(2, 2)": "bcsr",
    "bcsr(3, 2)": "bcsr",
    "bcsr(16, 16)": "bcsr",
    "bcsc(2, 3)": "bcsc",
    "batched_bcsr(2, 3)": "batched_bcsr",
    "batched_bcsc(3, 2)": "batched_bcsc",
    "nm(2, 4)": "nm",
    "nm(3, 3)": "nm",
    "nmg(2, 2, 1)": "nmg",
    "nmg(3, 3, 2)": "nmg",
}
SHAPES = [
    (7,),
    (0,),
    (1,),
    (6, 8),
    (5, 7),
    (7, 5),
    (1, 9),
    (9, 1),
    (0, 3),
    (3, 0),
    (0, 0),
    (3, 5, 7),
    (2, 0, 5),
    (2, 3, 2, 5),
]
DTYPES = ["bool", "int8", "uint64", "float16", "float32", "complex128"]


def names(ndim):
    plain = [name for name, named in NAMED_FORMATS.items() if named.fits(ndim)]
    return plain + [n for n, key in FAMILIES.items() if FORMAT_FAMILIES[key].fits(ndim)]


def random_dense(shape, dtype="float64", seed=0):
    """Few entries: at most two in each block of four along the last dimension."""
    rng = np.random.default_rng(seed)
    kept = rng.random(shape) < 0.4
    kept[..., np.arange(shape[-1]) % 4 > 1] = False
    kept = np.roll(kept, 1, axis=-1) if shape[-1] % 4 == 0 else kept
    return (rng.integers(1, 9, shape) * kept).astype(dtype)


def test_every_family_is_tested():
    assert set(FAMILIES.values()) == set(FORMAT_FAMILIES)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("is_empty", [False, True])
def test_every_format_to_every_other(shape, is_empty):
    dense = np.zeros(shape) if is_empty else random_dense(shape)
    made = {name: array(dense, name) for name in names(len(shape))}
    for source, target in itertools.product(made, repeat=2):
        before = made[source]
        after = before.to_format(target)
        assert after.format == as_format(target, len(shape))
        again = from_buffers(target, shape, after.levels, after.values)
        assert np.array_equal(again.todense(), dense)
        assert np.array_equal(after.todense(), dense)
        entries = np.count_nonzero(dense)
        if before.format.pads or after.format.pads:
            assert entries <= after.nnz <= dense.size
        else:
            assert after.nnz == entries


@pytest.mark.parametrize("name", names(2))
@pytest.mark.parametrize("fill_value", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(name, dtype, fill_value):
    dense = random_dense((5, 7), dtype)
    if fill_value == 1:
        dense = np.where(dense == 0, np.ones(1, dtype), np.zeros(1, dtype))
    made = array(dense, name, fill_value=fill_value)
    assert made.dtype == dtype
    assert made.fill_value == fill_value
    assert np.array_equal(made.todense(), dense)
    assert np.array_equal(made.T.todense(), dense.T)
    assert np.array_equal(made.to_format("csc").todense(), dense)
    assert np.array_equal(
        array(dense, "csc", fill_value=fill_value).to_format(name).todense(), dense
    )


@pytest.mark.parametrize("name", names(2))
def test_nan_fills_and_values(name):
    dense = random_dense((5, 7))
    dense[dense == 3] = np.inf
    for fill_value in (np.nan, np.inf):
        holes = np.where(dense == 0, fill_value, dense)
        made = array(holes, name, fill_value=fill_value)
        assert np.array_equal(made.todense(), holes, equal_nan=True)
        back = made.to_format("coo").to_format(name)
        assert np.array_equal(back.todense(), holes, equal_nan=True)


@pytest.mark.parametrize("name", names(2))
@given(data=st.data())
def test_any_entries_survive(name, data):
    shape = data.draw(st.tuples(st.integers(0, 9), st.integers(0, 9)))
    cell = st.tuples(*(st.integers(0, max(extent - 1, 0)) for extent in shape))
    cells = data.draw(st.lists(cell, max_size=9)) if 0 not in shape else []
    coords = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    values = np.arange(1.0, len(cells) + 1)
    dense = np.zeros(shape)
    np.add.at(dense, tuple(coords), values)
    try:
        made = from_coords(coords, values, shape, name)
    except FormatError as error:
        assert "a conversion never drops a value" in str(error)
        return
    assert np.array_equal(made.todense(), dense)
    found, entries = made.to_coords()
    again = np.zeros(shape)
    np.add.at(again, tuple(found), entries)
    assert np.array_equal(again, dense)
    assert made.nnz == len(entries)
    assert str(made.nnz) in repr(made)


@pytest.mark.parametrize("shape", [(6, 8), (5, 7), (7, 5), (1, 9)], ids=str)
def test_entries_of_blocks_and_diagonals_are_counted_as_scipy_counts_them(shape):
    dense = random_dense(shape)
    matrix = scipy.sparse.csr_array(dense)
    made = array(dense, "dia")
    offsets = (made.levels[0]["crd"] - (shape[0] - 1)).tolist()
    assert offsets == matrix.todia().offsets.tolist()
    # as wide as the matrix: todia leaves out columns without an entry
    whole = np.ones((len(offsets), shape[1]))
    assert made.nnz == scipy.sparse.dia_array((whole, offsets), shape=shape).nnz
    if shape == (6, 8):
        blocks = matrix.tobsr((2, 2))
        blocks.sort_indices()
        made = array(dense, "bcsr(2, 2)")
        assert made.nnz == blocks.nnz
        assert np.array_equal(made.levels[1]["pos"], blocks.indptr)
        assert np.array_equal(made.levels[1]["crd"], blocks.indices)
        assert np.array_equal(made.values, blocks.data.reshape(-1))


def test_padding_outside_the_shape_is_never_visible():
    made = array(np.ones((3, 3)), "bcsr(2, 2)")
    assert len(made.values) == 16
    assert made.nnz == 9
    made.values[:] = np.arange(16.0)
    assert made.todense().tolist() == [[0, 1, 4], [2, 3, 6], [8, 9, 12]]
    diagonal = array(np.array([[0.0, 1.0], [0.0, 0.0]]), "dia")
    diagonal.values[:] = [2.0, 99.0]
    assert diagonal.todense().tolist() == [[0, 2], [0, 0]]
    rows = array(np.array([[1.0, 2.0], [0.0, 3.0]]), "ell")
    rows.values[:] = [1.0, 2.0, 3.0, 99.0]
    assert rows.todense().tolist() == [[1, 2], [0, 3]]
    assert rows.to_coords()[1].tolist() == [1, 2, 3]


def test_a_block_with_too_many_entries_is_refused_and_zeros_do_not_count():
    dense = np.array([[1.0, 2.0, 3.0, 0.0]])
    with pytest.raises(
        FormatError, match="at most 2 entries in each block of 4, got 3"
    ):
        array(dense, "nm(2, 4)")
    stored = from_coords([[0, 0, 0], [0, 1, 2]], [1.0, 0.0, 3.0], (1, 4))
    made = stored.to_format("nm(2, 4)")
    assert made.levels[2]["crd"].tolist() == [0, 2]
    assert made.levels[2]["crd"].dtype == np.uint8
    assert made.values.tolist() == [1, 3]
    short = array(np.array([[0.0, 5.0, 0.0, 0.0]]), "nm(2, 4)")
    assert short.levels[2]["crd"].tolist() == [0, 1]
    assert short.values.tolist() == [0, 5]
    assert short.nnz == 2


def test_large_shapes():
    coords = np.array([[2**61, 5], [2**60, 2**61]])
    made = from_coords(coords, [1.0, 2.0], (2**62, 2**62), "coo")
    diagonals = "(i, j) -> (j - i: compressed, i: compressed)"
    found, values = made.to_format(diagonals).to_coords()
    assert sorted(zip(*found.tolist(), values, strict=True)) == [
        (5, 2**61, 2.0),
        (2**61, 2**60, 1.0),
    ]
    blocks = "(i, j) -> (i // 3: compressed, j: compressed, i % 3: dense)"
    assert np.array_equal(made.to_format(blocks).to_format("coo").nnz, 6)
    with pytest.raises(KernelMemoryError, match="fit in memory"):
        made.to_format("dia")
    with pytest.raises(KernelMemoryError):
        made.to_format("bitmap")
    with pytest.raises(ShapeError, match="expected extents whose sum"):
        from_coords([[0], [0]], [1.0], (2**63 - 1, 2), diagonals)
