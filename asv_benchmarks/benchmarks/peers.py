"""The same expressions in other compilers of sparse expressions.

PyData/sparse compiles with Numba; tensora is TACO's design with LLVM (not of the extra
``bench``, as it wants another llvmlite than the newest Numba: ``pip install tensora
"numba<0.68"``). All in float64, which is all that tensora has.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import sparray as sp

from .inputs import dense, random_tensor, uniform_csr, use_threads
from .interleave import ratio

__all__ = ["AgainstPyData", "AgainstTensora"]

_SHAPE = (500, 600, 700)
_ENTRIES = 200_000
_RANK = 32
_WORKS = ["SDDMM", "MTTKRP", "add 3-D", "tensordot"]

_EXPRESSIONS = {
    "SDDMM": "ij,ik,jk->ij",
    "MTTKRP": "ijk,jr,kr->ir",
    "add 3-D": "ijk,ijk->ijk",
    "tensordot": "ijk,kl->ijl",
}


def operands(work: str) -> list[Any]:
    """Return sparray's and NumPy's operands of a work."""
    if work == "SDDMM":
        n = 4_000
        factors = [dense(n, _RANK, dtype="float64", seed=seed) for seed in (1, 2)]
        return [uniform_csr(n, 50, "float64"), *factors]
    X = random_tensor(_SHAPE, _ENTRIES)
    if work == "MTTKRP":
        return [X, *(dense(extent, _RANK, dtype="float64") for extent in _SHAPE[1:])]
    if work == "add 3-D":
        return [X, random_tensor(_SHAPE, _ENTRIES, seed=5)]
    rng = np.random.default_rng(6)
    coords = np.stack([rng.integers(0, extent, 2_000) for extent in (_SHAPE[2], 30)])
    matrix = sp.from_coords(coords, rng.random(2_000), (_SHAPE[2], 30), "csr")
    return [X, matrix]


class _Peer:
    params = [_WORKS]
    param_names = ["work"]

    def setup(self, work: str) -> None:
        use_threads()
        self.work, self.operands = work, operands(work)
        self.theirs = self.peer()
        self.ours()
        self.theirs()

    def peer(self) -> Callable[[], Any]:
        raise NotImplementedError

    def ours(self) -> Any:
        if self.work == "add 3-D":
            return self.operands[0] + self.operands[1]
        return sp.einsum(_EXPRESSIONS[self.work], *self.operands)

    def time_work(self, *_: str) -> None:
        self.ours()


class AgainstPyData(_Peer):
    """SDDMM 4,000² with 50 a row; 3-D arrays of 200,000 entries; rank 32."""

    def peer(self) -> Callable[[], Any]:
        import sparse

        given = [
            sparse.COO(*operand.to_coords(), shape=operand.shape)
            if isinstance(operand, sp.SparseArray)
            else operand
            for operand in self.operands
        ]
        if self.work == "add 3-D":
            return lambda: given[0] + given[1]
        if self.work == "tensordot":
            return lambda: sparse.tensordot(given[0], given[1], axes=([2], [0]))
        if self.work == "SDDMM":
            # Its einsum takes no dense operands where the result is to be sparse.
            mask, left, right = given
            i, j = mask.coords
            return lambda: sparse.COO(
                mask.coords,
                mask.data * np.einsum("nk,nk->n", left[i], right[j]),
                shape=mask.shape,
                has_duplicates=False,
                sorted=True,
            )
        X, *factors = given

        def mttkrp() -> Any:
            first = sparse.tensordot(X, factors[1], axes=([2], [0]))
            return (np.asarray(first) * factors[0]).sum(axis=1)

        return mttkrp

    def track_ratio_pydata(self, *_: str) -> float:
        return ratio(self.ours, self.theirs, repeats=5)


class AgainstTensora(_Peer):
    """SDDMM 4,000² with 50 a row; 3-D arrays of 200,000 entries; rank 32."""

    texts = {
        "SDDMM": ("R(i,j) = A(i,j) * B(i,k) * C(j,k)", "ds"),
        "MTTKRP": ("R(i,r) = A(i,j,k) * B(j,r) * C(k,r)", "dd"),
        "add 3-D": ("R(i,j,k) = A(i,j,k) + B(i,j,k)", "sss"),
        "tensordot": ("R(i,j,l) = A(i,j,k) * B(k,l)", "ssd"),
    }

    def peer(self) -> Callable[[], Any]:
        try:
            from tensora import Tensor, evaluate
        except ImportError:
            raise NotImplementedError("tensora is not installed") from None
        text, result = self.texts[self.work]
        given = {}
        for name, operand in zip("ABC", self.operands, strict=False):
            if isinstance(operand, np.ndarray):
                given[name] = Tensor.from_numpy(operand)
                continue
            coords, values = operand.to_coords()
            format = "ds" if operand.ndim == 2 else "sss"
            given[name] = Tensor.from_soa(
                tuple(coords.tolist()),
                values.tolist(),
                dimensions=operand.shape,
                format=format,
            )
        return lambda: evaluate(text, result, **given)

    def track_ratio_tensora(self, *_: str) -> float:
        return ratio(self.ours, self.theirs, repeats=5)
