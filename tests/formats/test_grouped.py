"""Grouped n:m: what fits is packed, whatever the freedom; what does not is refused."""

import time
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparray as sp
from sparray.errors import FormatError, KernelMemoryError, PatternError
from sparray.formats import Dense, Format, Grouped, Permuted, named_format
from sparray.formats.level_expression import Quotient, Remainder


def fitting(rng, shape, n, m, g, share):
    """Return a matrix of entries that fit; ``share`` of the places are used."""
    level = Grouped(n, m, g)
    rows, columns = -(-shape[0] // m), -(-shape[1] // level.period)
    places = np.tile(np.arange(level.period), (rows, columns, 1))
    pattern = rng.permuted(places, axis=2) // g
    kept = np.zeros((rows, columns, level.period, m), bool)
    chosen = np.array(level.patterns)[pattern]
    np.put_along_axis(kept, chosen, True, axis=3)
    kept &= rng.random(kept.shape) < share
    flat = kept.transpose(0, 3, 1, 2).reshape(rows * m, columns * level.period)
    values = rng.integers(1, 100, flat.shape) * flat
    return values[: shape[0], : shape[1]].astype("float64")


@given(data=st.data())
def test_what_fits_is_packed(data):
    n, m, g = data.draw(
        st.sampled_from([(1, 1, 1), (1, 3, 2), (2, 4, 1), (2, 4, 3), (3, 5, 1)])
    )
    shape = data.draw(st.tuples(st.integers(0, 11), st.integers(0, 40)))
    share = data.draw(st.sampled_from([0.0, 0.2, 0.6, 0.9, 1.0]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    dense = fitting(rng, shape, n, m, g, share)
    made = sp.array(dense, f"nmg({n}, {m}, {g})")
    assert np.array_equal(made.todense(), dense)
    again = sp.from_buffers(made.format, shape, made.levels, made.values)
    assert again.nnz == made.nnz
    # A row of columns that is there wholly has n entries for each of them.
    if shape[0] % m == 0 and shape[1] % (comb(m, n) * g) == 0:
        assert made.nnz == n * (shape[0] // m) * shape[1]
    assert np.count_nonzero(made.values) == np.count_nonzero(dense)


def test_the_layout_is_that_of_the_documentation():
    dense = np.array([[1.0, 0, 0, 4], [0, 2, 3, 0], [0, 6, 0, 8], [5, 0, 7, 0]])
    made = sp.array(dense, "nmg(1, 2, 2)")
    assert str(made.format) == (
        "(i, j) -> (i // 2: dense, j // 4: dense, j % 4: permuted, "
        "i % 2: grouped(1, 2, 2))"
    )
    assert made.levels[2]["crd"].tolist() == [0, 3, 1, 2, 1, 3, 0, 2]
    assert made.values.tolist() == [1, 4, 2, 3, 6, 8, 5, 7]
    assert [level.keys() for level in made.levels] == [set(), set(), {"crd"}, set()]


def test_columns_share_patterns_in_the_order_of_the_combinations():
    rng = np.random.default_rng(1)
    dense = fitting(rng, (8, 24), 2, 4, 2, 1.0)
    made = sp.array(dense, "nmg(2, 4, 2)")
    crd = made.levels[2]["crd"].reshape(2, 2, 6, 2)
    values = made.values.reshape(2, 2, 6, 2, 2)
    for block, chunk, group, member in np.ndindex(crd.shape):
        column = chunk * 12 + crd[block, chunk, group, member]
        rows = block * 4 + np.array(Grouped(2, 4, 2).patterns[group])
        assert np.array_equal(values[block, chunk, group, member], dense[rows, column])


TOO_MANY = np.zeros((8, 12))
TOO_MANY[4:7, 7] = 1
ONE_PATTERN = np.zeros((8, 12))
ONE_PATTERN[4:6, 6:8] = 1
ONE_ROW = np.zeros((8, 12))
ONE_ROW[7, 6:10] = 1


@pytest.mark.parametrize(
    ("dense", "message"),
    [
        (TOO_MANY, "at most 2 entries in each block of 4, got 3"),
        (ONE_PATTERN, r"1 columns of a chunk .* got 2 that fit only the 1 places"),
        (ONE_ROW, r"got 4 that fit only the 3 places of \(\d, 3\)"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(dense, message):
    with pytest.raises(PatternError, match=message) as caught:
        sp.array(dense, "nmg(2, 4, 1)")
    text = str(caught.value)
    assert "a conversion never drops a value" in text
    assert "at i // 4 = 1, j // 6 = 1 with the entry (" in text
    row, column = np.argwhere(dense)[0]
    assert caught.value.entry is not None
    assert 4 <= row < 8
    assert 6 <= column < 12


def test_zeros_need_no_place_and_repeats_are_told_apart():
    coords = np.array([[0, 1, 2], [0, 0, 0]])
    made = sp.from_coords(coords, [1.0, 0.0, 0.0], (3, 1), "nmg(1, 3, 1)")
    assert made.todense().tolist() == [[1], [0], [0]]
    with pytest.raises(FormatError, match="sum duplicates"):
        sp.from_coords(
            [[0, 0], [0, 0]], [1.0, 2.0], (3, 1), "nmg(1, 3, 1)", duplicates="keep"
        )


def test_padding_outside_the_shape_is_never_visible():
    made = sp.array(np.ones((1, 1)), "nmg(1, 2, 1)")
    assert len(made.values) == 2
    assert made.nnz == 1
    made.values[:] = [5.0, 99.0]
    assert made.todense().tolist() == [[5]]
    assert (made @ np.ones(1)).tolist() == [5]
    assert made.to_coords()[1].tolist() == [5]


def test_other_fill_values():
    dense = np.full((4, 6), 7.0)
    dense[[0, 1], [2, 3]] = 1, 0
    made = sp.array(dense, "nmg(2, 4, 1)", fill_value=7)
    assert np.array_equal(made.todense(), dense)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Grouped(3, 2, 1), "1 <= n <= m and 1 <= g, got 3, 2 and 1"),
        (lambda: Grouped(1, 2, 0), "got 1, 2 and 0"),
        (lambda: Grouped(8, 16, 1), "16384 coordinates in all at most, got every"),
        (lambda: Grouped(10**17, 10**18, 1), "got every choice of"),
        (lambda: Grouped(10**17, 10**17, 1), "got every choice of"),
        (lambda: Grouped(2, 4, 2**62), r"C\(m, n\) \* g \* n up to"),
        (lambda: Grouped.from_arguments([1, 2]), r"numbers \(n, m, g\), got \(1, 2\)"),
        (lambda: named_format("nmg(2, 4)", 2), r"expected nmg\(n, m, g\), got"),
        (lambda: named_format("nmg(1, 2, 3)", 1), "expected 2 or more dimensions"),
        (lambda: named_format("nmg(4, 2, 1)", 2), "1 <= n <= m"),
        (lambda: Permuted(ordered=True), "expected unique and unordered to hold"),
        (lambda: Permuted(unique=False), "expected unique and unordered to hold"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(FormatError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("j % 6: permuted, i % 4: grouped(2, 4, 2)", "expected j % 12 above it"),
        ("i % 4: permuted, j % 6: grouped(2, 4, 1)", "blocks of 4, expected i % 4"),
        ("j % 6: dense, i % 4: grouped(2, 4, 1)", "a permuted level, got grouped"),
        ("j % 6: compressed, i % 4: grouped(2, 4, 1)", "that it can arrange"),
    ],
)
def test_what_a_grouped_level_stands_below(text, message):
    with pytest.raises(FormatError, match=message):
        Format.parse(f"(i, j) -> (i // 4: dense, j // 6: dense, {text})")


def test_other_levels_above():
    format = Format(
        [Dense(), Dense(), Permuted(), Grouped(1, 3, 2)],
        None,
        [Quotient(1, 3), Quotient(0, 6), Remainder(0, 6), Remainder(1, 3)],
    )
    dense = fitting(np.random.default_rng(0), (6, 12), 1, 3, 2, 0.7).T
    assert np.array_equal(sp.array(dense, format).todense(), dense)
    sparse = "(i, j) -> (i // 3: compressed, j // 3: compressed, j % 3: permuted, "
    made = sp.array(dense[:, :2].copy() * 0, f"{sparse}i % 3: grouped(1, 3, 1))")
    assert made.nnz == 0
    dense = np.kron(np.eye(3), np.eye(3)[::-1])
    made = sp.array(dense, f"{sparse}i % 3: grouped(1, 3, 1))")
    assert made.nnz == 9
    assert np.array_equal(made.todense(), dense)
    assert np.array_equal(made @ np.arange(9.0), dense @ np.arange(9.0))


def test_slices_of_a_batch():
    rng = np.random.default_rng(0)
    dense = np.stack([fitting(rng, (4, 12), 1, 2, 2, share) for share in (0.5, 1.0)])
    format = (
        "(i, j, k) -> (i: batch, j // 2: dense, k // 4: dense, k % 4: permuted, "
        "j % 2: grouped(1, 2, 2))"
    )
    made = sp.array(dense, format)
    assert np.array_equal(made.todense(), dense)
    again = sp.from_buffers(format, dense.shape, made.levels, made.values)
    assert np.array_equal(again.to_format("csf").todense(), dense)
    x = np.arange(12.0)
    assert np.array_equal(sp.einsum("bij,j->bi", made, x), dense @ x)


def test_a_permuted_level_alone():
    dense = np.array([[0.0, 1, 2], [0, 0, 3]])
    made = sp.array(dense, "(i, j) -> (j: permuted, i: compressed)")
    assert made.levels[0]["crd"].tolist() == [0, 1, 2]
    turned = (
        {"crd": np.array([2, 0, 1], np.int32)},
        {
            "pos": np.array([0, 2, 2, 3], np.int32),
            "crd": np.array([0, 1, 0], np.int32),
        },
    )
    made = sp.from_buffers(made.format, (2, 3), turned, np.array([2.0, 3, 1]))
    assert np.array_equal(made.todense(), dense)
    assert np.array_equal(made @ np.ones(3), dense @ np.ones(3))
    assert np.array_equal(made.to_format("csr").todense(), dense)
    assert np.array_equal((made + made).todense(), 2 * dense)
    rows = sp.array(dense, "(i, j) -> (i: permuted, j: permuted)")
    assert np.array_equal(rows.todense(), dense)
    assert np.array_equal(rows @ np.ones(3), dense @ np.ones(3))


def test_positions_that_no_integer_counts():
    with pytest.raises(KernelMemoryError, match=r"below|fit in memory"):
        sp.from_coords([[0], [0]], [1.0], (2**62, 2**62), "nmg(2, 4, 1)")


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (0, 2**62), (2**50, 0)])
@pytest.mark.parametrize("name", ["nmg(2, 4, 3)", "nmg(1, 2, 1000000000000000)"])
def test_nothing_takes_no_memory(shape, name):
    made = sp.from_coords(np.empty((2, 0), int), [], shape, name)
    assert made.nnz == 0
    assert len(made.levels[2]["crd"]) == 0
    again = sp.from_buffers(made.format, shape, made.levels, made.values)
    assert again.to_coords()[0].shape == (2, 0)
    alone = "(i, j) -> (i: dense, j: permuted)"
    made = sp.from_coords(np.empty((2, 0), int), [], shape, alone)
    again = sp.from_buffers(alone, shape, made.levels, made.values)
    assert again.to_coords()[0].shape == (2, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m", "g"), [(1, 10, 16), (2, 4, 16), (4, 8, 4)])
@pytest.mark.parametrize("share", [0.6, 1.0])
def test_large_matrices_are_packed_by_arrays(n, m, g, share):
    dense = fitting(np.random.default_rng(0), (768, 3072), n, m, g, share)
    coords = np.array(np.nonzero(dense))
    format, values = named_format(f"nmg({n}, {m}, {g})", 2), dense[dense != 0]
    begin = time.process_time()
    made = sp.from_coords(coords, values, dense.shape, format)
    # A few tenths of a second where nothing else runs; a loop over blocks takes many.
    assert time.process_time() - begin < 5
    assert np.array_equal(made.todense(), dense)
