"""Products of a three-dimensional CSF tensor."""

from typing import Any

import numpy as np
import scipy.sparse
import torch

import sparray as sp

from .inputs import dense, random_tensor, use_threads
from .interleave import ratio

__all__ = ["MTTKRP", "TTV"]


class MTTKRP:
    """Matricised tensor times Khatri-Rao product, float64."""

    params = [[100_000, 1_000_000], [16, 64]]
    param_names = ["entries", "rank"]

    def setup(self, entries: int, rank: int) -> None:
        use_threads()
        shape = (1_000, 2_000, 3_000)
        self.X = random_tensor(shape, entries)
        self.B = dense(shape[1], rank, dtype="float64")
        self.C = dense(shape[2], rank, dtype="float64", seed=3)
        coords, values = self.X.to_coords()
        self.coords = [torch.from_numpy(row) for row in np.ascontiguousarray(coords)]
        self.values = torch.from_numpy(values)[:, None]
        self.B_torch, self.C_torch = torch.from_numpy(self.B), torch.from_numpy(self.C)
        self.ours()

    def ours(self) -> Any:
        return sp.einsum("ijk,jr,kr->ir", self.X, self.B, self.C)

    def gather_and_add(self) -> Any:
        """Compute it in torch, entry by entry: gather, multiply, add by index."""
        i, j, k = self.coords
        terms = self.values * self.B_torch[j] * self.C_torch[k]
        out = torch.zeros(self.X.shape[0], terms.shape[1], dtype=terms.dtype)
        return out.index_add_(0, i, terms)

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_torch_gather(self, *_: int) -> float:
        return ratio(self.ours, self.gather_and_add)


class TTV:
    """Tensor times vector along the last dimension, a sparse result, float64."""

    params = [[100_000, 1_000_000]]
    param_names = ["entries"]

    def setup(self, entries: int) -> None:
        use_threads()
        shape = (1_000, 2_000, 3_000)
        self.X = random_tensor(shape, entries)
        self.v = dense(shape[2], dtype="float64")
        coords, values = self.X.to_coords()
        # SciPy's nearest: a matrix with one row for each pair of the outer dimensions.
        rows = coords[0] * shape[1] + coords[1]
        flat = (shape[0] * shape[1], shape[2])
        self.matrix = scipy.sparse.coo_array((values, (rows, coords[2])), flat).tocsr()
        self.ours()

    def ours(self) -> Any:
        return sp.einsum("ijk,k->ij", self.X, self.v, format="dcsr")

    def time_product(self, *_: int) -> None:
        self.ours()

    def peakmem_product(self, *_: int) -> None:
        self.ours()

    def track_ratio_scipy_flattened(self, *_: int) -> float:
        return ratio(self.ours, lambda: self.matrix @ self.v)
