"""What users of arrays do most: operators, indices and reductions, against peers.

The table of ``docs/developer/performance.md``: SciPy's CSR for matrices, PyData/sparse
for arrays of three dimensions. All in float64, and answers are checked by their sums.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import sparray as sp

from .inputs import random_tensor, scipy_csr, use_threads
from .interleave import ratio

__all__ = [
    "Elementwise",
    "Indexing",
    "Indexing3D",
    "Reduction",
    "Reduction3D",
    "TinyArray",
]

_SHAPE = (500, 600, 700)
_ENTRIES = 200_000


def random_csr(size: int, density: float, seed: int = 0) -> sp.SparseArray:
    """Return a CSR array, size × size, of entries at even random coordinates."""
    rng = np.random.default_rng((seed, size))
    entries = round(size * size * density)
    coords = rng.integers(0, size, (2, entries))
    values = rng.standard_normal(entries)
    made = sp.from_coords(coords, values, (size, size), "csr", duplicates="sum")
    return made


class Elementwise:
    """``A + B`` and ``A * B`` of CSR matrices of different patterns."""

    params = [["+", "*"], [5_000, 100_000], [1e-4, 1e-3]]
    param_names = ["operator", "size", "density"]

    def setup(self, operator: str, size: int, density: float) -> None:
        use_threads()
        self.operator = operator
        A, B = (random_csr(size, density, seed) for seed in (1, 2))
        self.ours = _binary(operator, A, B)
        self.theirs = _binary(operator, scipy_csr(A), scipy_csr(B))
        _check(self.ours(), self.theirs())

    def time_operator(self, *_: Any) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: Any) -> float:
        return ratio(self.ours, self.theirs)


def _binary(operator: str, left: Any, right: Any) -> Callable[[], Any]:
    if operator == "+":
        return lambda: left + right
    return lambda: left * right


class Indexing:
    """Rows, columns and masks of a CSR matrix of 10 entries a row."""

    params = [
        [
            "row",
            "column",
            "rows slice",
            "columns slice",
            "fancy rows",
            "fancy columns",
            "points",
            "mask",
            "mask of rows",
        ],
        [5_000, 100_000],
    ]
    param_names = ["index", "size"]

    def setup(self, index: str, size: int) -> None:
        use_threads()
        A = random_csr(size, 10 / size)
        B = scipy_csr(A)
        indices = matrix_indices(index, size)
        if index == "mask":
            self.ours, self.theirs = lambda: A[A > 0], lambda: B[B > 0]
        else:
            self.ours, self.theirs = lambda: A[indices], lambda: B[indices]
        _check(self.ours(), self.theirs())

    def time_index(self, *_: Any) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: Any) -> float:
        return ratio(self.ours, self.theirs)


def matrix_indices(index: str, size: int) -> Any:
    """Return what stands in the brackets."""
    rng = np.random.default_rng(3)
    every = slice(None)
    chosen = rng.integers(0, size, size // 2)
    return {
        "row": 3,
        "column": (every, 3),
        "rows slice": slice(size // 4, size // 2),
        "columns slice": (every, slice(size // 4, size // 2)),
        "fancy rows": chosen,
        "fancy columns": (every, chosen),
        "points": (chosen, chosen[::-1]),
        "mask of rows": rng.random(size) < 0.5,
        "mask": None,
    }[index]


class Reduction:
    """Reductions of a CSR matrix of 10 entries a row over an axis."""

    params = [["sum", "max", "mean", "argmax"], [0, 1], [5_000, 100_000]]
    param_names = ["function", "axis", "size"]

    def setup(self, function: str, axis: int, size: int) -> None:
        use_threads()
        A = random_csr(size, 10 / size)
        B = scipy_csr(A)
        self.ours = lambda: getattr(A, function)(axis=axis)
        self.theirs = lambda: getattr(B, function)(axis=axis)
        _check(self.ours(), self.theirs())

    def time_reduction(self, *_: Any) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: Any) -> float:
        return ratio(self.ours, self.theirs)


class _Three:
    """A CSF array of 500 × 600 × 700 with 200,000 entries, and PyData's COO of it."""

    def arrays(self, seed: int = 2) -> tuple[sp.SparseArray, Any]:
        import sparse

        use_threads()
        A = random_tensor(_SHAPE, _ENTRIES, seed=seed)
        coords, values = A.to_coords()
        made = sparse.COO(
            coords, values, shape=_SHAPE, has_duplicates=False, sorted=True
        )
        return A, made


class Indexing3D(_Three):
    """Slices, lists and operators of arrays of three dimensions."""

    params = [["A[3]", "A[:, 3]", "A[..., 3]", "window", "fancy", "+", "*"]]
    param_names = ["work"]

    def setup(self, work: str) -> None:
        A, B = self.arrays()
        A2, B2 = self.arrays(seed=5)
        self.ours, self.theirs = _of_three(work, A, A2), _of_three(work, B, B2)
        _check(self.ours(), self.theirs())

    def time_index(self, *_: Any) -> None:
        self.ours()

    def track_ratio_pydata(self, *_: Any) -> float:
        return ratio(self.ours, self.theirs)


def _of_three(work: str, A: Any, other: Any) -> Callable[[], Any]:
    chosen = np.random.default_rng(3).integers(0, _SHAPE[0], 100)
    return {
        "A[3]": lambda: A[3],
        "A[:, 3]": lambda: A[:, 3],
        "A[..., 3]": lambda: A[..., 3],
        "window": lambda: A[100:300, 50:500:2, 20:400],
        "fancy": lambda: A[chosen],
        "+": lambda: A + other,
        "*": lambda: A * other,
    }[work]


class Reduction3D(_Three):
    """Reductions of an array of three dimensions over one and two axes."""

    params = [["sum", "max", "mean"], ["0", "1", "2", "0 1", "1 2"]]
    param_names = ["function", "axes"]

    def setup(self, function: str, axes: str) -> None:
        A, B = self.arrays()
        given = tuple(int(axis) for axis in axes.split())
        axis = given if len(given) > 1 else given[0]
        self.ours = lambda: getattr(A, function)(axis=axis)
        self.theirs = lambda: getattr(B, function)(axis=axis)
        _check(self.ours(), self.theirs())

    def time_reduction(self, *_: Any) -> None:
        self.ours()

    def track_ratio_pydata(self, *_: Any) -> float:
        return ratio(self.ours, self.theirs)


class TinyArray:
    """Operators and indices of a CSR matrix of 100 × 100 with 500 entries."""

    params = [["A + A", "A * A", "A @ A", "A[3]", "A[:, 3]", "A[3, 4]", "sum", "max"]]
    param_names = ["work"]

    def setup(self, work: str) -> None:
        use_threads()
        A = random_csr(100, 0.05)
        self.ours, self.theirs = _tiny(work, A), _tiny(work, scipy_csr(A))
        _check(self.ours(), self.theirs())

    def time_work(self, *_: Any) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: Any) -> float:
        return ratio(self.ours, self.theirs)


def _tiny(work: str, A: Any) -> Callable[[], Any]:
    return {
        "A + A": lambda: A + A,
        "A * A": lambda: A * A,
        "A @ A": lambda: A @ A,
        "A[3]": lambda: A[3],
        "A[:, 3]": lambda: A[:, 3],
        "A[3, 4]": lambda: A[3, 4],
        "sum": lambda: A.sum(axis=0),
        "max": lambda: A.max(axis=1),
    }[work]


def _check(ours: Any, theirs: Any) -> None:
    """Raise an error if two results cannot be the same: a wrong one is no result."""
    totals = [float(np.sum(one.sum() if one.shape else one)) for one in (ours, theirs)]
    if not np.isclose(*totals, rtol=1e-6, atol=1e-8):
        raise AssertionError(f"expected equal results, got sums of {totals}")
