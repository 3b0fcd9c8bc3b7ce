"""What the array API standard asks of a namespace: devices, dtypes, capabilities."""

from typing import Any

import numpy as np

from sparray.errors import DTypeError
from sparray.functions.creation import check_device

__all__ = ["ArrayNamespaceInfo", "array_namespace_info"]

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_UNIONS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": (
        "signed integer",
        "unsigned integer",
        "real floating",
        "complex floating",
    ),
}
_MOST_DIMENSIONS = 64


class ArrayNamespaceInfo:
    """Devices, dtypes and capabilities of sparray as an array API namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Return what arrays can do that the standard leaves open."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": _MOST_DIMENSIONS,
        }

    def default_device(self) -> str:
        """Return the device of new arrays."""
        return "cpu"

    def devices(self) -> list[str]:
        """Return all devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of new arrays, by kind."""
        check_device(device)
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """Return the standard's dtypes by name, of some kinds or of all."""
        check_device(device)
        wanted = tuple(_KINDS) if kind is None else kind
        kinds = (wanted,) if isinstance(wanted, str) else wanted
        single = [part for one in kinds for part in _UNIONS.get(one, (one,))]
        unknown = [one for one in single if one not in _KINDS]
        if unknown:
            raise DTypeError(
                f"kind: expected some of {', '.join((*_KINDS, *_UNIONS))}, got {kind!r}"
            )
        return {name: np.dtype(name) for one in single for name in _KINDS[one]}


def array_namespace_info() -> ArrayNamespaceInfo:
    """Return devices, dtypes and capabilities of the namespace.

    Returns
    -------
    ArrayNamespaceInfo
        With a method for each.

    Examples
    --------
    >>> import sparray as sp
    >>> sorted(sp.__array_namespace_info__().dtypes(kind="real floating"))
    ['float32', 'float64']
    """
    return ArrayNamespaceInfo()
