"""Functions about dtypes, which NumPy's answer where they know the dtype."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import is_half, weakly_promoted
from sparray.errors import DTypeError
from sparray.formats.coordinates import as_dtype
from sparray.functions.creation import check_device
from sparray.functions.einsum import as_operand
from sparray.records import dataclass
from sparray.sparse_array import SparseArray

__all__ = [
    "FloatInfo",
    "astype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
]


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """The limits of a dtype of floats, as numbers of Python.

    Attributes
    ----------
    bits : int
        Width of a number; of a complex one, of each part.
    eps : float
        Difference between 1 and the next larger number.
    max, min : float
        Largest number, and its negation.
    smallest_normal : float
        Smallest positive number in full precision.
    dtype : dtype
        Of each part, where numbers are complex.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


def astype(
    x: Any,
    dtype: npt.DTypeLike,
    /,
    *,
    copy: bool = True,
    device: str | None = None,
) -> SparseArray | npt.NDArray[Any]:
    """Return an array in another dtype.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    dtype : dtype
        Which.
    copy : bool
        False returns the array itself if it has the dtype.
    device : {"cpu"}, optional
        Where the result is.

    Returns
    -------
    SparseArray or ndarray
        Of a sparse array, one that shares the pattern.

    Raises
    ------
    DTypeError
        If it is no dtype of arrays, or complex numbers would lose a part.
    """
    check_device(device)
    operand, wanted = as_operand("x", x), as_dtype(dtype)
    if operand.dtype == wanted and not copy:
        return operand
    if operand.dtype.kind == "c" and wanted.kind not in "cb":
        raise DTypeError(
            f"dtype: expected a complex one, or bool, for complex values, got {wanted} "
            "(real and imag give the parts)"
        )
    return operand.astype(wanted)


def can_cast(from_: Any, to: npt.DTypeLike, /) -> bool:
    """Tell whether one dtype holds all that another does, by NumPy's rules.

    Parameters
    ----------
    from_ : dtype or array
        What would be converted.
    to : dtype
        To what.

    Returns
    -------
    bool
        False where a value may be lost.
    """
    return bool(np.can_cast(_dtype_of(from_), as_dtype(to)))


def finfo(type: Any, /) -> FloatInfo:
    """Return the limits of a dtype of floats, complex ones included.

    Parameters
    ----------
    type : dtype or array
        Which.

    Returns
    -------
    FloatInfo
        Numbers of Python.

    Raises
    ------
    DTypeError
        If its numbers are not floats.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.finfo("float32").bits, sp.finfo("float64").eps
    (32, 2.220446049250313e-16)
    """
    known = _dtype_of(type)
    if known.name == "bfloat16":
        import ml_dtypes

        limits: Any = ml_dtypes.finfo(known)
    elif known.kind in "fc":
        limits = np.finfo(known)
    else:
        raise DTypeError(f"finfo: expected a dtype of floats, got {known}")
    return FloatInfo(
        int(limits.bits),
        float(limits.eps),
        float(limits.max),
        float(limits.min),
        float(limits.smallest_normal),
        np.dtype(limits.dtype),
    )


def iinfo(type: Any, /) -> Any:
    """Return the limits of a dtype of integers: ``bits``, ``min``, ``max``, ``dtype``.

    Parameters
    ----------
    type : dtype or array
        Which.

    Returns
    -------
    numpy.iinfo
        NumPy's own.

    Raises
    ------
    DTypeError
        If its numbers are not integers.
    """
    known = _dtype_of(type)
    if known.kind not in "iu":
        raise DTypeError(f"iinfo: expected a dtype of integers, got {known}")
    return np.iinfo(known)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Tell whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
        Which.
    kind : dtype or str or tuple of them
        ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
        ``"real floating"``, ``"complex floating"`` or ``"numeric"``; or a dtype.

    Returns
    -------
    bool
        True if it is of one of them.

    Raises
    ------
    DTypeError
        If there is no such kind.
    """
    known = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(known, one) for one in kind)
    if is_half(known) and kind in ("real floating", "numeric"):
        return True
    try:
        return bool(np.isdtype(known, kind))
    except (TypeError, ValueError) as error:
        raise DTypeError(f"kind: expected a dtype or a kind, got {kind!r}") from error


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the dtype of a result of operands, by NumPy's rules.

    Parameters
    ----------
    *arrays_and_dtypes : array, dtype or number
        Python's numbers are weak: they take the dtype of the arrays beside them.

    Returns
    -------
    dtype
        NumPy's, or bfloat16.

    Raises
    ------
    DTypeError
        If nothing is given, or dtypes cannot be combined.
    """
    numbers = [x for x in arrays_and_dtypes if type(x) in (bool, int, float, complex)]
    others = [
        x for x in arrays_and_dtypes if type(x) not in (bool, int, float, complex)
    ]
    try:
        if not others:
            return np.result_type(*numbers)
        known = np.result_type(*map(_dtype_of, others))
    except (TypeError, ValueError) as error:
        raise DTypeError(
            f"result_type: expected arrays or dtypes that go together, got "
            f"{arrays_and_dtypes} ({error})"
        ) from None
    for number in numbers:
        known = weakly_promoted(known, number)
    return known


def _dtype_of(given: Any) -> np.dtype[Any]:
    dtype = getattr(given, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype
    return as_dtype(given)
