"""How many products of two operands have the same coordinates."""

import numpy as np
import pytest

import sparray as sp
from sparray.evaluation import product_repeats as module
from sparray.evaluation.product_repeats import product_repeats

N = 1500
PAIR = frozenset("AB")


def band(width, format="csr"):
    rows = np.arange(N).repeat(width)
    columns = np.clip(rows + np.tile(np.arange(width), N) - width // 2, 0, N - 1)
    values = np.ones(rows.size)
    return sp.from_coords([rows, columns], values, (N, N), format, duplicates="sum")


def exact(A, B):
    """Count the products of two matrices, and where they fall."""
    first, second = ((x.todense() != 0).astype(np.float64) for x in (A, B))
    products = first @ second
    return products.sum() / np.count_nonzero(products)


@pytest.mark.parametrize("formats", [("csr", "csr"), ("dcsr", "dcsr"), ("csr", "dcsr")])
@pytest.mark.parametrize("width", [9, 33])
def test_products_of_bands_share_few_coordinates(formats, width):
    A, B = (band(width, format) for format in formats)
    found = product_repeats({"A": ("ik", A), "B": ("kj", B)})
    assert set(found) == {("k", PAIR)}
    assert exact(A, B) / 1.5 < found["k", PAIR] < 1.5 * exact(A, B)


def test_random_products_rarely_meet():
    drawn = np.random.default_rng(0).integers(0, 10**5, (2, 20_000))
    A = sp.from_coords(drawn, np.ones(20_000), (10**5,) * 2, "csr", duplicates="sum")
    assert product_repeats({"A": ("ik", A), "B": ("kj", A)}) == {}


def test_rows_that_never_meet_have_no_products():
    left, right = np.zeros((200, 200)), np.zeros((200, 200))
    left[:, :100], right[100:] = 1, 1
    A, B = sp.array(left, format="csr"), sp.array(right, format="dcsr")
    assert product_repeats({"A": ("ik", A), "B": ("kj", B)}) == {}


def test_what_is_not_stored_along_the_index_is_not_counted():
    A = band(9)
    columns = A.to_format("csc")
    assert product_repeats({"A": ("ik", A), "B": ("kj", columns)}) == {}
    assert product_repeats({"A": ("ki", A), "B": ("kj", A)}) == {}
    assert product_repeats({"A": ("ik", A), "B": ("ki", A)}) == {}


def test_only_so_many_products_are_looked_at(monkeypatch):
    monkeypatch.setattr(module, "_MOST_PRODUCTS", 500)
    A = band(33)
    found = product_repeats({"A": ("ik", A), "B": ("kj", A)})
    assert 8 <= found["k", PAIR] <= 32
