"""The address of an array's memory, as kernels take it."""

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

__all__ = ["address"]


def _address(array: npt.NDArray[Any]) -> int:
    """Return the address of the first element of a contiguous array."""
    first: int = array.__array_interface__["data"][0]
    return first


address: Callable[[npt.NDArray[Any]], int]
try:
    from sparray._kernels.addresses import address  # type: ignore[import-not-found,no-redef]
except ImportError:
    # A source tree that was not built: right, and slower by 1 µs per array.
    address = _address
