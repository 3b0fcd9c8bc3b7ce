"""Products of sparse matrices."""

from typing import Any

import numpy as np
import torch

import sparray as sp

from .inputs import dense, scipy_csr, torch_csr, uniform_csr, use_threads
from .interleave import ratio

__all__ = [
    "SDDMM",
    "SpGEMM",
    "SpGEMMByColumns",
    "SpGEMMWide",
    "SpMM",
    "SpMMAgainstDense",
    "SpMV",
]


class SpMV:
    """CSR matrix times a vector, float32."""

    params = [[10_000, 100_000], [8, 32]]
    param_names = ["size", "stored per row"]

    def setup(self, size: int, per_row: int) -> None:
        use_threads()
        self.A = uniform_csr(size, per_row)
        self.x = dense(size)
        self.A_scipy, self.A_torch = scipy_csr(self.A), torch_csr(self.A)
        self.x_torch = torch.from_numpy(self.x)
        self.ours()

    def ours(self) -> Any:
        return self.A @ self.x

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_torch @ self.x_torch)

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_scipy @ self.x)


class SpMM:
    """CSR matrix times a dense one, float32, int32 indices for torch too."""

    params = [[10_000, 100_000], [8, 32], [16, 64, 256]]
    param_names = ["size", "stored per row", "columns"]

    def setup(self, size: int, per_row: int, columns: int) -> None:
        use_threads()
        self.A = uniform_csr(size, per_row)
        self.X = dense(size, columns)
        self.A_scipy, self.A_torch = scipy_csr(self.A), torch_csr(self.A)
        self.X_torch = torch.from_numpy(self.X)
        self.ours()

    def ours(self) -> Any:
        return self.A @ self.X

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_torch @ self.X_torch)

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_scipy @ self.X)


class SpMMAgainstDense:
    """The same product beside a dense one, 2,000² with 1 %, 5 % and 20 % stored."""

    params = [[20, 100, 400], [64, 256]]
    param_names = ["stored per row", "columns"]

    def setup(self, per_row: int, columns: int) -> None:
        use_threads()
        self.A = uniform_csr(2_000, per_row)
        self.X = dense(2_000, columns)
        self.A_dense = torch.from_numpy(self.A.todense())
        self.X_torch = torch.from_numpy(self.X)
        self.ours()

    def ours(self) -> Any:
        return self.A @ self.X

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_dense(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_dense @ self.X_torch)


class SpGEMM:
    """CSR times CSR, a CSR result, float64."""

    params = [[10_000, 50_000], [8, 16]]
    param_names = ["size", "stored per row"]

    def setup(self, size: int, per_row: int) -> None:
        use_threads()
        self.A = uniform_csr(size, per_row, "float64")
        self.B = uniform_csr(size, per_row, "float64", seed=1)
        self.A_scipy, self.B_scipy = scipy_csr(self.A), scipy_csr(self.B)
        self.A_torch, self.B_torch = torch_csr(self.A), torch_csr(self.B)
        self.ours()

    def ours(self) -> Any:
        return self.A @ self.B

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_scipy @ self.B_scipy)

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_torch @ self.B_torch)


class SpGEMMWide:
    """CSR times CSR with far more columns than a row has entries, float64.

    Against SciPy, and against a list workspace, which has memory for every column.
    """

    params = [[10**5, 10**6, 10**7], [16]]
    param_names = ["columns", "stored per row"]

    def setup(self, columns: int, per_row: int) -> None:
        use_threads()
        size = 80_000 // per_row
        rng = np.random.default_rng(7)
        self.A = uniform_csr(size, per_row, "float64")
        coords = np.arange(size).repeat(per_row), rng.integers(0, columns, 80_000)
        ones, shape = np.ones(80_000), (size, columns)
        self.B = sp.from_coords(coords, ones, shape, "csr", duplicates="sum")
        self.A_scipy, self.B_scipy = scipy_csr(self.A), scipy_csr(self.B)
        self.ours()

    def ours(self) -> Any:
        return self.A @ self.B

    def listed(self) -> Any:
        schedule = "reorder(i k j).collect(list).parallelize(i)"
        text = "C[i,j] = A[i,k] * B[k,j]"
        return sp.compute(text, A=self.A, B=self.B, schedule=schedule)

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_scipy @ self.B_scipy)

    def track_ratio_list(self, *_: int) -> float:
        return ratio(self.ours, self.listed)


class SpGEMMByColumns:
    """CSR times CSC, a CSR result, float64; SciPy converts the CSC operand first."""

    params = [[10_000], [8]]
    param_names = ["size", "stored per row"]

    def setup(self, size: int, per_row: int) -> None:
        use_threads()
        self.A = uniform_csr(size, per_row, "float64")
        B = uniform_csr(size, per_row, "float64", seed=1)
        self.B = B.to_format("csc")
        self.A_scipy, self.B_scipy = scipy_csr(self.A), scipy_csr(B).tocsc()
        self.ours()

    def ours(self) -> Any:
        return sp.einsum("ik,kj->ij", self.A, self.B, format="csr")

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_scipy @ self.B_scipy)


class SDDMM:
    """A dense product sampled at the entries of a CSR matrix, float32."""

    params = [[10_000, 50_000], [8, 32], [16, 64]]
    param_names = ["size", "stored per row", "inner"]

    def setup(self, size: int, per_row: int, inner: int) -> None:
        use_threads()
        self.A = uniform_csr(size, per_row)
        self.B, self.D = dense(size, inner), dense(size, inner, seed=3)
        self.rows = np.repeat(np.arange(size), per_row)
        self.columns = self.A.levels[1]["crd"]
        self.A_torch = torch_csr(self.A)
        self.B_torch = torch.from_numpy(self.B)
        self.D_torch = torch.from_numpy(self.D)
        self.ours()

    def ours(self) -> Any:
        return sp.einsum("ij,ik,jk->ij", self.A, self.B, self.D, format="csr")

    def gather(self) -> Any:
        """Compute the values as NumPy code does without a sampled product."""
        sampled = np.einsum("nk,nk->n", self.B[self.rows], self.D[self.columns])
        return self.A.values * sampled

    def sampled_addmm(self) -> Any:
        """Compute torch's sampled product, without the factor of the entries."""
        D = self.D_torch.mT
        return torch.sparse.sampled_addmm(self.A_torch, self.B_torch, D, beta=0.0)

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_numpy(self, *_: int) -> float:
        return ratio(self.ours, self.gather)

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, self.sampled_addmm)
