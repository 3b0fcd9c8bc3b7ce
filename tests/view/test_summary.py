"""What ``repr`` says of an array."""

import numpy as np
import pytest

import sparray as sp
from sparray._kernels.sizes import byte_text
from sparray.view.labels import level_labels


def test_bytes_of_each_buffer(dense_example):
    assert repr(sp.array(dense_example, "csr")) == (
        "<SparseArray csr, shape (4, 6), float64: 6 stored entries, density 0.25, "
        "92 B (pos 20 B, crd 24 B, values 48 B)>"
    )


def test_buffers_are_named_with_their_level_where_several_have_one(dense_example):
    assert "(i.pos 8 B, i.crd 12 B, j.pos 16 B, j.crd 24 B, values 48 B)" in repr(
        sp.array(dense_example, "dcsr")
    )
    # the levels of a transposed format are named by what they store
    assert "(j.pos 8 B, j.crd" in repr(sp.array(dense_example, "dcsc"))


def test_text_is_that_of_repr(dense_example):
    made = sp.array(dense_example, "coo")
    assert str(made) == repr(made)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (
            sp.array(np.float32(3)),
            "<SparseArray dense, shape (), float32: 1 stored entry, density 1, 4 B>",
        ),
        (
            sp.array(np.zeros((3, 0)), "csr"),
            "<SparseArray csr, shape (3, 0), float64: 0 stored entries, density none, "
            "16 B (pos 16 B, crd 0 B, values 0 B)>",
        ),
        (
            sp.array(np.full((2, 2), 2.5), "dcsr", fill_value=2.5),
            "<SparseArray dcsr, shape (2, 2), float64: 0 stored entries, density 0, "
            "12 B (i.pos 8 B, i.crd 0 B, j.pos 4 B, j.crd 0 B, values 0 B), "
            "fill value 2.5>",
        ),
        (
            sp.array(np.array([np.nan, 1j]), fill_value=np.nan),
            "<SparseArray coo, shape (2,), complex128: 1 stored entry, density 0.5, "
            "28 B (pos 8 B, crd 4 B, values 16 B), fill value nan+0j>",
        ),
    ],
    ids=["0-d", "extent 0", "fill value", "complex"],
)
def test_odd_arrays(made, text):
    assert repr(made) == text


def test_sixty_four_dimensions_stay_one_paragraph():
    made = sp.from_coords(np.ones((64, 1), int), [1.0], (2**40,) * 64, "csf")
    text = repr(made)
    assert len(text) < 250
    assert "of 64 dimensions" in text
    assert "density below 1e-300" in text
    assert "(64 pos 1024 B, 64 crd 512 B, values 8 B)" in text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (9_999, "9999 B"),
        (10_000, "10 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (2**40, "1.1 TB"),
        (10**18, "1 EB"),
    ],
)
def test_sizes(n_bytes, text):
    assert byte_text(n_bytes) == text


def test_labels_of_levels_with_properties():
    format = sp.Format.parse("coo", 3)
    assert level_labels(format) == [
        "i: compressed(nonunique)",
        "j: singleton(nonunique)",
        "k: singleton",
    ]
    assert level_labels(sp.Format.parse("dense", 0)) == []
