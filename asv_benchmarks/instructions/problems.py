"""Small problems, one or more for each kind of kernel, on seeded operands."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import sparray as sp

from ..benchmarks.inputs import dense, random_tensor, uniform_csr

__all__ = ["PROBLEMS", "Problem"]

# Makes the operands, and returns what is counted.
Problem = Callable[[], Callable[[], Any]]

_SIZE, _PER_ROW = 300, 12


def _matrix(dtype: str = "float32", seed: int = 0) -> sp.SparseArray:
    return uniform_csr(_SIZE, _PER_ROW, dtype, seed)


def _einsum(subscripts: str, *operands: Any, **options: Any) -> Callable[[], Any]:
    return lambda: sp.einsum(subscripts, *operands, **options)


def _spmv(dtype: str) -> Callable[[], Any]:
    return _einsum("ij,j->i", _matrix(dtype), dense(_SIZE, dtype=dtype))


def _spmm(columns: int) -> Callable[[], Any]:
    return _einsum("ij,jk->ik", _matrix(), dense(_SIZE, columns))


def _converted(format: str) -> Callable[[], Any]:
    return _einsum("ij->ij", uniform_csr(4_000, _PER_ROW, "float64"), format=format)


def _blocks() -> Callable[[], Any]:
    array = sp.array(_matrix().todense(), format="bcsr(4, 4)")
    return _einsum("ij,jk->ik", array, dense(_SIZE, 64))


def _n_to_m() -> Callable[[], Any]:
    """Return a product of a matrix with 2 of each 4 entries along its rows."""
    values = dense(40, 240).reshape(40, 60, 4)
    values[..., 2:] = 0
    array = sp.array(values.reshape(40, 240), format="nm(2, 4)")
    return _einsum("ij,jk->ik", array, dense(240, 64))


def _grouped() -> Callable[[], Any]:
    """Return a product of one in whose chunks each pattern is that of 5 columns."""
    patterns = list(itertools.combinations(range(4), 2)) * 5
    values = dense(10, 4, 8, len(patterns))
    for column, pattern in enumerate(patterns):
        absent = [row for row in range(4) if row not in pattern]
        values[:, absent, :, column] = 0
    array = sp.array(values.reshape(40, -1), format="nmg(2, 4, 5)")
    return _einsum("ij,jk->ik", array, dense(array.shape[1], 64))


def _sampled() -> Callable[[], Any]:
    operands = _matrix(), dense(_SIZE, 32), dense(32, _SIZE)
    return _einsum("ij,ik,kj->ij", *operands, format="csr")


def _masked() -> Callable[[], Any]:
    operands = _matrix("float64"), _matrix("float64", 1)
    return _einsum("ik,kj->ij", *operands, mask=_matrix(seed=2), format="csr")


def _attention() -> Callable[[], Any]:
    given = [dense(_SIZE, 16, seed=seed) for seed in (1, 2, 3)]
    mask = _matrix().astype(bool)

    @sp.fuse
    def attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
        s = np.where(mask, q @ k.T, -np.inf)
        e = np.exp(s - s.max(axis=1, keepdims=True))
        return (e / e.sum(axis=1, keepdims=True)) @ v

    return lambda: attention(*given, mask)


def _layer() -> Callable[[], Any]:
    given = {"A": _matrix(), "X": dense(_SIZE, 64), "b": dense(64)}
    return lambda: sp.compute(
        "Y[i,k] = max(sum(j, A[i,j] * X[j,k]) + b[k], 0)", **given
    )


def _union() -> Callable[[], Any]:
    one, other = _matrix(), _matrix(seed=1)
    return lambda: one + other


def _mttkrp() -> Callable[[], Any]:
    X = random_tensor((30, 40, 50), 3_000)
    B, C = dense(40, 16, dtype="float64"), dense(50, 16, dtype="float64")
    return _einsum("ijk,jr,kr->ir", X, B, C)


def _ttm() -> Callable[[], Any]:
    X = random_tensor((30, 40, 50), 3_000)
    return _einsum("ijk,kr->ijr", X, dense(50, 16, dtype="float64"))


def _from_coordinates() -> Callable[[], Any]:
    rng = np.random.default_rng(5)
    coords = rng.integers(0, 10_000, (2, 50_000), dtype=np.int32)
    values = np.ones(50_000)
    return lambda: sp.from_coords(coords, values, (10_000, 10_000), "csr")


def _from_dense() -> Callable[[], Any]:
    values = _matrix().todense()
    return lambda: sp.array(np.tile(values, (2, 2)), format="csr")


PROBLEMS: dict[str, Problem] = {
    "SpMV": lambda: _spmv("float32"),
    "SpMV, float64": lambda: _spmv("float64"),
    "SpMV of the transpose": lambda: _einsum("ij,i->j", _matrix(), dense(_SIZE)),
    "SpMM, 8 columns": lambda: _spmm(8),
    "SpMM, 64 columns": lambda: _spmm(64),
    "SpMM, 250 columns": lambda: _spmm(250),
    "dense times sparse": lambda: _einsum("ij,jk->ik", dense(64, _SIZE), _matrix()),
    "BCSR product": _blocks,
    "n:m product": _n_to_m,
    "grouped n:m product": _grouped,
    "SpGEMM": lambda: _einsum("ik,kj->ij", _matrix(), _matrix(seed=1), format="csr"),
    "masked SpGEMM": _masked,
    "SDDMM": _sampled,
    "fused attention": _attention,
    "product, bias and activation": _layer,
    "union": _union,
    "intersection": lambda: _einsum("ij,ij->ij", _matrix(), _matrix(seed=1)),
    "row sums": lambda: _einsum("ij->i", _matrix()),
    "MTTKRP": _mttkrp,
    "TTM": _ttm,
    "coordinates to CSR": _from_coordinates,
    "CSR to CSC": lambda: _converted("csc"),
    "CSR to BCSR": lambda: _converted("bcsr(4, 4)"),
    "dense to CSR": _from_dense,
}
