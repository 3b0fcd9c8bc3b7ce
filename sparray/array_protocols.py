"""What other libraries ask of an array: the array API's attributes, NumPy's hooks."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from sparray.densifying import allowed_bytes
from sparray.errors import (
    DeviceError,
    DTypeError,
    SettingError,
    ShapeError,
    WouldDensifyError,
)

if TYPE_CHECKING:
    from types import ModuleType

    from sparray.sparse_array import SparseArray

__all__ = ["STANDARD_VERSIONS", "ArrayProtocols", "dense_view"]

STANDARD_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Revisions of the array API standard whose names the namespace has."""


class ArrayProtocols:
    """Mixin with the protocols of `SparseArray`."""

    __slots__ = ()

    def __array_namespace__(self, *, api_version: str | None = None) -> "ModuleType":
        """Return the module whose functions are for arrays like this one."""
        if api_version is not None and api_version not in STANDARD_VERSIONS:
            raise SettingError(
                f"api_version: expected one of {', '.join(STANDARD_VERSIONS)}, "
                f"got {api_version!r}"
            )
        return sys.modules["sparray"]

    @property
    def device(self) -> str:
        """Where the array is: ``"cpu"``."""
        return "cpu"

    def to_device(self, device: Any, /, *, stream: Any = None) -> "SparseArray":
        """Return the array on a device: itself.

        Parameters
        ----------
        device : {"cpu"}
            Where to.
        stream : None
            There are none on a CPU.

        Raises
        ------
        DeviceError
            If it is another device.
        """
        if device != "cpu" or stream is not None:
            raise DeviceError(
                f"to_device: expected 'cpu' without a stream, got {device!r}"
            )
        return cast("SparseArray", self)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        from sparray.functions.ufuncs import apply_ufunc  # they make SparseArrays

        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Any:
        from sparray.functions.numpy_functions import apply_function

        return apply_function(function, types, args, options)

    def __array__(
        self, dtype: Any = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        array = cast("SparseArray", self)
        if array.format.is_dense:
            dense = dense_view(array)
            return np.array(dense, dtype, copy=copy)
        if _is_operand_of_scipy():
            wrapped = np.empty((), dtype=object)
            wrapped[()] = array
            return wrapped
        size, most = array.size * array.dtype.itemsize, allowed_bytes()
        if most is None or size > most:
            beside = "" if most is None else f" (allow_dense allows {most} bytes)"
            raise WouldDensifyError(
                f"SparseArray of shape {array.shape}: expected a call of todense() to "
                f"make a dense array of {size} bytes, got an implicit conversion"
                f"{beside}"
            )
        if copy is False:
            raise SettingError("copy: expected True or None for a sparse array")
        return array.todense().astype(dtype or array.dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        """Return a capsule that shares the values of an array in a dense format."""
        array = cast("SparseArray", self)
        if not array.format.is_dense:
            raise WouldDensifyError(
                f"__dlpack__: expected a dense format, got {array.format} of shape "
                f"{array.shape}; todense() makes a dense array of "
                f"{array.size * array.dtype.itemsize} bytes"
            )
        return dense_view(array).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's number of the CPU."""
        return 1, 0

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return what Dask names the array by; chunks of its kind are registered."""
        from sparray.functions.dask_chunks import token

        return token(cast("SparseArray", self))

    def __sizeof__(self) -> int:
        """Return bytes, those of the buffers included: Dask's workers count them."""
        return object.__sizeof__(self) + cast("SparseArray", self).nbytes

    def matvec(self, x: Any) -> Any:
        """Return ``A @ x`` of a dense vector: SciPy's solvers call it."""
        return cast(Any, self) @ np.ravel(x)

    def rmatvec(self, x: Any) -> Any:
        """Return ``A.conj().T @ x`` of a dense vector: SciPy's solvers call it."""
        return self.rmatmat(np.ravel(x))

    def matmat(self, x: Any) -> Any:
        """Return ``A @ x`` of a dense matrix: SciPy's solvers call it."""
        return cast(Any, self) @ np.asarray(x)

    def rmatmat(self, x: Any) -> Any:
        """Return ``A.conj().T @ x`` of a dense matrix: SciPy's solvers call it."""
        # Conjugating what is dense leaves the buffers of the matrix shared.
        array, given = cast(Any, self), np.asarray(x)
        if array.dtype.kind != "c":
            return array.T @ given
        return np.conj(array.T @ np.conj(given))

    def __bool__(self) -> bool:
        array = cast("SparseArray", self)
        if array.size != 1:
            raise ShapeError(
                "truth of an array: expected one element, got one of shape "
                f"{array.shape}; compare, then reduce by any or all"
            )
        return bool(self._element())

    def __complex__(self) -> complex:
        return complex(self._only("complex"))

    def __float__(self) -> float:
        element = self._only("float")
        if element.dtype.kind == "c":
            raise DTypeError("float: expected a real number, got a complex one")
        return float(element)

    def __int__(self) -> int:
        element = self._only("int")
        if element.dtype.kind == "c":
            raise DTypeError("int: expected a real number, got a complex one")
        return int(element)

    def __index__(self) -> int:
        array = cast("SparseArray", self)
        if array.ndim or array.dtype.kind not in "iu":
            raise DTypeError(
                "index: expected an integer without dimensions, got an array of shape "
                f"{array.shape} and dtype {array.dtype}"
            )
        return int(self._element())

    def _only(self, what: str) -> Any:
        array = cast("SparseArray", self)
        if array.size != 1:
            raise DTypeError(
                f"{what}: expected an array of one element, got one of shape "
                f"{array.shape}"
            )
        return self._element()

    def _element(self) -> Any:
        return cast("SparseArray", self).todense().reshape(())[()]


_OPERATORS_OF_SCIPY = frozenset(
    {
        "_comparison",
        "_divide",
        "_matmul_dispatch",
        "_maximum_minimum",
        "_multiply_2d_with_broadcasting",
        "multiply",
    }
)


def _is_operand_of_scipy() -> bool:
    """Tell whether an operator of a SciPy sparse array asks what its operand is.

    It asks NumPy before it asks the operand: an object that is no array makes it return
    NotImplemented, upon which Python calls the operand's own operator.
    """
    caller = sys._getframe(2)
    module = caller.f_globals.get("__name__", "")
    return caller.f_code.co_name in _OPERATORS_OF_SCIPY and module.startswith(
        "scipy.sparse._"
    )


def dense_view(array: "SparseArray") -> npt.NDArray[Any]:
    """Return the elements of an array of a dense format, its memory shared."""
    order = array.format.dimension_order
    stored = array.values.reshape([array.shape[d] for d in order])
    return stored.transpose(np.argsort(order))
