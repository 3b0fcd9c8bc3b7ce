"""An array from any object."""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import convert_format, from_dense
from sparray.convert.scipy_arrays import from_scipy
from sparray.convert.torch_tensors import from_torch
from sparray.errors import UnsupportedError
from sparray.formats.coordinates import as_dtype, differs
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.sparse_array import SparseArray

__all__ = ["array"]


def array(
    obj: Any,
    format: str | Format | None = None,
    dtype: npt.DTypeLike | None = None,
    fill_value: Any = None,
    copy: bool = True,
) -> SparseArray:
    """Make a sparse array of any array.

    Parameters
    ----------
    obj : array_like, SciPy sparse array, torch tensor, SparseTensor or SparseArray
        Sparse objects give their stored entries, explicit zeros included; dense ones
        their elements that differ from the fill value.
    format : str or Format, optional
        A name, a format string or a format. By default that of a sparse object, and
        ``csr`` (2 dimensions) or ``csf`` (any other number) for a dense one.
    dtype : dtype, optional
        By default that of ``obj``.
    fill_value : scalar, optional
        What every entry is that is not stored: by default 0, or that of a SparseArray.
    copy : bool
        False shares memory with ``obj`` where its layout is the format's.

    Returns
    -------
    SparseArray
        ``obj`` is never changed.

    Raises
    ------
    FormatError
        If the format is none, or of another number of dimensions.
    DTypeError
        If a dtype is not supported, or cannot hold the fill value.
    InvalidBufferError, CoordinateError
        If a sparse object is malformed.
    UnsupportedError
        If a sparse object comes with a fill value that is not its own.

    Examples
    --------
    >>> A = array([[0, 0, 3], [4, 0, 0]], format="csc")
    >>> A.levels[1]["crd"]
    array([1, 0], dtype=int32)
    """
    if isinstance(obj, SparseArray):
        return _from_sparse_array(obj, format, dtype, fill_value, copy)
    to_array = getattr(type(obj), "__sparray__", None)
    if to_array is not None:
        return _from_sparse_array(to_array(obj), format, dtype, fill_value, copy)
    # A module that was never imported has made no object.
    scipy_sparse = sys.modules.get("scipy.sparse")
    if scipy_sparse is not None and scipy_sparse.issparse(obj):
        _refuse_other_fill(0, fill_value, "a SciPy sparse array")
        return from_scipy(obj, format, dtype, copy)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(obj, torch.Tensor):
        return from_torch(obj, format, dtype, fill_value, copy)
    return from_dense(obj, format, dtype, 0 if fill_value is None else fill_value, copy)


def _from_sparse_array(
    obj: SparseArray,
    format: str | Format | None,
    dtype: npt.DTypeLike | None,
    fill_value: Any,
    copy: bool,
) -> SparseArray:
    """Return a SparseArray in another format or dtype."""
    _refuse_other_fill(obj.fill_value, fill_value, "a SparseArray")
    made = obj
    if dtype is not None and as_dtype(dtype) != obj.dtype:
        made = made.astype(dtype)
    if format is not None:
        made = convert_format(made, as_format(format, obj.ndim))
    return made.copy() if copy else made


def _refuse_other_fill(own: Any, asked: Any, what: str) -> None:
    """Refuse a fill value that would change what unstored entries are."""
    if asked is not None and differs(np.asarray(asked), own):
        raise UnsupportedError(
            f"fill_value: expected {own}, the one of {what}, got {asked!r}"
        )
