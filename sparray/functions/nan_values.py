"""Numbers in place of NaN, in what is stored and in the fill value."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.functions.creation import asarray
from sparray.sparse_array import SparseArray

__all__ = ["has_nan", "nan_to_num", "replaced", "unique_entries", "with_values"]

Elements = npt.NDArray[Any]


def nan_to_num(
    x: Any,
    /,
    *,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> SparseArray:
    """Return the elements with numbers in place of NaN and of the infinities.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    nan : float
        What stands for NaN, as a fill value too.
    posinf, neginf : float, optional
        What stands for the infinities: the largest and the smallest number of the
        dtype.

    Returns
    -------
    SparseArray
        With the pattern of ``x``.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.nan_to_num(sp.array([0.0, float("nan"), 2.0])).values
    array([0., 2.])
    """
    array = unique_entries(asarray(x))
    options: dict[str, Any] = {"nan": nan, "posinf": posinf, "neginf": neginf}
    values = np.nan_to_num(array.values, **options)
    return with_values(array, values, np.nan_to_num(array.fill_value, **options))


def has_nan(array: SparseArray) -> bool:
    """Tell whether an entry or the fill value is NaN."""
    if array.dtype.kind in "biu":
        return False
    return bool(np.isnan(array.values).any() or np.isnan(array.fill_value))


def replaced(x: Any, number: float) -> Any:
    """Return an array with a number in place of NaN.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    number : float
        What stands for NaN, as a fill value too.
    """
    array = asarray(x)
    if not has_nan(array):
        return array
    array = unique_entries(array)
    filler = array.dtype.type(number)
    values = np.where(np.isnan(array.values), filler, array.values)
    fill = filler if np.isnan(array.fill_value) else array.fill_value
    return with_values(array, values.astype(array.dtype, copy=False), fill)


def unique_entries(array: SparseArray) -> SparseArray:
    """Return an array of which each stored value is an element."""
    if array.format.unique:
        return array
    return array.to_format("csr" if array.ndim == 2 else "csf")


def with_values(array: SparseArray, values: Elements, fill: Any) -> SparseArray:
    """Return an array of the same pattern with other values."""
    made = values.dtype.type(fill)
    return SparseArray._from_trusted(
        array.format, array.shape, array._levels, values, made
    )
