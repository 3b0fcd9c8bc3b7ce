"""Indexing: every kind of index in every named format against NumPy."""

import numpy as np
import pytest
import scipy.sparse

import sparray as sp
from sparray import dispatch
from sparray.errors import WouldDensifyError

FORMATS = {
    1: ["dense", "coo", "bitmap", "nm(4, 4)"],
    2: [
        *("dense", "csr", "csc", "coo", "dcsr", "dcsc", "csf", "ell", "dia", "bitmap"),
        *("bcsr(2, 2)", "bcsc(2, 3)", "nm(4, 4)", "nmg(4, 4, 1)"),
        "(i, j) -> (j: dense, i: hashed)",
        "(i, j) -> (i: dense, j: compressed(nonunique, unordered))",
    ],
    3: [
        *("dense", "csr", "coo", "csf", "ell", "bitmap", "bcsr(2, 2)"),
        *("batched_csr", "batched_csc", "batched_bcsr(2, 2)"),
        "(i, j, k) -> (k: compressed, i: dense, j: compressed)",
        "(i, j, k) -> (i: dense, k: compressed(nonunique), j: singleton)",
    ],
}
SHAPES = {1: (8,), 2: (5, 7), 3: (3, 4, 4)}
MASK = {ndim: np.arange(np.prod(s)).reshape(s) % 3 == 1 for ndim, s in SHAPES.items()}
ALL, BACK = slice(None), slice(None, None, -1)
POINTS = np.array([[0, 1], [3, 3]])

INDICES = {
    1: [
        *(3, -1, np.int8(2), slice(2, 6), slice(None, None, -2), slice(6, 2), Ellipsis),
        *([0, 0, 3], POINTS, None, (Ellipsis, 1), [], MASK[1], (), np.zeros(8, bool)),
    ],
    2: [
        *(3, -1, (3, 4), (ALL, 2), (slice(1, 4), slice(2, 6))),
        (BACK, slice(5, None, -2)),
        *((Ellipsis, None), (None, slice(2, 4)), (ALL, None, slice(1, 3)), Ellipsis),
        *([4, 0, 0, 2], (ALL, [3, 1, 3]), ([1, 2, 4], [0, 5, 5]), (POINTS, 2)),
        *((np.array([[0], [3], [3]]), np.array([4, 1])), (2, [1, 4]), MASK[2]),
        *(np.ix_([0, 3], [5, 1]), np.array([1, 0, 1, 1, 0], bool), slice(2, 2)),
        *((ALL, np.arange(7) % 2 == 0), ([], ALL), (slice(4, 1), 3), (POINTS, BACK)),
        *((slice(3, 4), slice(2, 3)), (Ellipsis, 3, ALL)),
        (np.array([2]), np.array([3])),
        *((np.array(2),), (0, slice(None, None, 3)), (-1, -7), (POINTS, POINTS)),
        *((slice(None, None, 2), slice(None, None, 3)), MASK[2] & False),
    ],
    3: [
        *(1, (1, 2), (1, 2, 3), (ALL, 1), (Ellipsis, 2), (1, Ellipsis, 0), MASK[3]),
        *((slice(1, 3), slice(0, 2), slice(1, 3)), ([0, 2], ALL, [1, 3])),
        *((0, ALL, [1, 3]), (ALL, [0, 1], [1, 3]), (ALL, 0, [1, 3])),
        *(([[0], [1]], [1, 0], BACK), (ALL, MASK[3][0]), (None, [0, 1], None, ALL)),
        *(np.ix_([0, 2], [1], [3, 0]), (np.array([[0], [2]]), ALL, np.arange(3))),
    ],
}  # fmt: skip


def elements(ndim, fill, dtype):
    rng = np.random.default_rng(ndim)
    dense = rng.integers(1, 9, SHAPES[ndim]).astype(dtype)
    dense[rng.random(SHAPES[ndim]) < 0.6] = fill
    return dense


def check(found, expected, fill):
    """Compare a result with NumPy's, and its buffers with what its format claims."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if not isinstance(found, sp.SparseArray):
        assert expected.shape == ()
        assert found == expected
        return
    assert found.fill_value == fill
    sp.from_buffers(found.format, found.shape, found._levels, found.values, fill)
    np.testing.assert_array_equal(found.todense(), expected)


@pytest.mark.parametrize(("fill", "dtype"), [(0, "int32"), (7, "float64")])
@pytest.mark.parametrize(
    ("ndim", "form"), [(n, form) for n, forms in FORMATS.items() for form in forms]
)
def test_every_index_in_every_format(ndim, form, fill, dtype):
    dense = elements(ndim, fill, dtype)
    array = sp.array(dense, format=form, fill_value=fill)
    for index in INDICES[ndim]:
        found = array[index]
        check(found, dense[index], fill)
        if isinstance(found, sp.SparseArray):
            assert found.format.is_dense == array.format.is_dense
            assert not np.may_share_memory(found.values, array.values)


@pytest.mark.parametrize("mask_form", ["coo", "csr", "csc", "dense"])
@pytest.mark.parametrize("form", FORMATS[2])
def test_sparse_masks(form, mask_form):
    dense = elements(2, 0, "float32")
    mask = sp.array(MASK[2], format=mask_form)
    check(sp.array(dense, format=form)[mask], dense[MASK[2]], 0)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "csf", "bcsr(2, 2)", "ell"])
@pytest.mark.parametrize("fill", [0, 7])
def test_masks_that_share_the_pattern(form, fill):
    dense = elements(2, fill, "float64")
    array = sp.array(dense, format=form, fill_value=fill)
    marked = array.values % 2 == 1
    mask = sp.from_buffers(array.format, array.shape, array._levels, marked)
    check(array[mask], dense[mask.todense()], fill)


def test_repeated_coordinates_are_one_element():
    form = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"
    array = sp.from_coords(
        [[0, 1, 1], [0, 1, 1]], [1.0, 2.0, 3.0], (2, 2), form, duplicates="keep"
    )
    assert array[1, 1] == 5.0
    assert array[1].todense().tolist() == [0.0, 5.0]
    assert array[[1, 1], [1, 0]].todense().tolist() == [5.0, 0.0]


@pytest.mark.parametrize(
    ("form", "index", "expected"),
    [
        ("csr", 0, "csf"),
        ("csr", (ALL, 0), "csf"),
        ("csr", (ALL, slice(1, 3)), "csr"),
        ("csr", [0, 1], "csr"),
        ("csr", None, "csr"),
        ("csc", (ALL, [1, 1]), "csc"),
        ("coo", (0, None, None), "coo"),
        ("dia", (slice(1, 3), slice(1, 3)), "dia"),
        ("bcsr(2, 2)", slice(1, 4), "bcsr(2, 2)"),
        ("dense", 1, "dense"),
    ],
)
def test_formats_of_results(form, index, expected):
    found = sp.array(elements(2, 0, "float64"), format=form)[index]
    assert found.format == sp.Format.parse(expected, found.ndim)


def test_an_index_that_is_new_moves_no_entry():
    array = sp.array(elements(2, 0, "float64"), format="csr")
    assert array[:, :, None].nnz == array.nnz
    assert str(array[:, :, None].format) == (
        "(i, j, k) -> (k: dense, i: dense, j: compressed)"
    )


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (5, r"axis 0 of shape \(5, 7\), from -5 to 4, got 5"),
        ((0, -8), r"axis 1 of shape \(5, 7\), from -7 to 6, got -8"),
        ([0, 9], "axis 0 .*, got 9"),
        ((ALL, np.array([-8])), "axis 1 .*, got -8"),
        ((0, 0, 0), "at most 2 indices .*, got 3"),
        ((Ellipsis, Ellipsis), "one ellipsis"),
        (1.5, r"got 1\.5"),
        ("a", "got 'a'"),
        (np.array([0.5]), "an array of float64"),
        (True, "truth value True"),
        ([[1], [1, 2]], "different lengths"),
        (np.ones(4, bool), r"mask of shape \(5,\) .* one of shape \(4,\)"),
        (([0, 1], [0, 1, 2]), r"\(2,\) and \(3,\)"),
        (slice(0, 2, 0), "axis 0 .* step"),
        (slice("a", None), "axis 0"),
    ],
)
@pytest.mark.parametrize("form", ["csr", "dense", "coo"])
def test_errors_are_index_errors(form, index, message):
    array = sp.array(elements(2, 0, "float64"), format=form)
    with pytest.raises(IndexError, match=message):
        array[index]


def test_a_mask_that_is_true_where_nothing_is_stored_is_refused():
    array = sp.array(elements(2, 0, "float64"), format="csr")
    with pytest.raises(WouldDensifyError, match="todense"):
        array[sp.array(MASK[2], fill_value=True)]


def test_an_empty_axis_has_no_coordinates():
    with pytest.raises(IndexError, match="empty"):
        sp.array(np.zeros((0, 3)), format="csr")[0]
    assert sp.array(np.zeros((0, 3)), format="csr")[:, 1].shape == (0,)


def test_scalars_of_0_dimensions():
    array = sp.array(2.5)
    assert array[()] == 2.5
    assert array[...].shape == ()
    assert array[None].todense().tolist() == [2.5]


@pytest.mark.parametrize("form", ["coo", "csf"])
def test_many_dimensions_and_huge_extents(form):
    coords = np.array([[1, 0, 1]] * 64)
    array = sp.from_coords(coords, [1.0, 2.0, 3.0], (2,) * 64, form)
    assert array[(1,) * 64] == 4.0
    assert array[(0,) * 63].todense().tolist() == [2.0, 0.0]
    points = np.array([[0, 1, 0]] * 63 + [[0, 1, 1]])
    assert array[tuple(points)].todense().tolist() == [2.0, 4.0, 0.0]
    huge = sp.from_coords([[5, 2**62], [7, 2**61]], [1.0, 2.0], (2**62 + 1,) * 2, form)
    assert huge[2**62].nnz == 1
    assert huge[:, 7].nnz == 1
    assert huge[[5, 5, 9], [7, 8, 7]].todense().tolist() == [1.0, 0.0, 0.0]
    assert huge[2**61 :, ::-1][-1, 2**62 - 2**61] == 2.0


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_windows_of_many_entries_share_a_kernel(form):
    rng = np.random.default_rng(0)
    matrix = scipy.sparse.random_array((700, 900), density=0.1, rng=rng, format=form)
    array = sp.array(matrix)
    windows = [
        (slice(3, 600), slice(5, 800)),
        (slice(0, 9), slice(0, 1)),
        (slice(1, 700), slice(7, 900)),
        (slice(2, 2), slice(0, 5)),
    ]
    plans = []
    for window in windows:
        found = array[window]
        np.testing.assert_array_equal(found.todense(), matrix[window].toarray())
        assert found.format == array.format
        plans.append(len(dispatch._calls))
    assert len(set(plans)) == 1
    np.testing.assert_array_equal(
        array[:, 5].todense(), matrix[:, [5]].toarray().ravel()
    )
    np.testing.assert_array_equal(
        array[::-3, ::2].todense(), matrix.toarray()[::-3, ::2]
    )


def test_fibres_taken_oftener_than_32_bits_count_are_wide():
    array = sp.array(np.arange(1, 101)[np.newaxis], format="csr")
    found = array[[0, 0, 0]]
    assert found.nnz == 300
    assert found.index_dtype == np.int32
    wide = sp.from_buffers(
        "csr",
        array.shape,
        [{k: b.astype("int64") for k, b in one.items()} for one in array.levels],
        array.values,
    )
    assert wide[[0, 0]].index_dtype == np.int64
