"""What SciPy's and PyData/sparse's documentation does, in short, with sparray."""

import operator

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg as solvers
from oracle_check import interpreted
from scipy.sparse.csgraph import connected_components, dijkstra

import sparray as sp

M = np.array([[4.0, 0, 1], [0, 3, 0], [1, 0, 5]])
T = np.stack([M, 2 * M])
ONES = np.ones(3)
EDGES = [[0, 0, 1, 3, 1, 0, 0], [0, 2, 1, 3, 1, 0, 0]]
BANDS = [[1, 2, 3, 4], [1, 2, 3], [1, 2, 3]]
WIDE = np.diag(np.arange(1.0, 21))


def assigned(array, index, value):
    """Assign to a copy, and return it."""
    made = array.copy()
    made[index] = value
    return made


# Of an array that is sparse or dense, in one text.
BOTH = {
    "a vector of integers": lambda a: a.dot(np.array([1, 0, -1])),
    "a vector on the left": lambda a: ONES @ a,
    "rows": lambda a: np.stack([np.sum(row) for row in a]),
    "abs": lambda a: abs(-a),
    "powers": lambda a: a**2,
    "transposed": lambda a: a.T,
    "the largest": lambda a: a.max(),
    "its place": lambda a: a.argmax(),
    "an element": lambda a: a[0, 2],
    "a column": lambda a: a[:, 1],
    "rows and columns": lambda a: a[[0, 2]][:, [0, 2]],
    "an open mesh": lambda a: a[np.ix_([0, 2], [0, 2])],
    "rows of a mask": lambda a: a[np.array([True, False, True])],
    "elements of a mask": lambda a: a[a > 3],
    "thresholding": lambda a: assigned(a, a > 3, 0),
    "a diagonal that is set": lambda a: assigned(a, (range(3), range(3)), [7, 8, 9]),
    "a row that is set": lambda a: assigned(a, 1, [0, 0, 2]),
    "a Laplacian": lambda a: np.diag(a.sum(axis=1)) - a,
    "rows that add up to 1": lambda a: a / a.sum(axis=1)[:, None],
    "frequencies": lambda a: a * np.log(3 / np.count_nonzero(a, axis=0)),
    "a step of PageRank": lambda a: 0.85 * (a.T @ ONES) + 0.15,
    "centred columns": lambda a: a - a.mean(axis=0),
    "distances": lambda a: (a**2).sum(1)[:, None] + (a**2).sum(1) - 2 * dense(a @ a.T),
    "relu": lambda a: np.maximum(a - 2, 0),
    "exp": lambda a: np.exp(a),
    "tensordot": lambda a: np.tensordot(a, a, axes=([1], [0])),
    "an outer product": lambda a: a[:, None, :] * a[None, :, :],
    "moments": lambda a: np.stack([a.std(axis=0), a.var(axis=0)]),
    "places": lambda a: np.stack(a.nonzero()),
    "side by side": lambda a: np.hstack([a, a]),
    "below one another": lambda a: np.vstack([a, a[:1]]),
    "integers": lambda a: a.astype(int),
    "in place": lambda a: operator.iadd(a.copy(), a),
    "keepdims": lambda a: a.mean(axis=1, keepdims=True),
    "a Frobenius norm": lambda a: np.linalg.norm(a, "fro"),
    "a matrix power": lambda a: np.linalg.matrix_power(a, 3),
    "clipped": lambda a: a.clip(1, 4),
}
# What sparray does, and what it should be.
OURS = {
    "csr": (lambda a: sp.from_scipy(scipy.sparse.csr_array(M)), M),
    "repeated": (
        lambda a: sp.from_coords(EDGES, [1] * 7, (4, 4)),
        scipy.sparse.coo_array(([1] * 7, EDGES), shape=(4, 4)).toarray(),
    ),
    "diagonals": (
        lambda a: sp.diags(BANDS, offsets=[0, -1, 1]),
        scipy.sparse.diags_array(BANDS, offsets=[0, -1, 1]).toarray(),
    ),
    "eye": (lambda a: sp.eye(3) - a, np.eye(3) - M),
    "kron": (lambda a: sp.kron(a, sp.eye(2)), np.kron(M, np.eye(2))),
    "blocks": (
        lambda a: sp.block([[a, sp.zeros((3, 2))], [sp.zeros((2, 3)), sp.eye(2)]]),
        scipy.sparse.block_diag([M, np.eye(2)]).toarray(),
    ),
    "stacks": (lambda a: sp.tensordot(sp.array(T), a, axes=1), T @ M),
    "a stack turned": (lambda a: sp.array(T).transpose(2, 0, 1), T.transpose(2, 0, 1)),
    "ellipsis": (lambda a: sp.array(T)[..., 0], T[..., 0]),
    "einsum": (lambda a: sp.einsum("ij,jk->ik", a, a), M @ M),
    "where": (lambda a: sp.where(a > 1, a, 0), np.where(M > 1, M, 0)),
    "spsolve": (lambda a: solvers.spsolve(a.tocsc().to_scipy(), M @ ONES), ONES),
    "splu": (lambda a: solvers.splu(a.tocsc().to_scipy()).solve(M @ ONES), ONES),
    "cg": (lambda a: solvers.cg(a, M @ ONES, rtol=1e-12)[0], ONES),
    "gmres": (lambda a: solvers.gmres(a, M @ ONES, rtol=1e-12)[0], ONES),
    "bicgstab": (lambda a: solvers.bicgstab(a, M @ ONES, rtol=1e-12)[0], ONES),
    "minres": (lambda a: solvers.minres(a, M @ ONES, rtol=1e-12)[0], ONES),
    "lsqr": (lambda a: solvers.lsqr(a, M @ ONES, atol=1e-14, btol=1e-14)[0], ONES),
    "lsmr": (lambda a: solvers.lsmr(a, M @ ONES, atol=1e-14, btol=1e-14)[0], ONES),
    "eigsh": (
        lambda a: np.sort(solvers.eigsh(a, k=2)[0]),
        np.linalg.eigvalsh(M)[1:],
    ),
    "svds": (
        lambda a: np.sort(solvers.svds(a, k=2)[1]),
        np.linalg.svd(M)[1][:2][::-1],
    ),
    "onenormest": (lambda a: solvers.onenormest(solvers.aslinearoperator(a)), 6),
    "dijkstra": (
        lambda a: dijkstra(a.to_scipy()),
        dijkstra(scipy.sparse.csr_array(M)),
    ),
    "components": (lambda a: connected_components(a.to_scipy())[0], 2),
    "unequal": (lambda a: (a != scipy.sparse.csr_array(M)).sum(), 0),
}


def dense(x):
    return x.todense() if isinstance(x, sp.SparseArray) else x


def same(found, expected):
    np.testing.assert_allclose(dense(found), expected, rtol=1e-9, atol=1e-12)
    assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize("text", BOTH.values(), ids=BOTH)
def test_the_same_text_of_dense_and_sparse_arrays(text):
    with interpreted():
        for format in ("csr", "coo"):
            same(text(sp.array(M, format)), text(M))


@pytest.mark.parametrize(("text", "expected"), OURS.values(), ids=OURS)
def test_with_functions_of_sparray_and_scipy(text, expected):
    with interpreted():
        same(text(sp.array(M, "csr")), expected)


def test_lobpcg():
    start = np.random.default_rng(0).random((20, 2))
    with interpreted():
        found = solvers.lobpcg(sp.array(WIDE, "csr"), start, tol=1e-8, maxiter=200)[0]
    np.testing.assert_allclose(np.sort(found), [19, 20], rtol=1e-6)
