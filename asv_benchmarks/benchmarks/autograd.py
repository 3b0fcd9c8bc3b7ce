"""Sparse tensors of `sparray.torch`: products, their gradients, a graph network."""

from typing import Any

import torch

import sparray.torch as spt

from .inputs import dense, torch_csr, uniform_csr, use_threads
from .interleave import ratio

__all__ = ["Backward", "Forward", "GcnEpoch"]


class _Product:
    """A @ X with a CSR tensor that has gradients, float32."""

    params = [[10_000], [8, 32], [16, 64]]
    param_names = ["size", "stored per row", "columns"]

    def setup(self, size: int, per_row: int, columns: int) -> None:
        use_threads()
        csr = uniform_csr(size, per_row)
        self.A = spt.tensor(csr, format="csr", requires_grad=True)
        self.A_torch = torch_csr(csr).requires_grad_()
        self.X = torch.from_numpy(dense(size, columns)).requires_grad_()
        self.ours()

    def ours(self) -> Any:
        raise NotImplementedError


class Forward(_Product):
    """The product alone, recorded for autograd."""

    def ours(self) -> Any:
        return self.A @ self.X

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.A_torch @ self.X)


class Backward(_Product):
    """The product and its gradients for X and for the stored entries of A."""

    def ours(self) -> Any:
        return self.gradients(self.A)

    def gradients(self, A: Any) -> Any:
        A.grad = self.X.grad = None
        (A @ self.X).sum().backward()
        return A.grad, self.X.grad

    def time_gradients(self, *_: int) -> None:
        self.ours()

    def peakmem_gradients(self, *_: int) -> None:
        self.ours()

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.gradients(self.A_torch))


class GcnEpoch:
    """One epoch of a graph network of two layers on a random graph.

    2,000 nodes with 12 neighbours each, 64 features, 16 hidden units, 10 classes; the
    adjacency has no gradient. Source: Kipf & Welling 2017, section 3.
    """

    params = [["csr", "coo"]]
    param_names = ["format"]
    nodes, neighbours, features, hidden, classes = 2_000, 12, 64, 16, 10

    def setup(self, format: str) -> None:
        use_threads()
        torch.manual_seed(0)
        csr = uniform_csr(self.nodes, self.neighbours)
        self.A = spt.tensor(csr, format=format)
        self.A_torch = torch_csr(csr)
        self.A_dense = torch.from_numpy(csr.todense())
        self.X = torch.from_numpy(dense(self.nodes, self.features))
        self.labels = torch.arange(self.nodes) % self.classes
        shapes = ((self.features, self.hidden), (self.hidden, self.classes))
        self.weights = [
            torch.randn(shape).mul_(0.1).requires_grad_() for shape in shapes
        ]
        self.optimizer = torch.optim.Adam(self.weights, lr=0.0)
        self.ours()

    def ours(self) -> Any:
        self.epoch(self.A)

    def epoch(self, A: Any) -> None:
        first, second = self.weights
        self.optimizer.zero_grad()
        hidden = torch.relu(A @ (self.X @ first))
        scores = A @ (hidden @ second)
        torch.nn.functional.cross_entropy(scores, self.labels).backward()
        self.optimizer.step()

    def time_epoch(self, *_: str) -> None:
        self.ours()

    def peakmem_epoch(self, *_: str) -> None:
        self.ours()

    def track_ratio_torch(self, *_: str) -> float:
        return ratio(self.ours, lambda: self.epoch(self.A_torch))

    def track_ratio_dense(self, *_: str) -> float:
        return ratio(self.ours, lambda: self.epoch(self.A_dense))
