"""Implementations of torch functions, by area; importing it fills the table."""

from sparray.torch.operators import (
    conversions,
    elementwise,
    metadata,
    pointwise,
    products,
    reductions,
    transpositions,
)

__all__ = [
    "conversions",
    "elementwise",
    "metadata",
    "pointwise",
    "products",
    "reductions",
    "transpositions",
]
