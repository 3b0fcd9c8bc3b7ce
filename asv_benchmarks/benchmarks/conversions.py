"""Conversions between formats."""

from typing import Any

import scipy.sparse

import sparray as sp

from .inputs import scipy_csr, torch_csr, uniform_csr, use_threads
from .interleave import ratio

__all__ = ["CooToCsr", "CsrToCsc", "DenseToCsr"]


class CsrToCsc:
    """Rows to columns, float32."""

    params = [[10_000, 100_000], [8, 32]]
    param_names = ["size", "stored per row"]

    def setup(self, size: int, per_row: int) -> None:
        use_threads()
        self.A = uniform_csr(size, per_row)
        self.A_scipy, self.A_torch = scipy_csr(self.A), torch_csr(self.A)
        self.ours()

    def ours(self) -> Any:
        return self.A.to_format("csc")

    def time_conversion(self, *_: int) -> None:
        self.ours()

    def peakmem_conversion(self, *_: int) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, self.A_scipy.tocsc)

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, self.A_torch.to_sparse_csc)


class CooToCsr:
    """Sorted coordinates to rows, float32."""

    params = [[10_000, 100_000], [8, 32]]
    param_names = ["size", "stored per row"]

    def setup(self, size: int, per_row: int) -> None:
        use_threads()
        csr = uniform_csr(size, per_row)
        self.A = csr.to_format("coo")
        self.A_scipy = scipy_csr(csr).tocoo()
        self.A_torch = torch_csr(csr).to_sparse_coo().coalesce()
        self.ours()

    def ours(self) -> Any:
        return self.A.to_format("csr")

    def time_conversion(self, *_: int) -> None:
        self.ours()

    def peakmem_conversion(self, *_: int) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, self.A_scipy.tocsr)

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, self.A_torch.to_sparse_csr)


class DenseToCsr:
    """The entries of a dense matrix, 2,000² with 1 % and 10 % of them, float32."""

    params = [[20, 200]]
    param_names = ["stored per row"]

    def setup(self, per_row: int) -> None:
        import torch

        use_threads()
        self.A = uniform_csr(2_000, per_row).todense()
        self.A_torch = torch.from_numpy(self.A)
        self.ours()

    def ours(self) -> Any:
        return sp.array(self.A, format="csr")

    def time_conversion(self, *_: int) -> None:
        self.ours()

    def peakmem_conversion(self, *_: int) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, lambda: scipy.sparse.csr_array(self.A))

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, self.A_torch.to_sparse_csr)
