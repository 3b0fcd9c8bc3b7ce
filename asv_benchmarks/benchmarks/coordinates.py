"""Arrays from coordinates in any order, repeated ones added up."""

from typing import Any

import numpy as np
import scipy.sparse

import sparray as sp

from .inputs import use_threads
from .interleave import ratio

__all__ = ["CoordinatesToCsf", "CoordinatesToCsr"]


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
