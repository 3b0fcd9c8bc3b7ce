"""Arrays with entries at random places."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import DTypeError, SettingError, ShapeError


@pytest.mark.parametrize("shape", [(), (7,), (30, 40), (5, 6, 7), (0, 3), 9])
@pytest.mark.parametrize("density", [0, 0.1, 0.5, 0.9, 1])
def test_as_many_entries_as_the_density_says(shape, density):
    A = sp.random(shape, density=density, rng=1)
    assert A.shape == np.empty(shape).shape
    assert A.nnz == round(A.size * density)
    elements = A.todense()
    assert np.count_nonzero(elements) == A.nnz
    assert ((elements >= 0) & (elements < 1)).all()


def test_an_entry_in_a_hundred_by_default_and_a_number_of_them():
    assert sp.random((100, 100), rng=0).nnz == 100
    assert sp.random((100, 100), nnz=17, rng=0).nnz == 17
    # More elements than 64 bits number, and than floats count.
    wide = sp.random((10**9, 10**9, 10**9), nnz=1000, format="coo", rng=0)
    assert wide.nnz == 1000
    assert sp.random((3 * 10**9, 3 * 10**9), nnz=5, format="coo").nnz == 5


def test_the_same_generator_draws_the_same_array():
    first, again = (sp.random((50, 60), density=0.2, rng=5) for _ in range(2))
    assert sp.array_equal(first, again)
    assert not sp.array_equal(first, sp.random((50, 60), density=0.2, rng=6))
    rng = np.random.default_rng(5)
    assert sp.array_equal(first, sp.random((50, 60), density=0.2, rng=rng))


@pytest.mark.parametrize("density", [0.3, 0.7])
def test_every_place_is_as_likely_as_any_other(density):
    rng = np.random.default_rng(0)
    counts = sum(
        sp.random((4, 5), density=density, rng=rng).todense() != 0 for _ in range(2000)
    )
    # Six standard deviations of a binomial count.
    spread = 6 * np.sqrt(2000 * density * (1 - density))
    assert (abs(counts - 2000 * density) < spread).all()


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int8", "uint16", "int64", "bool", "complex64"]
)
@pytest.mark.parametrize("format", ["csr", "coo", "dcsr", "bcsr(2, 2)", "dense"])
def test_dtypes_and_formats(dtype, format):
    A = sp.random((20, 30), density=0.25, dtype=dtype, format=format, rng=3)
    assert A.dtype == dtype
    assert A.format == sp.zeros((20, 30), format=format).format
    assert np.isfinite(A.todense()).all()


def test_values_of_a_sampler_and_a_fill_value():
    def sampler(size):
        return np.full(size, 7)

    A = sp.random((9, 9), nnz=4, data_sampler=sampler, fill_value=-1, dtype="int32")
    assert sorted(np.unique(A.todense())) == [-1, 7]
    assert (A.todense() == 7).sum() == 4


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"density": 1.5}, SettingError, "from 0 to 1, got 1.5"),
        ({"density": "much"}, SettingError, "from 0 to 1, got 'much'"),
        ({"density": float("nan")}, SettingError, "from 0 to 1, got nan"),
        ({"density": 0.1, "nnz": 3}, SettingError, "got both"),
        ({"nnz": 10}, SettingError, "expected 0 to 9, got 10"),
        ({"nnz": -1}, SettingError, "expected 0 to 9, got -1"),
        ({"nnz": 2.5}, SettingError, "a whole number, got 2.5"),
        ({"nnz": 2, "data_sampler": lambda size: [1]}, ShapeError, "expected 2 values"),
        ({"dtype": "U3"}, DTypeError, "dtype"),
    ],
)
def test_bad_input(options, error, message):
    with pytest.raises(error, match=message):
        sp.random((3, 3), **options)
