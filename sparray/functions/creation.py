"""Arrays made of nothing but a shape, of other arrays' shapes, or of anything.

What every element has is the fill value, so `zeros`, `ones` and `full` store nothing,
whatever their shape.
"""

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert import array, convert_format, default_format
from sparray.errors import DeviceError, DTypeError, SettingError, ShapeError
from sparray.formats.coordinates import as_dtype, as_fill_value, as_shape
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.formats.packing import pack_coordinates
from sparray.sparse_array import SparseArray

__all__ = [
    "asarray",
    "check_device",
    "empty",
    "eye",
    "from_dlpack",
    "full",
    "ones",
    "zeros",
]


def check_device(device: Any) -> None:
    """Raise if a device is none that arrays can be on.

    Raises
    ------
    DeviceError
        If it is not the CPU.
    """
    if device not in (None, "cpu"):
        raise DeviceError(f"device: expected 'cpu' or None, got {device!r}")


def asarray(
    obj: Any,
    /,
    *,
    dtype: npt.DTypeLike | None = None,
    device: str | None = None,
    copy: bool | None = None,
    format: str | Format | None = None,
) -> SparseArray:
    """Return any array as a sparse array, the same object if it is one already.

    Parameters
    ----------
    obj : array_like, SciPy sparse array, torch tensor, SparseTensor or SparseArray
        As for `array`.
    dtype : dtype, optional
        By default that of ``obj``.
    device : {"cpu"}, optional
        Where the array is.
    copy : bool, optional
        Whether memory is copied: always, never, or by default where it has to be.
    format : str or Format, optional
        As for `array`: by default that of a sparse object, and ``csr`` or ``csf`` for
        a dense one, whose elements are copied.

    Returns
    -------
    SparseArray
        The array.

    Raises
    ------
    SettingError
        If ``copy`` is False, and there is no way without a copy.
    DeviceError
        If the device is not the CPU.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.asarray([[0, 2], [3, 0]])
    >>> A.nnz, sp.asarray(A) is A
    (2, True)
    """
    check_device(device)
    made = array(obj, format, dtype, copy=copy is True)
    if copy is False and not _shares(made, obj):
        raise SettingError(
            "copy: expected True or None for an object whose values cannot be shared "
            f"in the format {made.format} with dtype {made.dtype}, got False"
        )
    return made


def _shares(made: SparseArray, obj: Any) -> bool:
    """Tell whether an array has the values of what it was made of."""
    if made is obj or not len(made.values):
        return True
    for name in ("values", "data"):
        own = getattr(obj, name, None)
        if isinstance(own, np.ndarray) and np.may_share_memory(made.values, own):
            return True
    return isinstance(obj, np.ndarray) and np.may_share_memory(made.values, obj)


def full(
    shape: Any,
    fill_value: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    device: str | None = None,
    format: str | Format | None = None,
) -> SparseArray:
    """Return an array whose elements are all one number: its fill value.

    Parameters
    ----------
    shape : int or sequence of int
        Extents; their product may be of any size.
    fill_value : scalar
        The number.
    dtype : dtype, optional
        By default that of the number.
    device : {"cpu"}, optional
        Where the array is.
    format : str or Format, optional
        By default ``csr`` (2 dimensions) or ``csf`` (any other number). In a format
        whose levels are all dense every element is stored.

    Returns
    -------
    SparseArray
        Nothing is stored, unless the format stores all.

    Examples
    --------
    >>> import sparray as sp
    >>> F = sp.full((1000, 1000), 7)
    >>> F.nnz, F.sum()
    (0, np.int64(7000000))
    """
    check_device(device)
    extents = as_shape(shape)
    known = as_dtype(np.asarray(fill_value).dtype if dtype is None else dtype)
    fill = as_fill_value(fill_value, known)
    return _of_coords(np.zeros((len(extents), 0)), extents, known, format, fill)


def _of_coords(
    coords: npt.NDArray[Any],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    format: str | Format | None,
    fill: Any,
) -> SparseArray:
    """Return an array that is one at some coordinates."""
    ndim = len(shape)
    made = default_format(ndim) if format is None else as_format(format, ndim)
    values = np.ones(coords.shape[1], dtype)
    table = coords.astype(np.int64, copy=False)
    levels, packed = pack_coordinates(made, shape, table, values, fill)
    return SparseArray._from_trusted(made, shape, levels, packed, fill)


def zeros(
    shape: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    device: str | None = None,
    format: str | Format | None = None,
) -> SparseArray:
    """Return an array of zeros, which stores none of them.

    Parameters
    ----------
    shape : int or sequence of int
        Extents.
    dtype : dtype, optional
        By default float64.
    device, format
        As for `full`.

    Returns
    -------
    SparseArray
        Nothing is stored.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.zeros((2, 3), dtype="int8", format="coo").nnz
    0
    """
    return full(shape, 0, dtype=_default(dtype), device=device, format=format)


def ones(
    shape: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    device: str | None = None,
    format: str | Format | None = None,
) -> SparseArray:
    """Return an array of ones: its fill value, so that none is stored.

    Parameters
    ----------
    shape : int or sequence of int
        Extents.
    dtype : dtype, optional
        By default float64.
    device, format
        As for `full`.

    Returns
    -------
    SparseArray
        Nothing is stored.
    """
    return full(shape, 1, dtype=_default(dtype), device=device, format=format)


def empty(
    shape: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    device: str | None = None,
    format: str | Format | None = None,
) -> SparseArray:
    """Return an array of any values: as `zeros`, which costs nothing more.

    Parameters
    ----------
    shape : int or sequence of int
        Extents.
    dtype : dtype, optional
        By default float64.
    device, format
        As for `full`.

    Returns
    -------
    SparseArray
        Nothing is stored.
    """
    return zeros(shape, dtype=dtype, device=device, format=format)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    k: int = 0,
    dtype: npt.DTypeLike | None = None,
    *,
    device: str | None = None,
    format: str | Format | None = None,
) -> SparseArray:
    """Return a matrix with ones on a diagonal.

    Parameters
    ----------
    n_rows, n_cols : int
        Its extents; a square by default.
    k : int
        Which diagonal: positive ones are above the main one.
    dtype : dtype, optional
        By default float64.
    device : {"cpu"}, optional
        Where the array is.
    format : str or Format, optional
        By default ``csr``.

    Returns
    -------
    SparseArray
        The diagonal is stored.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.eye(2, 3, k=1).todense()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    check_device(device)
    rows, columns = as_shape((n_rows, n_rows if n_cols is None else n_cols))
    try:
        k = operator.index(k)
    except TypeError:
        raise ShapeError(f"k: expected an integer, got {k!r}") from None
    first, last = max(0, -k), min(rows, columns - k)
    row = np.arange(first, max(first, last), dtype=np.int64)
    known = as_dtype(_default(dtype))
    shape = rows, columns
    return _of_coords(np.stack([row, row + k]), shape, known, format, known.type(0))


def from_dlpack(
    x: Any,
    /,
    *,
    device: str | None = None,
    copy: bool | None = None,
    format: str | Format = "dense",
) -> SparseArray:
    """Return the array of an object that has ``__dlpack__``: of any library.

    Parameters
    ----------
    x : object with ``__dlpack__`` and ``__dlpack_device__``
        A dense array on the CPU.
    device : {"cpu"}, optional
        Where the result is.
    copy : bool, optional
        As of `asarray`.
    format : str or Format
        In another one than ``dense`` elements that are not 0 are copied.

    Returns
    -------
    SparseArray
        It shares the memory of ``x`` unless the format or ``copy`` asks otherwise.

    Raises
    ------
    DeviceError
        If the object is on another device.

    Examples
    --------
    >>> import numpy as np
    >>> import sparray as sp
    >>> x = np.arange(3.0)
    >>> A = sp.from_dlpack(x)
    >>> A.format.name, np.shares_memory(A.values, x)
    ('dense', True)
    """
    check_device(device)
    try:
        dense = np.from_dlpack(x)
    except (AttributeError, TypeError):
        raise DTypeError(
            f"x: expected an object that has __dlpack__, got {type(x).__name__}"
        ) from None
    except (RuntimeError, BufferError) as error:
        raise DeviceError(f"x: expected an array on the CPU, got one of {error}") from (
            error
        )
    made = asarray(dense, copy=copy, format="dense")
    return convert_format(made, as_format(format, made.ndim))


def _default(dtype: npt.DTypeLike | None) -> npt.DTypeLike:
    return np.float64 if dtype is None else dtype
