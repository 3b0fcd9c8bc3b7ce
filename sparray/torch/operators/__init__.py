"""Implementations of torch functions, by area; importing it fills the table."""

from sparray.torch.operators import (
    conversions,
    copying,
    differentiation,
    elementwise,
    metadata,
    pointwise,
    products,
    reductions,
    softmax,
    training,
    transpositions,
)

__all__ = [
    "conversions",
    "copying",
    "differentiation",
    "elementwise",
    "metadata",
    "pointwise",
    "products",
    "reductions",
    "softmax",
    "training",
    "transpositions",
]
