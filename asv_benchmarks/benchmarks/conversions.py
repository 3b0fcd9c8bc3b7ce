"""Conversions between formats."""

from typing import Any

import numpy as np
import scipy.sparse

import sparray as sp

from .inputs import scipy_csr, torch_csr, uniform_csr, use_threads
from .interleave import ratio

__all__ = ["CooToCsr", "CsrToBcsr", "CsrToCsc", "DenseToCsr"]


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


class CsrToBcsr:
    """Entries to blocks of 4 × 4, float32; 100,000² with 3.2 million entries.

    ``"in blocks"``: they come in blocks of that size; ``"single"``: none shares one.
    """

    params = [["in blocks", "single"]]
    param_names = ["entries"]

    def setup(self, entries: str) -> None:
        use_threads()
        if entries == "single":
            self.A = uniform_csr(100_000, 32)
        else:
            blocks = scipy_csr(uniform_csr(25_000, 8))
            full = scipy.sparse.kron(blocks, np.ones((4, 4), np.float32), "csr")
            self.A = sp.array(full.astype(np.float32), format="csr")
        self.A_scipy = scipy_csr(self.A)
        self.ours()

    def ours(self) -> Any:
        return self.A.to_format("bcsr(4, 4)")

    def time_conversion(self, *_: str) -> None:
        self.ours()

    def peakmem_conversion(self, *_: str) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: str) -> float:
        return ratio(self.ours, lambda: self.A_scipy.tobsr((4, 4)))


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
    """The entries of a dense matrix, 4,096² with 1 % and 10 % of them, float32."""

    params = [[41, 410]]
    param_names = ["stored per row"]

    def setup(self, per_row: int) -> None:
        import torch

        use_threads()
        self.A = uniform_csr(4_096, per_row).todense()
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
