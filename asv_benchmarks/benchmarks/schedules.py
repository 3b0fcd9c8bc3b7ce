"""Schedules by hand beside those of the scheduler."""

from typing import Any

import numpy as np

import sparray as sp

from .inputs import dense
from .interleave import ratio

__all__ = ["SpMMPacked"]

PRODUCT = "C[i,j] = A[i,k] * B[k,j]"
PACKED = "reorder(i k j).tile(j, 64).pack(B, i).unroll(k, 4)"


class SpMMPacked:
    """CSR times dense with a packed panel, float32, on one thread.

    Weights of 768×3072 and 3072×768 with a fifth stored, 4096² with 1 %.
    """

    params = [["768x3072 20%", "3072x768 20%", "4096x4096 1%"], [128, 512]]
    param_names = ["weights", "columns"]

    def setup(self, weights: str, columns: int) -> None:
        shape, _, stored = weights.partition(" ")
        rows, inner = map(int, shape.split("x"))
        rng = np.random.default_rng(0)
        kept = rng.random((rows, inner)) < float(stored.rstrip("%")) / 100
        values = rng.random((rows, inner), np.float32) * kept
        self.A = sp.array(values, format="csr")
        self.B = dense(inner, columns)
        self.threads = sp.num_threads()
        sp.set_num_threads(1)
        self.ours()

    def teardown(self, *_: Any) -> None:
        sp.set_num_threads(self.threads)

    def ours(self) -> Any:
        return sp.compute(PRODUCT, A=self.A, B=self.B, schedule=PACKED)

    def usual(self) -> Any:
        return sp.compute(PRODUCT, A=self.A, B=self.B)

    def time_product(self, *_: Any) -> None:
        self.ours()

    def track_ratio_usual(self, *_: Any) -> float:
        return ratio(self.ours, self.usual)
