"""Systems of equations, determinants, and SciPy's solvers of our arrays."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg as ssl
from oracle_check import interpreted

import sparray as sp
from sparray.errors import MissingNameError, ShapeError, SingularMatrixError

RNG = np.random.default_rng(0)
X = np.diag(np.arange(4.0, 12.0)) + RNG.random((8, 8)) * (RNG.random((8, 8)) < 0.3)
SYMMETRIC = X @ X.T
B = RNG.random((8, 3))
FORMATS = ("csr", "csc", "coo", "dcsr", "bitmap", "ell", "dia", "bcsr(2, 2)", "dense")


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted():
        yield


def close(found, expected, tolerance=1e-9):
    found = found.todense() if isinstance(found, sp.SparseArray) else found
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(format):
    a = sp.array(X, format)
    close(sp.linalg.solve(a, B), np.linalg.solve(X, B))
    close(sp.linalg.solve(a, B[:, 0]), np.linalg.solve(X, B[:, 0]))
    close(sp.linalg.det(a), np.linalg.det(X), 1e-6)
    close(sp.linalg.aslinearoperator(a) @ B, X @ B)


@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64", "complex128"])
def test_dtypes(dtype):
    x = np.round(X).astype(dtype)
    if dtype.startswith("complex"):
        x = x * np.asarray(1 + 1j, dtype)
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-9
    found = sp.linalg.solve(sp.array(x), x[:, 0])
    close(found, np.linalg.solve(x, x[:, 0]), tolerance)
    assert found.dtype == np.result_type(x, np.float32)
    sign, logarithm = sp.linalg.slogdet(sp.array(x))
    expected = np.linalg.slogdet(x)
    close(sign, expected[0], tolerance)
    close(logarithm, expected[1], tolerance)


def test_sparse_right_hand_sides_have_sparse_solutions():
    b = np.eye(8)[:, 2:5] * 2
    found = sp.linalg.solve(sp.array(np.diag(np.arange(1.0, 9.0))), sp.array(b, "coo"))
    assert isinstance(found, sp.SparseArray) and found.nnz == 3
    assert found.format == sp.array(b, "coo").format
    close(found, np.linalg.solve(np.diag(np.arange(1.0, 9.0)), b))
    close(sp.linalg.solve(sp.array(X), sp.array(B[:, 0])), np.linalg.solve(X, B[:, 0]))
    close(sp.linalg.solve(X, sp.array(B)), np.linalg.solve(X, B))
    close(sp.linalg.solve(X, B), np.linalg.solve(X, B))
    close(sp.linalg.solve(scipy.sparse.coo_array(X), B), np.linalg.solve(X, B))


def test_signs_of_permutations():
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(7)
        x = np.eye(7)[order] * 2
        assert sp.linalg.det(sp.array(x)) == pytest.approx(np.linalg.det(x))
    assert sp.linalg.det(sp.zeros((0, 0))) == 1


def test_singular_matrices():
    singular = sp.array(np.diag([1.0, 0.0, 2.0]))
    with pytest.raises(SingularMatrixError, match=r"\(3, 3\)"):
        sp.linalg.solve(singular, np.ones(3))
    with pytest.raises(np.linalg.LinAlgError):
        sp.linalg.solve(singular.todense(), np.ones(3))
    assert sp.linalg.det(singular) == 0
    assert sp.linalg.slogdet(singular) == (0, -np.inf)


def test_what_is_refused():
    with pytest.raises(ShapeError, match="square"):
        sp.linalg.solve(sp.array(B), np.ones(8))
    with pytest.raises(ShapeError, match="8 rows"):
        sp.linalg.solve(sp.array(X), np.ones(7))
    with pytest.raises(ShapeError, match="square"):
        sp.linalg.det(sp.array(B))
    with pytest.raises(ShapeError, match="matrix"):
        sp.linalg.aslinearoperator(sp.array(np.ones(3)))
    for name in ("qr", "inv", "pinv", "cholesky", "matrix_rank"):
        assert not hasattr(sp.linalg, name)
        with pytest.raises(MissingNameError, match=f"'{name}': "):
            getattr(sp.linalg, name)
    with pytest.raises(AttributeError):
        sp.linalg.nothing  # noqa: B018


@pytest.mark.parametrize("format", ["csr", "dia"])
def test_scipy_solvers_take_arrays_as_they_are(format):
    a, b = sp.array(SYMMETRIC, format), B[:, 0]
    expected = np.linalg.solve(SYMMETRIC, b)
    for solver in (ssl.cg, ssl.gmres):
        found, info = solver(a, b, rtol=1e-10)
        assert info == 0
        close(found, expected, 1e-6)
    close(ssl.lsqr(a, b, atol=1e-12, btol=1e-12)[0], expected, 1e-5)
    largest = np.linalg.eigvalsh(SYMMETRIC)
    close(ssl.eigsh(a, 2, v0=np.ones(8))[0], largest[-2:], 1e-6)
    close(sorted(ssl.svds(a, 2, v0=np.ones(8))[1]), largest[-2:], 1e-6)
    start = np.random.default_rng(0).random((8, 1))
    found = ssl.lobpcg(ssl.aslinearoperator(a), start, maxiter=60, tol=1e-8)[0]
    close(found, largest[-1:], 1e-5)


def test_operators_of_complex_matrices():
    x = X * (1 + 2j)
    operator = ssl.aslinearoperator(sp.array(x))
    close(operator.rmatvec(B[:, 0]), x.conj().T @ B[:, 0])
    close(operator.H @ B, x.conj().T @ B)
    close(sp.linalg.aslinearoperator(sp.array(x)).H @ B, x.conj().T @ B)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_scipy_gets_buffers_without_a_copy(format):
    a = sp.array(X * (X > 4), format)
    s = a.to_scipy()
    assert np.shares_memory(s.data, a.values)
    assert np.shares_memory(s.indices, a.levels[1]["crd"])
    assert s.indices.dtype == s.indptr.dtype == np.int32
    assert s.has_sorted_indices and s.has_canonical_format
    close(
        ssl.spsolve(sp.array(X, format).to_scipy(), B[:, 0]),
        np.linalg.solve(X, B[:, 0]),
    )


def test_graphs():
    roads = sp.array(np.array([[0, 2, 9], [0, 0, 3], [1, 0, 0]]), dtype="float64")
    distances = scipy.sparse.csgraph.shortest_path(roads.to_scipy())
    np.testing.assert_array_equal(distances, [[0, 2, 5], [4, 0, 3], [1, 3, 0]])
    number, _ = scipy.sparse.csgraph.connected_components(roads.to_scipy())
    assert number == 1


def test_estimators_take_exported_arrays_without_a_copy():
    linear = pytest.importorskip("sklearn.linear_model")
    decomposition = pytest.importorskip("sklearn.decomposition")
    validation = pytest.importorskip("sklearn.utils")
    x = RNG.random((30, 8)) * (RNG.random((30, 8)) < 0.4)
    labels = (x.sum(1) > x.sum(1).mean()).astype(int)
    a = sp.array(x)
    checked = validation.check_array(a.to_scipy(), accept_sparse="csr")
    assert np.shares_memory(checked.data, a.values)
    assert np.shares_memory(checked.indices, a.levels[1]["crd"])
    for estimator in (linear.LogisticRegression(), linear.Ridge(solver="lsqr")):
        found = estimator.fit(a.to_scipy(), labels).predict(a.to_scipy())
        expected = estimator.fit(x, labels).predict(x)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    reduced = decomposition.TruncatedSVD(2, random_state=0).fit_transform(a.to_scipy())
    assert reduced.shape == (30, 2)
