"""How often loops run, counted by the loop IR interpreter."""

import numpy as np
import pytest
from oracle_check import counted

import sparray as sp
from sparray.dispatch import evaluate


def iterations(subscripts, *operands, format=None):
    """Return the iterations of all loops of all kernels."""
    return counted(lambda: evaluate(subscripts, *operands, format=format))[0]


def diagonal(n, entries, format, shape=None):
    at = np.arange(entries)
    return sp.from_coords([at, at], np.ones(entries), shape or (n, n), format)


def grows(work, times):
    """Tell by how much work grows from one size to the next."""
    small, large = work
    return large / small < times


def test_sampled_products_grow_with_the_entries():
    k = np.ones((40, 3)), np.ones((80, 3))
    work = [
        iterations("ij,ik,jk->ij", diagonal(n, 20, "csr"), dense, dense)
        for n, dense in zip((40, 80), k, strict=True)
    ]
    assert grows(work, 2.2)
    work = [
        iterations("ij,ik,jk->ij", diagonal(80, e, "coo"), k[1], k[1]) for e in (20, 40)
    ]
    assert grows(work, 2.2)


@pytest.mark.parametrize("format", ["coo", "dcsr"])
def test_sampled_products_do_not_grow_with_the_extents(format):
    work = []
    for n in (40, 4000):
        dense = np.ones((n, 3))
        work.append(iterations("ij,ik,jk->ij", diagonal(n, 20, format), dense, dense))
    assert work[0] == work[1] > 0


@pytest.mark.parametrize("subscripts", ["ij,j->i", "ij->i", "ij->", "ij,ij->ij"])
def test_stored_rows_alone_count_where_rows_are_compressed(subscripts):
    work = []
    for n in (100, 10_000):
        a = diagonal(n, 10, "dcsr")
        others = {"ij,j->i": [np.ones(n)], "ij,ij->ij": [a.copy()]}.get(subscripts, [])
        work.append(iterations(subscripts, a, *others))
    assert work[0] == work[1] > 0


def test_products_of_sparse_arrays_grow_with_their_products():
    def work(n):
        a = diagonal(n, n, "csr")
        return iterations("ij,jk->ik", a, a)

    assert grows((work(50), work(100)), 2.2)


def test_conversions_grow_with_the_entries_and_rows():
    csc = sp.Format.parse("csc", 2)

    def work(n):
        return iterations("ij->ij", diagonal(n, n, "csr"), format=csc)

    assert grows((work(50), work(100)), 2.2)


def test_an_intersection_ends_with_the_shorter_operand():
    a, b = diagonal(1000, 3, "dcsr"), diagonal(1000, 1000, "dcsr")
    assert iterations("ij,ij->ij", a, b) < 100


@pytest.mark.parametrize("format", ["dcsr", "csf", "csr"])
def test_a_short_operand_gallops_through_a_long_one(format):
    # The short one's coordinates lie all over the long one's.
    def work(n):
        at = np.arange(0, n, n // 8)
        short = sp.from_coords([0 * at, at], np.ones(len(at)), (1, n), format)
        long = sp.array(np.ones((1, n)), format=format)
        return iterations("ij,ij->", short, long)

    assert work(1000) < work(50_000) < 2.5 * work(1000)


@pytest.mark.parametrize("long", ["csf", "coo", "dense", "bitmap"])
def test_an_inner_product_of_vectors_takes_as_long_as_the_short_one(long):
    def work(n):
        at = np.arange(0, n, n // 8)
        short = sp.from_coords([at], np.ones(len(at)), (n,), "csf")
        other = np.ones(n) if long == "dense" else sp.array(np.ones(n), format=long)
        return iterations("i,i->", short, other), iterations("i,i->", other, short)

    # A search of the long one takes a few steps more; a place of a dense one none.
    for small, large in zip(work(1000), work(50_000), strict=True):
        assert large < 2.5 * small < 1000


def test_a_loop_over_positions_has_a_step_for_each_entry():
    by_hand = sp.schedule("fuse(i, j).pos(i, A)")
    dense = {n: np.ones((n, 3)) for n in (40, 4000)}

    def work(n, format):
        a = diagonal(n, 20, format)
        return counted(
            lambda: sp.einsum("ij,ik,jk->ij", a, dense[n], dense[n], schedule=by_hand)
        )[0]

    # Each entry has a step and three products; of a list nothing else counts.
    assert work(40, "coo") == work(4000, "coo") == 20 * (1 + 3)
    # Rows of compressed ones are passed once, those without entries are not stored.
    assert work(40, "dcsr") == work(4000, "dcsr") <= 20 * (1 + 3 + 1)


def scattered(n, format, shift):
    """Return two entries in each row, which no two of these have all in common."""
    at = np.arange(2 * n)
    coords = [at % n, (7 * at + shift) % n]
    return sp.from_coords(coords, np.ones(2 * n), (n, n), format, duplicates="sum")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("csr", "csr"),
        ("coo", "coo"),
        ("csr", "coo"),
        ("dcsr", "dcsr"),
        ("dcsr", "csc"),
        ("csc", "coo"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "C[i,j] = A[i,j] + B[i,j]",
        "C[i,j] = A[i,j] * B[i,j]",
        "s = A[i,j] * B[i,j]",
    ],
)
def test_no_merge_compares_all_entries_with_all(text, first, second):
    def work(n):
        A, B = scattered(n, first, 0), scattered(n, second, 3)
        return counted(lambda: sp.compute(text, A=A, B=B))[0]

    assert grows((work(24), work(48)), 2.5)


def test_three_operands_gallop():
    x = sp.from_coords([[3, 500, 900]], [1.0, 2.0, 3.0], (1000,), "csf")
    y, z = (sp.array(np.arange(1000.0), format="csf") for _ in range(2))
    assert iterations("i,i,i->", x, y, z) < 150


def test_each_loop_is_counted():
    assert iterations("ij->", diagonal(5, 5, "dcsr")) == 10
