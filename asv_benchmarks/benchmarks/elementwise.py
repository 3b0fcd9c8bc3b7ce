"""Element-wise operators of two sparse matrices."""

from typing import Any

from .inputs import scipy_csr, torch_csr, uniform_csr, use_threads
from .interleave import ratio

__all__ = ["Add", "Multiply"]


class _TwoMatrices:
    """Two CSR matrices, float64, of different patterns."""

    params = [[10_000, 100_000], [8, 32]]
    param_names = ["size", "stored per row"]

    def setup(self, size: int, per_row: int) -> None:
        use_threads()
        self.A = uniform_csr(size, per_row, "float64")
        self.B = uniform_csr(size, per_row, "float64", seed=1)
        self.A_scipy, self.B_scipy = scipy_csr(self.A), scipy_csr(self.B)
        self.A_torch, self.B_torch = torch_csr(self.A), torch_csr(self.B)
        self.ours()

    def ours(self) -> Any:
        raise NotImplementedError


class Add(_TwoMatrices):
    """A + B: the union of the patterns."""

    def ours(self) -> Any:
        return self.A + self.B

    def time_sum(self, *_: int) -> None:
        self.ours()

    def peakmem_sum(self, *_: int) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_scipy + self.B_scipy)

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_torch + self.B_torch)


class Multiply(_TwoMatrices):
    """A * B: the intersection of the patterns; torch has it for no two CSR tensors."""

    def ours(self) -> Any:
        return self.A * self.B

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_scipy * self.B_scipy)
