"""Implementations of torch functions, by area; importing it fills the table."""

from sparray.torch.operators import (
    conversions,
    differentiation,
    elementwise,
    metadata,
    pointwise,
    products,
    reductions,
    softmax,
    transpositions,
)

__all__ = [
    "conversions",
    "differentiation",
    "elementwise",
    "metadata",
    "pointwise",
    "products",
    "reductions",
    "softmax",
    "transpositions",
]
