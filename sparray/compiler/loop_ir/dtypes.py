"""Dtypes of values: their kinds, and in which dtype each is computed.

A 16-bit float is a way to store a number: generated code and the interpreters load it
as float32, compute in float32, and round once when they store it. NumPy knows float16;
bfloat16 comes from `ml_dtypes`, which is imported when somebody asks for it by name.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import MissingExtraError

__all__ = [
    "HALVES",
    "computed_dtype",
    "dtype_kind",
    "half_bits",
    "is_half",
    "numpy_dtype",
    "weakly_promoted",
    "widened",
]

HALVES = frozenset({"float16", "bfloat16"})
"""Names of the dtypes that are stored in 16 bits and computed in float32."""


def is_half(dtype: "str | np.dtype[Any]") -> bool:
    """Tell whether a dtype is a 16-bit float."""
    return dtype in HALVES if isinstance(dtype, str) else _named_half(dtype)


@lru_cache(maxsize=64)
def _named_half(dtype: np.dtype[Any]) -> bool:
    # NumPy puts the name together each time that it is asked for.
    return dtype.name in HALVES


def computed_dtype(dtype: str) -> str:
    """Return the dtype in which values of a dtype are computed: float32 for halves."""
    return "float32" if dtype in HALVES else dtype


def dtype_kind(dtype: "str | np.dtype[Any]") -> str:
    """Return NumPy's letter of a dtype's kind; ``"f"`` for bfloat16 too.

    `ml_dtypes` registers bfloat16 as a kind of its own (``"V"``).
    """
    if is_half(dtype):
        return "f"
    kind: str = np.dtype(dtype).kind
    return kind


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """Return a NumPy dtype, having imported `ml_dtypes` for the name bfloat16.

    Raises
    ------
    TypeError
        If there is no such dtype.
    MissingExtraError
        If it is bfloat16, and `ml_dtypes` is not installed.
    """
    if isinstance(dtype, str) and dtype == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise MissingExtraError(
                "bfloat16: expected ml_dtypes, which gives NumPy that dtype, got an "
                "ImportError (pip install 'sparray-levels[bfloat16]')"
            ) from None
        dtype = ml_dtypes.bfloat16
    made: np.dtype[Any] = np.dtype(dtype)
    return made


def weakly_promoted(dtype: np.dtype[Any], number: complex) -> np.dtype[Any]:
    """Return the dtype of an array's elements combined with a Python number.

    NumPy's rule, under which a float does not widen a float; `ml_dtypes` gives float32
    or float64 for bfloat16 and a float.
    """
    if dtype.name == "bfloat16" and type(number) is float:
        return dtype
    made: np.dtype[Any] = np.result_type(dtype, number)
    return made


def widened(values: Any) -> Any:
    """Return an array or a scalar as it is computed with: halves as float32."""
    dtype = getattr(values, "dtype", None)
    return values if dtype is None or not is_half(dtype) else values.astype(np.float32)


def half_bits(value: Any, dtype: str) -> int:
    """Return the 16 bits that store a number, rounded to the nearest even one."""
    with np.errstate(all="ignore"):
        stored: npt.NDArray[Any] = np.asarray(value).astype(numpy_dtype(dtype))
    return int(stored.view(np.uint16))
