"""Slices with buffers of their own: what is stored, what is refused, what is shared."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import CoordinateError, FormatError, InvalidBufferError
from sparray.formats import Batch, Compressed, Dense, Format, Level
from sparray.formats.slices import cut_slices, join_slices, joined_format, slice_format

DENSE = np.array(
    [
        [[0, 2, 0], [0, 0, 0], [3, 0, 4]],
        [[0, 0, 0], [0, 5, 0], [0, 0, 0]],
        [[6, 0, 0], [0, 0, 7], [8, 0, 0]],
    ],
    dtype=np.float64,
)
DCSR = "(b, i, j) -> (b: batch, i: compressed, j: compressed)"


def test_each_slice_has_its_own_pos():
    made = sp.array(DENSE, "batched_csr")
    assert made.levels[:2] == ({}, {})
    pos = made.levels[2]["pos"].reshape(3, 4)
    assert pos.tolist() == [[0, 1, 1, 3], [0, 0, 1, 1], [0, 1, 2, 3]]
    assert made.levels[2]["crd"].tolist() == [1, 0, 2, 1, 0, 0, 0, 2, 0]
    assert made.values.tolist() == [2, 3, 4, 5, 0, 0, 6, 7, 8]
    assert made.nnz == 7
    assert "7 stored entries" in repr(made)


def test_levels_below_have_parents_of_their_own_slice():
    levels = sp.array(DENSE, DCSR).levels
    assert levels[1]["pos"].tolist() == [0, 2, 0, 1, 0, 3]
    assert levels[1]["crd"].tolist() == [0, 2, 0, 1, 0, 0, 0, 1, 2]
    pos = levels[2]["pos"].reshape(3, 4)
    assert pos.tolist() == [[0, 1, 3, 3], [0, 1, 1, 1], [0, 1, 2, 3]]


def test_unused_ends_are_never_visible():
    made = sp.array(DENSE, "batched_csr")
    crd, values = made.levels[2]["crd"].copy(), made.values.copy()
    crd[4:6], values[4:6] = [77, -9], [np.nan, np.inf]
    levels = [{}, {}, {"pos": made.levels[2]["pos"], "crd": crd}]
    odd = sp.from_buffers("batched_csr", DENSE.shape, levels, values)
    assert odd.nnz == 7
    assert np.array_equal(odd.todense(), DENSE)
    assert np.array_equal((odd + odd).todense(), 2 * DENSE)
    assert np.array_equal(sp.einsum("bij->b", odd), DENSE.sum((1, 2)))
    assert odd.sum() == DENSE.sum()
    assert "77" in sp.draw(odd).text.splitlines()[-2]
    assert "nan" not in sp.draw(odd).text.split("\n\n")[1]


@pytest.mark.parametrize("name", ["batched_csr", "batched_csc", "batched_bcsr(2, 3)"])
def test_a_slice_shares_the_buffers(name):
    made = sp.array(DENSE, name)
    for number in range(-3, 3):
        one = made.batch_slice(number)
        assert one.format == sp.Format.parse(name.removeprefix("batched_"), 2)
        assert np.array_equal(one.todense(), DENSE[number])
        assert np.shares_memory(one.values, made.values)
        for mine, others in zip(one.levels, made.levels[1:], strict=True):
            assert all(np.shares_memory(mine[role], others[role]) for role in mine)
        again = sp.from_buffers(one.format, one.shape, one.levels, one.values)
        assert again.nnz == one.nnz


def test_slices_of_other_levels_and_orders():
    formats = {
        DCSR: lambda n: DENSE[n],
        "(i, j, b) -> (b: batch, j: dense, i: padded)": lambda n: DENSE[:, :, n],
        "(i, b, j) -> (b: batch, i: hashed, j: compressed)": lambda n: DENSE[:, n],
        "(i, b, j) -> (b: batch, j - i: compressed, i: range)": lambda n: DENSE[:, n],
    }
    for text, expected in formats.items():
        made = sp.array(DENSE, text)
        for number in range(3):
            one = made.batch_slice(number)
            assert np.array_equal(one.todense(), expected(number))
            assert one.format == slice_format(made.format)
    both = sp.array(DENSE, "(a, b, j) -> (b: batch, a: batch, j: compressed)")
    assert np.array_equal(both.batch_slice(2, 0).todense(), DENSE[0, 2])


def test_slices_that_are_not_there():
    made = sp.array(DENSE, "batched_csr")
    for numbers in [(3,), (-4,), (), (0, 0)]:
        with pytest.raises(CoordinateError, match="batch_slice: expected a coordinate"):
            made.batch_slice(*numbers)
    for name in ("csr", "(b, i, j) -> (b: batch, i: dense, j: dense)"):
        with pytest.raises(FormatError, match="expected a format with batch levels"):
            sp.array(DENSE, name).batch_slice(0)


def broken(**changes):
    pos = np.array([0, 1, 1, 3, 0, 0, 1, 1, 0, 1, 2, 3])
    crd = np.array([1, 0, 2, 1, 0, 0, 0, 2, 0])
    buffers = {"pos": pos, "crd": crd} | changes
    values = buffers.pop("values", np.ones(9))
    return [{}, {}, buffers], values


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pos": np.zeros(11, int)}, "pos: expected a number of elements that 3"),
        ({"pos": np.zeros(9, int)}, "pos: expected 4 elements in each slice, got 3"),
        ({"pos": np.array([0, 1, 1, 3, 1, 1, 1, 1, 0, 1, 2, 3])}, "0 in slice 1"),
        ({"pos": np.array([0, 1, 1, 3, 0, 0, 1, -1, 0, 1, 2, 3])}, "0 or more in sl"),
        ({"pos": np.array([0, 1, 1, 3, 0, 0, 1, 4, 0, 1, 2, 3])}, "crd: expected 4 "),
        ({"pos": np.array([0, 1, 1, 3, 0, 2, 1, 1, 0, 1, 2, 3])}, "do not decrease"),
        ({"pos": np.array([0, 1, 1, 3, 0, -5, 1, 1, 0, 1, 2, 3])}, "do not decrease"),
        ({"pos": np.array([0.0] * 12)}, "pos: expected integers"),
        ({"pos": np.array([0] * 12, np.int16)}, "pos: expected dtype int32 or int64"),
        ({"crd": np.array([1, 0, 2, 3, 0, 0, 0, 2, 0])}, r"in \[0, 3\), got crd"),
        ({"crd": np.array([1, 2, 0, 1, 0, 0, 0, 2, 0])}, "ascend in each fibre"),
        ({"crd": np.zeros(9, np.int32)}, "one index dtype"),
        ({"crd": np.zeros(8, int)}, "crd: expected a number of elements"),
        ({"more": np.zeros(8, int)}, "buffers of a compressed level"),
        ({"values": np.ones(6)}, "values: expected 3 elements in each slice, got 2"),
        ({"values": np.ones((3, 3))}, "values: expected 1 dimension"),
    ],
)
def test_malformed_buffers_are_refused(changes, message):
    levels, values = broken(**changes)
    with pytest.raises(InvalidBufferError, match=message):
        sp.from_buffers("batched_csr", (3, 3, 3), levels, values)


def test_what_all_slices_share_is_the_same_in_all():
    made = sp.array(DENSE, "(b, i, j) -> (b: batch, i: dense, j: padded)")
    width = np.array([2, 1, 2], np.int32)
    levels = [{}, {}, {**made.levels[2], "width": width}]
    with pytest.raises(InvalidBufferError, match="the same in all, got 1 in each that"):
        sp.from_buffers(made.format, made.shape, levels, made.values)


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0)], ids=str)
@pytest.mark.parametrize(
    "name", ["batched_csr", DCSR, "(b, i, j) -> (b: batch, i: dense, j: padded)"]
)
def test_nothing_to_store(shape, name):
    made = sp.array(np.zeros(shape), name)
    assert made.nnz == 0
    again = sp.from_buffers(name, shape, made.levels, made.values)
    assert again.todense().shape == shape
    assert (again + made).nnz == 0


def test_random_damage_is_found_or_harmless():
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(300):
        levels, values = broken()
        buffer = levels[2][str(rng.choice(["pos", "crd"]))]
        buffer[rng.integers(0, len(buffer))] = rng.choice([-1, 0, 1, 2, 3, 9, 2**62])
        try:
            made = sp.from_buffers("batched_csr", (3, 3, 3), levels, values)
        except InvalidBufferError:
            found += 1
            continue
        coords, _ = made.to_coords()
        assert coords.shape[1] == made.nnz
        assert np.all((coords >= 0) & (coords < 3))
    assert 100 < found < 300


def test_join_and_cut_are_inverse():
    for name in ("batched_csr", DCSR, "batched_bcsr(2, 2)"):
        made = sp.array(DENSE, name)
        joined = join_slices(made.format, made.shape, made._levels, made.values)
        assert joined.format == joined_format(made.format)
        levels, values = cut_slices(
            made.format, made.shape, joined.levels, joined.values
        )
        assert np.array_equal(values, made.values)
        for mine, others in zip(levels, made.levels, strict=True):
            assert all(np.array_equal(mine[role], others[role]) for role in others)


def test_batch_levels_stand_above_all_others():
    with pytest.raises(FormatError, match="a batch level stands above all others"):
        Format.parse("(i, b, j) -> (i: dense, b: batch, j: compressed)")
    with pytest.raises(FormatError, match="a batch level stores a whole dimension"):
        Format.parse("(i, j) -> (i // 2: batch, i % 2: dense, j: compressed)")
    with pytest.raises(FormatError, match="singleton level needs a level above"):
        Format.parse("(i, j) -> (i: batch, j: singleton)")


class Opaque(Level):
    """A level whose buffer has elements for nothing in particular."""

    __slots__ = ()
    name = "opaque"
    roles = ("table",)


def test_a_level_that_cannot_be_sliced_is_refused():
    with pytest.raises(FormatError, match="do not fall into slices"):
        Format([Batch(), Opaque()])
    assert Format([Dense(), Opaque()]).n_levels == 2


def test_slices_of_full_levels_are_nothing_special():
    format = Format([Batch(), Dense(), Dense()])
    assert format.batch_ndim == 0
    assert format.is_dense
    assert Format([Batch(), Dense(), Compressed()]).batch_ndim == 1
    made = sp.array(DENSE, format)
    assert np.array_equal(sp.einsum("bij,bjk->bik", made, DENSE), DENSE @ DENSE)


def test_kernels_take_the_length_of_a_slice():
    kernel = sp.compile("C[b,i,k] = A[b,i,j] * B[j,k]", A="batched_csr")
    assert "A3_crd_slice" in kernel.source
    right = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(kernel(sp.array(DENSE, "batched_csr"), right), DENSE @ right)
