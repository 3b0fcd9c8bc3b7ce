"""Arrays from coordinates in any order, repeated ones added up."""

from typing import Any

import numpy as np
import scipy.sparse

import sparray as sp
from sparray.convert.compiled import assign_entries

from .inputs import use_threads
from .interleave import ratio

__all__ = ["CoordinatesToCsf", "CoordinatesToCsr", "RepeatedCoordinates"]


class CoordinatesToCsr:
    """10 million int32 coordinates, uniformly distributed, and float32 values."""

    params = [[100_000, 1_000_000]]
    param_names = ["size"]
    entries = 10_000_000

    def setup(self, size: int) -> None:
        use_threads()
        rng = np.random.default_rng((3, size))
        self.shape = (size, size)
        self.coords = rng.integers(0, size, (2, self.entries), dtype=np.int32)
        self.values = rng.random(self.entries, np.float32)
        self.A_scipy = scipy.sparse.coo_array(
            (self.values, tuple(self.coords)), self.shape
        )
        self.ours()

    def ours(self) -> Any:
        return sp.from_coords(self.coords, self.values, self.shape, "csr")

    def time_making(self, *_: int) -> None:
        self.ours()

    def peakmem_making(self, *_: int) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, self.A_scipy.tocsr, repeats=5)


class CoordinatesToCsf:
    """5 million int64 coordinates in three dimensions, and float32 values."""

    params = [[2_000]]
    param_names = ["size"]
    entries = 5_000_000

    def setup(self, size: int) -> None:
        use_threads()
        rng = np.random.default_rng((4, size))
        self.shape = (size, size, size)
        self.coords = rng.integers(0, size, (3, self.entries))
        self.values = rng.random(self.entries, np.float32)
        self.ours()

    def ours(self) -> Any:
        return sp.from_coords(self.coords, self.values, self.shape, "csf")

    def time_making(self, *_: int) -> None:
        self.ours()

    def peakmem_making(self, *_: int) -> None:
        self.ours()

    def track_ratio_pydata(self, *_: int) -> float:
        import sparse

        def theirs() -> Any:
            coo = sparse.COO(self.coords, self.values, self.shape)
            return sparse.GCXS.from_coo(coo)

        return ratio(self.ours, theirs, repeats=3)


class RepeatedCoordinates:
    """2 million entries at random among few coordinates of a matrix of 10**6 rows."""

    params = [[100, 10_000, 200_000, 1_000_000]]
    param_names = ["distinct"]
    entries = 2_000_000

    def setup(self, distinct: int) -> None:
        use_threads()
        rng = np.random.default_rng((5, distinct))
        self.shape = (10**6, 10**6)
        known = rng.integers(0, 10**6, (2, distinct), dtype=np.int32)
        self.coords = known[:, rng.integers(0, distinct, self.entries)]
        self.values = rng.random(self.entries)
        self.by_table()
        self.by_sort()

    def _made(self, merging: str) -> Any:
        return assign_entries(
            self.coords,
            self.values,
            self.shape,
            sp.Format.parse("(i, j) -> (i: dense, j: compressed)"),
            zero_fill=True,
            merging=merging,
        )

    def by_table(self) -> Any:
        return self._made("hash")

    def by_sort(self) -> Any:
        return self._made("sort")

    def time_making(self, *_: int) -> None:
        sp.from_coords(self.coords, self.values, self.shape, "csr")

    def track_ratio_sort(self, *_: int) -> float:
        return ratio(self.by_table, self.by_sort, repeats=5)
