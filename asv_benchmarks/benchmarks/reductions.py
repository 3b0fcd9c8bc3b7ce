"""Sums over axes."""

from typing import Any

from .inputs import scipy_csr, uniform_csr, use_threads
from .interleave import ratio

__all__ = ["Sum"]


class Sum:
    """The sum of a CSR matrix over everything, over rows and over columns, float32."""

    params = [[10_000, 100_000], [32], ["all", "0", "1"]]
    param_names = ["size", "stored per row", "axis"]

    def setup(self, size: int, per_row: int, axis: str) -> None:
        use_threads()
        self.A = uniform_csr(size, per_row)
        self.A_scipy = scipy_csr(self.A)
        self.axis = None if axis == "all" else int(axis)
        self.ours()

    def ours(self) -> Any:
        return self.A.sum(self.axis)

    def time_sum(self, *_: Any) -> None:
        self.ours()

    def peakmem_sum(self, *_: Any) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: Any) -> float:
        return ratio(self.ours, lambda: self.A_scipy.sum(axis=self.axis))
