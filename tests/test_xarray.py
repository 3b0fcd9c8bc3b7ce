"""Sparse arrays as the data of xarray's arrays."""

import pickle

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import UnsupportedError, WouldDensifyError

xr = pytest.importorskip("xarray")

RNG = np.random.default_rng(0)
X = np.round(RNG.random((6, 5)), 2) * (RNG.random((6, 5)) < 0.4)
N = np.where(X > 0.8, np.nan, X)


def named(x):
    return xr.DataArray(x, dims=("i", "j"), coords={"i": np.arange(6) * 10})


# What is computed of an array, and whether it is sparse.
SPARSE = {
    "isel": lambda d: d.isel(i=slice(1, 4)),
    "points": lambda d: d.isel(i=[3, 1]),
    "sel": lambda d: d.sel(i=20),
    "transpose": lambda d: d.transpose("j", "i"),
    "add": lambda d: d + d.T,
    "broadcast": lambda d: d * d.isel(i=0),
    "power": lambda d: d**2,
    "abs": lambda d: abs(-d),
    "ufunc": lambda d: np.sin(d),
    "apply_ufunc": lambda d: xr.apply_ufunc(np.sqrt, d),
    "compare": lambda d: d > 0.5,
    "where": lambda d: d.where(d > 0.5, 0),
    "where NaN": lambda d: d.where(d > 0.5),
    "isnull": lambda d: d.isnull(),
    "fillna": lambda d: d.fillna(1.0),
    "clip": lambda d: d.clip(0.2, 0.5),
    "round": lambda d: d.round(1),
    "conj": lambda d: d.conj(),
    "isin": lambda d: d.isin([0.0]),
    "astype": lambda d: d.astype("float32"),
    "dot": lambda d: xr.dot(d, d.rename(i="k"), dim="j"),
    "concat": lambda d: xr.concat([d, d], "i"),
    "stack": lambda d: d.stack(z=("i", "j")),
    "expand_dims": lambda d: d.expand_dims("t"),
    "squeeze": lambda d: d.expand_dims("t").squeeze("t"),
    "roll": lambda d: d.roll(i=1),
    "shift": lambda d: d.shift(i=1, fill_value=0),
    "pad": lambda d: d.pad(i=1, constant_values=0),
    "diff": lambda d: d.diff("i"),
    "reindex": lambda d: d.reindex(i=[0, 10, 99], fill_value=0),
    "sortby": lambda d: d.sortby("i", ascending=False),
    "copy": lambda d: d.copy(deep=True),
    "zeros_like": lambda d: xr.zeros_like(d),
    "pickle": lambda d: pickle.loads(pickle.dumps(d)),
}
DENSE = {
    "sum": lambda d: d.sum("i"),
    "sum of all": lambda d: d.sum(),
    "mean": lambda d: d.mean("j"),
    "max": lambda d: d.max("j"),
    "min": lambda d: d.min(),
    "std": lambda d: d.std("i", ddof=1),
    "var": lambda d: d.var(),
    "prod": lambda d: d.prod("j"),
    "median": lambda d: d.median("j"),
    "count": lambda d: d.count("i"),
    "any": lambda d: (d > 0).any("i"),
    "cumsum": lambda d: d.cumsum("i"),
    "not skipped": lambda d: d.sum("i", skipna=False),
    "full dot": lambda d: d.dot(d, dim=["i", "j"]),
    "weighted": lambda d: d.weighted(xr.DataArray(np.arange(6.0), dims="i")).mean("i"),
    "dataset": lambda d: xr.Dataset({"a": d}).sum()["a"],
}


@pytest.mark.parametrize("name", [*SPARSE, *DENSE])
def test_operations(name):
    call = {**SPARSE, **DENSE}[name]
    # A zero that is not stored ends a product, that of NaN too.
    for x in (X,) if name in ("broadcast", "dot") else (X, N):
        expected = call(named(x))
        with interpreted():
            found = call(named(sp.array(x, "csr")))
        assert isinstance(found.data, sp.SparseArray) is (name in SPARSE)
        assert found.dims == expected.dims and found.dtype == expected.dtype
        elements = found.data
        if name in SPARSE:
            elements = elements.todense()
        np.testing.assert_allclose(elements, expected.data, rtol=1e-12)


@pytest.mark.parametrize("format", ["coo", "csc", "bitmap", "bcsr(2, 2)"])
def test_formats(format):
    with interpreted():
        d = named(sp.array(X, format))
        np.testing.assert_allclose(d.sum("i").data, X.sum(0))
        np.testing.assert_array_equal(d.isel(j=2).data.todense(), X[:, 2])
        assert "SparseArray" in repr(d) and "SparseArray" in d._repr_html_()


def test_what_is_refused():
    d = named(sp.array(X, "csr"))
    with pytest.raises(WouldDensifyError, match="240 bytes"):
        np.asarray(d.values)
    with pytest.raises(UnsupportedError, match="quantile"):
        d.quantile(0.5)


def test_blocks_of_dask():
    da = pytest.importorskip("dask.array")
    given = da.from_array(sp.array(X, "csr"), chunks=(3, 5), asarray=False)
    with interpreted():
        d = named(given)
        lazy = (2 * d).sum("i")
        assert isinstance(lazy.data, da.Array)
        np.testing.assert_allclose(lazy.compute(scheduler="synchronous"), 2 * X.sum(0))
