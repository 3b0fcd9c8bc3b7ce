"""Sparse arrays as chunks of Dask's arrays."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
X = np.round(RNG.random((12, 8)), 2) * (RNG.random((12, 8)) < 0.3)
Y = np.round(RNG.random((8, 10)), 2) * (RNG.random((8, 10)) < 0.3)
N = np.where(X > 0.8, np.nan, X)
SPARSE, DENSE = sp.SparseArray, np.ndarray

# Of a and b: what Dask computes, and what its result is made of.
CALLS = {
    "sum": (lambda xp, a, b, n: a.sum(axis=0), DENSE),
    "sum of all": (lambda xp, a, b, n: a.sum(), None),
    "mean": (lambda xp, a, b, n: a.mean(axis=1), DENSE),
    "var": (lambda xp, a, b, n: a.var(axis=0), DENSE),
    "std of all": (lambda xp, a, b, n: a.std(), None),
    "max": (lambda xp, a, b, n: a.max(axis=0), DENSE),
    "min of all": (lambda xp, a, b, n: a.min(), None),
    "prod": (lambda xp, a, b, n: (a + 1).prod(axis=1), DENSE),
    "any": (lambda xp, a, b, n: a.any(axis=1), DENSE),
    "argmax": (lambda xp, a, b, n: a.argmax(axis=0), DENSE),
    "nansum": (lambda xp, a, b, n: xp.nansum(n, axis=0), DENSE),
    "nanmean": (lambda xp, a, b, n: xp.nanmean(n, axis=0), DENSE),
    "nanmax": (lambda xp, a, b, n: xp.nanmax(n, axis=1), DENSE),
    "count_nonzero": (lambda xp, a, b, n: xp.count_nonzero(a), None),
    "norm": (lambda xp, a, b, n: xp.linalg.norm(a), None),
    "matmul": (lambda xp, a, b, n: a @ b, SPARSE),
    "gram": (lambda xp, a, b, n: a.T @ a, SPARSE),
    "matvec": (lambda xp, a, b, n: a @ np.ones(8), DENSE),
    "dot": (lambda xp, a, b, n: a.dot(b), SPARSE),
    "tensordot": (lambda xp, a, b, n: xp.tensordot(a, b, 1), SPARSE),
    "einsum": (lambda xp, a, b, n: xp.einsum("ij,jk->ik", a, b), SPARSE),
    "operators": (lambda xp, a, b, n: 2 * a - a * a, SPARSE),
    "ufunc": (lambda xp, a, b, n: np.sin(a), SPARSE),
    "slices": (lambda xp, a, b, n: a[3:11, ::2], SPARSE),
    "take": (lambda xp, a, b, n: xp.take(a, [5, 1, 7], axis=1), SPARSE),
    "rows": (lambda xp, a, b, n: a[[9, 0, 3]], SPARSE),
    "concatenate": (lambda xp, a, b, n: xp.concatenate([a, a], axis=1), SPARSE),
    "stack": (lambda xp, a, b, n: xp.stack([a, a]), SPARSE),
    "transpose": (lambda xp, a, b, n: a.T, SPARSE),
    "where": (lambda xp, a, b, n: xp.where(a > 0.5, a, 0), SPARSE),
    "clip": (lambda xp, a, b, n: xp.clip(a, 0.2, 0.5), SPARSE),
    "tril": (lambda xp, a, b, n: xp.tril(a), SPARSE),
    "roll": (lambda xp, a, b, n: xp.roll(a, 3, axis=0), SPARSE),
    "flip": (lambda xp, a, b, n: xp.flip(a, 0), SPARSE),
    "cumsum": (lambda xp, a, b, n: xp.cumsum(a, axis=0), DENSE),
}


def chunked(x, chunks):
    return da.from_array(sp.array(x, "csr"), chunks=chunks, asarray=False)


@pytest.mark.parametrize("name", CALLS)
def test_operations(name):
    call, kind = CALLS[name]
    expected = call(np, X, Y, N)
    with interpreted(), dask.config.set(scheduler="synchronous"):
        given = chunked(X, (5, 4)), chunked(Y, (4, 10)), chunked(N, (6, 3))
        lazy = call(da, *given)
        found = lazy.compute()
    if kind is not None:
        assert isinstance(found, kind)
    assert lazy.shape == np.shape(expected) == np.shape(found)
    assert lazy.dtype == found.dtype
    found = found.todense() if isinstance(found, SPARSE) else found
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_chunks_are_made_where_they_are_used():
    lazy = da.from_array(X, chunks=(4, 4)).map_blocks(sp.array, dtype=X.dtype)
    with interpreted(), dask.config.set(scheduler="synchronous"):
        # Blocks that meet are joined, sparse as they are.
        found = lazy.rechunk((6, 8)).compute()
        total = lazy.sum(axis=0).compute()
    assert isinstance(found, SPARSE)
    np.testing.assert_array_equal(found.todense(), X)
    np.testing.assert_allclose(total, X.sum(axis=0))


def test_names_are_those_of_what_arrays_hold():
    from dask.base import tokenize

    a = sp.array(X, "csr")
    assert tokenize(a) == tokenize(a.copy())
    others = [a.to_format("csc"), sp.array(2 * X), sp.array(X, fill_value=1.0), a.T]
    assert len({tokenize(x) for x in (a, *others)}) == 5


def test_functions_are_registered_and_sizes_counted():
    from dask.array import dispatch
    from dask.sizeof import sizeof

    a = sp.array(X, "csr")
    da.from_array(a, asarray=False)
    for name in ("concatenate", "take", "tensordot", "einsum", "numel", "nannumel"):
        lookup = getattr(dispatch, f"{name}_lookup")
        assert SPARSE in lookup._lookup, name
    assert a.nbytes <= sizeof(a) <= a.nbytes + 500
    for options in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}):
        ours = dispatch.numel_lookup(a, **options)
        np.testing.assert_array_equal(ours, dispatch.numel_lookup(X, **options))
        nans = dispatch.nannumel_lookup(sp.array(N), **options)
        np.testing.assert_array_equal(nans, dispatch.nannumel_lookup(N, **options))


def test_a_process_that_is_sent_an_array_registers_it(tmp_path):
    import pickle

    path = tmp_path / "array.pickle"
    path.write_bytes(pickle.dumps(sp.array(X)))
    program = """
        import pickle, sys
        import dask.array
        with open(sys.argv[1], "rb") as file:
            array = pickle.load(file)
        assert type(array) in dask.array.dispatch.numel_lookup._lookup
        import sparray
        assert "dask" in sys.modules
    """
    lines = [sys.executable, "-c", textwrap.dedent(program), str(path)]
    subprocess.run(lines, check=True, timeout=120)


def test_operands_of_both_kinds():
    """Also if they are the first that Dask sees: it asks once more."""
    program = """
        import numpy as np, operator
        import dask.array as da
        import sparray as sp

        a = da.ones((4, 4), chunks=2)
        b = sp.eye(4, format="csr")
        for op in (operator.{0}, operator.add, operator.mul):
            made = op(a, b)
            assert type(made) is da.Array, made
            assert type(op(b, a)) is da.Array
        assert made.compute(scheduler="synchronous").shape == (4, 4)
        assert type(np.matmul(b, a)) is da.Array
    """
    for op in ("matmul", "sub"):
        code = textwrap.dedent(program).format(op)
        subprocess.run([sys.executable, "-c", code], check=True, timeout=200)


def test_sparray_does_not_import_dask():
    program = """
        import pickle, sys
        import sparray as sp
        array = pickle.loads(pickle.dumps(sp.array([0.0, 1.0])))
        array.__dask_tokenize__()
        assert not [name for name in sys.modules if name.startswith("dask")]
    """
    lines = [sys.executable, "-c", textwrap.dedent(program)]
    subprocess.run(lines, check=True, timeout=120)


BLOCKS, ROWS, COLUMNS, EACH = 110, 25_000, 5_000, 16
LIMIT = 350_000_000


def columns_of_block(number):
    """Return the columns of the entries of a block: 16 of each row, in order."""
    first = (np.arange(ROWS) * 7 + number) % (COLUMNS // EACH)
    return (first[:, None] + np.arange(EACH) * (COLUMNS // EACH)).astype("int32")


def block(number):
    levels = [
        {},
        {
            "pos": np.arange(ROWS + 1, dtype="int32") * EACH,
            "crd": columns_of_block(number).ravel(),
        },
    ]
    ones = np.ones(ROWS * EACH, "float32")
    return sp.from_buffers("csr", (ROWS, COLUMNS), levels, ones)


@pytest.mark.slow
def test_an_array_larger_than_the_memory_of_a_worker():
    """Two workers sum and multiply an array of which neither could hold all blocks.

    A worker that takes more than what it is given is ended by Dask, and the test fails.
    """
    distributed = pytest.importorskip("distributed")
    assert BLOCKS * block(0).nbytes > LIMIT

    def made(block_info=None):
        return block(block_info[None]["chunk-location"][0])

    counts = sum(
        np.bincount(columns_of_block(n).ravel(), minlength=COLUMNS)
        for n in range(BLOCKS)
    )
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=LIMIT,
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = client.scheduler_info()["workers"].values()
        assert [each["memory_limit"] for each in workers] == [LIMIT] * 2
        a = da.map_blocks(
            made,
            chunks=((ROWS,) * BLOCKS, (COLUMNS,)),
            dtype="float32",
            meta=sp.zeros((0, 0), "float32", format="csr"),
        )
        np.testing.assert_array_equal(a.sum(axis=0).compute(), counts)
        narrow = sp.eye(COLUMNS, 3, dtype="float32", format="csr")
        product = (a @ narrow).sum(axis=0).compute()
        np.testing.assert_array_equal(product, counts[:3])
