"""Shapes changed and arrays joined, in every format, against NumPy."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import ShapeError, UnsupportedError, WouldDensifyError

FORMATS = {
    1: ["coo", "dense"],
    2: [
        *("dense", "csr", "csc", "coo", "dcsr", "csf", "ell", "dia", "bitmap"),
        *("bcsr(2, 2)", "nm(4, 4)"),
    ],
    3: ["dense", "csr", "coo", "csf", "batched_csr"],
}
SHAPES = {1: [(6,)], 2: [(4, 6), (0, 4), (1, 4)], 3: [(2, 3, 4)]}

CALLS = {
    "permute_dims": lambda x, xp: xp.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "moveaxis": lambda x, xp: xp.moveaxis(x, 0, -1),
    "expand_dims": lambda x, xp: xp.expand_dims(x, axis=1),
    "two expand_dims": lambda x, xp: xp.expand_dims(x, axis=(0, -1)),
    "squeeze": lambda x, xp: xp.squeeze(xp.expand_dims(x, axis=(0, -1)), axis=(0, -1)),
    "flip": lambda x, xp: xp.flip(x),
    "flip along 0": lambda x, xp: xp.flip(x, axis=0),
    "roll": lambda x, xp: xp.roll(x, -3),
    "roll along 0": lambda x, xp: xp.roll(x, 5, axis=0),
    "roll along two": lambda x, xp: xp.roll(x, (1, -2), axis=(0, -1)),
    "reshape": lambda x, xp: xp.reshape(x, (-1,)),
    "reshape to two": lambda x, xp: xp.reshape(x, (-1, 2)),
    "reshape to three": lambda x, xp: xp.reshape(x, (1, x.size // 2, 2)),
    "broadcast_to": lambda x, xp: xp.broadcast_to(x, (2, *x.shape)),
    "concat": lambda x, xp: xp.concat([x, x, x], axis=-1),
    "concat along 0": lambda x, xp: xp.concat([x, x], axis=0),
    "concat all": lambda x, xp: xp.concat([x, x], axis=None),
    "stack": lambda x, xp: xp.stack([x, x, x], axis=0),
    "stack last": lambda x, xp: xp.stack([x, x], axis=-1),
    "unstack": lambda x, xp: xp.stack(xp.unstack(x, axis=-1)[::-1]),
    "repeat": lambda x, xp: xp.repeat(x, 2),
    "repeat along 0": lambda x, xp: xp.repeat(x, np.arange(x.shape[0]), axis=0),
    "tile": lambda x, xp: xp.tile(x, (2, 3)),
    "tile once": lambda x, xp: xp.tile(x, 2),
    "block": lambda x, xp: xp.block([[x, x], [x, x]]),
}


def elements(shape, fill):
    rng = np.random.default_rng(len(shape))
    dense = rng.integers(1, 9, shape).astype("int32")
    return np.where(rng.random(shape) < 0.6, np.int32(fill), dense)


def check(found, expected, fill):
    assert (found.shape, found.dtype, found.fill_value) == (
        expected.shape,
        expected.dtype,
        fill,
    )
    np.testing.assert_array_equal(found.todense(), expected)
    sp.from_buffers(found.format, found.shape, found._levels, found.values, fill)


@pytest.mark.parametrize("fill", [0, 3])
@pytest.mark.parametrize(
    ("ndim", "form"), [(n, form) for n, forms in FORMATS.items() for form in forms]
)
def test_every_function(ndim, form, fill):
    for shape in SHAPES[ndim]:
        dense = elements(shape, fill)
        array = sp.array(dense, format=form, fill_value=fill)
        padded = sp.pad(array, (1, 2), constant_values=fill)
        check(padded, np.pad(dense, (1, 2), constant_values=fill), fill)
        for name, call in CALLS.items():
            if ndim == 1 and "two" in name and name.startswith("roll"):
                continue
            try:
                expected = call(dense, np)
            except ValueError:
                with pytest.raises(ShapeError):
                    call(array, sp)
                continue
            found = call(array, sp)
            check(found, expected, fill)
            # What has no dimensions stores its element, and so do stacks of it.
            if ndim > 1 or name != "unstack":
                assert found.format.is_dense == array.format.is_dense


def test_formats_of_results():
    array = sp.array(elements((4, 6), 0), format="csr")
    for same in (sp.flip(array), sp.concat([array, array]), array.reshape(6, 4)):
        assert same.format.name == "csr"
    assert array.transpose().format.name == "csc"
    assert np.shares_memory(array.transpose(1, 0).values, array.values)
    assert array.reshape(-1).format.name == "coo"
    assert sp.reshape(array.to_format("csf"), (2, 2, 6)).format.name == "csf"
    mixed = sp.concat([elements((4, 6), 0), array], axis=1)
    assert mixed.format.name == "csr"
    assert mixed.nnz == 2 * array.nnz


@pytest.mark.parametrize(("form", "axis"), [("csr", 0), ("csc", 1)])
def test_rows_that_follow_each_other(form, axis):
    dense = elements((4, 6), 0)
    array = sp.array(dense, format=form)
    wide = sp.from_buffers(
        array.format,
        array.shape,
        [{k: b.astype("int64") for k, b in one.items()} for one in array.levels],
        array.values.astype("float64"),
    )
    empty = sp.zeros((0, 6) if axis == 0 else (4, 0), format=form, dtype="int32")
    found = sp.concat([array, empty, wide, array], axis=axis)
    check(found, np.concatenate([dense, 1.0 * dense, dense], axis=axis), 0)
    assert (found.index_dtype, found.format.name) == (np.int64, form)
    assert sp.concat([array, array], axis=axis).index_dtype == np.int32


def test_dtypes_and_dense_arrays_of_another_fill_value():
    array = sp.array([[7, 1]], format="csr", fill_value=7)
    found = sp.concat([array, np.array([[7.0, 0.0]])])
    assert (found.dtype, found.nnz, found.fill_value) == (np.float64, 2, 7)
    assert found.todense().tolist() == [[7, 1], [7, 0]]


def test_shapes_without_an_end():
    array = sp.from_coords([[5, 2**40], [7, 1]], [1.0, 2.0], (2**41, 2**41), "coo")
    flat = array.reshape(2**10, 2**31, 2**41)
    assert flat[2**9, 0, 1] == 2.0
    turned = sp.reshape(array, (2**31, 2**10, 2**10, 2**31))
    assert turned.reshape(array.shape)[5, 7] == 1.0
    assert sp.roll(array, 2**41 - 1, axis=0)[4, 7] == 1.0
    deep = sp.from_coords([[1]] * 64, [3.0], (2,) * 64, "coo")
    # Elements past what int64 numbers are numbered by Python's integers.
    assert deep.reshape(2**32, 2**32)[2**32 - 1, 2**32 - 1] == 3.0
    assert sp.permute_dims(deep, range(63, -1, -1)).nnz == 1


def test_numpy_calls_them():
    dense = elements((4, 6), 0)
    array = sp.array(dense, format="csr")
    for call in (
        lambda x: np.concatenate([x, x], axis=1),
        lambda x: np.stack([x, x]),
        lambda x: np.moveaxis(x, 0, 1),
        lambda x: np.transpose(x),
        lambda x: np.flip(x, 0),
        lambda x: np.roll(x, 2, 1),
        lambda x: np.reshape(x, (6, 4)),
        lambda x: np.tile(x, 2),
        lambda x: np.broadcast_to(x, (2, 4, 6)),
    ):
        np.testing.assert_array_equal(call(array).todense(), call(dense))


def test_arrays_that_are_broadcast_together():
    first, second = sp.broadcast_arrays(sp.array([[1], [0]]), np.array([2, 0, 3]))
    assert first.todense().tolist() == [[1, 1, 1], [0, 0, 0]]
    assert second.todense().tolist() == [[2, 0, 3], [2, 0, 3]]
    assert sp.broadcast_shapes((4, 1), (3,), ()) == (4, 3)


A = np.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: sp.reshape(x, (4, 2)), ShapeError, r"6 elements.*got \(4, 2\)"),
        (lambda x: sp.reshape(x, (-1, 4)), ShapeError, "6 elements"),
        (lambda x: sp.reshape(x, 6, copy=False), UnsupportedError, "new buffers"),
        (lambda x: sp.permute_dims(x, (0,)), ShapeError, "each of the 2 dimensions"),
        (lambda x: sp.moveaxis(x, 0, (0, 1)), ShapeError, "1 axes"),
        (lambda x: sp.squeeze(x, 0), ShapeError, "extent 1"),
        (lambda x: sp.expand_dims(x, axis=5), ShapeError, "axis"),
        (lambda x: sp.roll(x, (1, 2), axis=0), ShapeError, "one for each"),
        (lambda x: sp.concat([]), ShapeError, "at least one"),
        (lambda x: sp.concat([x, x.T]), ShapeError, r"\(2, 3\) and \(3, 2\)"),
        (lambda x: sp.stack([x, x.T]), ShapeError, r"\(2, 3\) and \(3, 2\)"),
        (lambda x: sp.stack([]), ShapeError, "at least one"),
        (lambda x: sp.block([[x], x]), ShapeError, "one depth"),
        (lambda x: sp.block([]), ShapeError, "not empty"),
        (lambda x: sp.repeat(x, [1, -1], axis=0), ShapeError, "from 0 on"),
        (lambda x: sp.tile(x, 0.5), ShapeError, "from 0 on"),
        (lambda x: sp.pad(x, 1, constant_values=4), WouldDensifyError, "fill value"),
        (lambda x: sp.pad(x, 1, "edge"), UnsupportedError, "constant"),
        (lambda x: sp.pad(x, [(1, 2, 3)]), ShapeError, "pair"),
        (lambda x: sp.broadcast_to(x, (3, 3)), ShapeError, "broadcast"),
        (lambda x: sp.concat([x, sp.ones((2, 3))]), WouldDensifyError, "48 bytes"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(sp.array(A, format="csr"))
