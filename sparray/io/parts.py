"""An array as a header and named buffers, which is what binary files hold."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import from_buffers
from sparray.errors import FileFormatError, SparrayError
from sparray.formats.coordinates import as_dtype, as_shape
from sparray.formats.format import Format
from sparray.io.description import Description, naming
from sparray.sparse_array import SparseArray

__all__ = ["array_of_parts", "describe_parts", "parse_json", "parts_of_array"]

_VERSION = 1
_DEEPEST = 200
_PLAIN_KINDS = "biufc"

Buffers = dict[str, npt.NDArray[Any]]


def parts_of_array(array: SparseArray) -> tuple[str, Buffers]:
    """Return the header of an array, as JSON, and its buffers by name.

    The buffers are ``level0.pos`` and so on, ``values``, and ``fill_value`` of length
    1: as a number in the header, a NaN would lose its bits.
    """
    buffers = {
        f"level{number}.{role}": buffer
        for number, roles in enumerate(array.levels)
        for role, buffer in roles.items()
    }
    fill = np.array([array.fill_value], dtype=array.dtype)
    buffers |= {"values": _storable(array.values), "fill_value": _storable(fill)}
    header = {
        "version": _VERSION,
        "format": str(array.format),
        "shape": list(array.shape),
        "dtype": array.dtype.name,
        "buffers": {name: len(buffer) for name, buffer in buffers.items()},
    }
    return json.dumps(header), buffers


def array_of_parts(
    path: Path, text: str, read: Callable[[str], npt.NDArray[Any]]
) -> SparseArray:
    """Make an array of a header and of buffers that ``read`` returns by name.

    Raises
    ------
    FileFormatError
        If they are not those of an array.
    """
    header = _parse_header(path, text)
    lengths = header["buffers"]

    def take(name: str, dtype: np.dtype[Any] | None = None) -> npt.NDArray[Any]:
        if name not in lengths:
            raise FileFormatError(f"expected a buffer {name!r}, got none")
        buffer = read(name)
        if dtype is not None:
            buffer = _restored(buffer, dtype)
        if buffer.shape != (lengths[name],):
            raise FileFormatError(
                f"expected {lengths[name]} elements in buffer {name!r}, got shape "
                f"{buffer.shape}"
            )
        return buffer

    with naming(path):
        try:
            shape = as_shape(header["shape"])
            format = Format.parse(header["format"], len(shape))
            dtype = as_dtype(header["dtype"])
            levels = [
                {role: take(f"level{number}.{role}") for role in level.roles}
                for number, level in enumerate(format.levels)
            ]
            values, fill = take("values", dtype), take("fill_value", dtype)
            if len(fill) != 1:
                raise FileFormatError(f"expected 1 fill value, got {len(fill)}")
            return from_buffers(format, shape, levels, values, fill[0])
        except FileFormatError:
            raise
        except SparrayError as error:
            raise FileFormatError(f"expected the buffers of an array ({error})") from (
                error
            )


def describe_parts(path: Path, text: str, kind: str) -> Description:
    """Return what a header says."""
    header = _parse_header(path, text)
    return Description(
        kind=kind,
        shape=tuple(header["shape"]),
        n_entries=header["buffers"].get("values"),
        format=header["format"],
        dtype=header["dtype"],
        details={
            "buffers": ", ".join(f"{k}[{n}]" for k, n in header["buffers"].items())
        },
    )


def parse_json(path: Path, text: str) -> Any:
    """Parse JSON from outside.

    Raises
    ------
    FileFormatError
        If it is none, or is nested deeper than any header.
    """
    depth = deepest = 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    try:
        if deepest > _DEEPEST:
            raise ValueError(f"{deepest} levels of nesting")
        return json.loads(text)
    except ValueError as error:
        raise FileFormatError(f"{path}: expected a JSON header ({error})") from None


def _parse_header(path: Path, text: str) -> dict[str, Any]:
    """Return the header with every part of the right type."""
    header = parse_json(path, text)
    types = {
        "version": int,
        "format": str,
        "shape": list,
        "dtype": str,
        "buffers": dict,
    }
    for key, type_ in types.items():
        value = header.get(key) if isinstance(header, dict) else None
        if not isinstance(value, type_):
            raise FileFormatError(
                f"{path}: expected a header with {key!r}, a {type_.__name__}, got "
                f"{value!r:.60}"
            )
    if header["version"] != _VERSION:
        raise FileFormatError(
            f"{path}: expected version {_VERSION}, got {header['version']}"
        )
    numbers = [*header["shape"], *header["buffers"].values()]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise FileFormatError(
            f"{path}: expected extents and lengths that are integers from 0"
        )
    return dict(header)


def _storable(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values in a dtype that every NumPy can read: others by their bits."""
    if values.dtype.kind in _PLAIN_KINDS:
        return values
    return values.view(f"u{values.dtype.itemsize}")


def _restored(values: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return values in their own dtype again.

    Raises
    ------
    FileFormatError
        If they are of another one.
    """
    if values.dtype == dtype:
        return values
    as_bits = dtype.kind not in _PLAIN_KINDS and values.dtype == f"u{dtype.itemsize}"
    as_pairs = dtype.kind == "c" and values.dtype == f"f{dtype.itemsize // 2}"
    if values.ndim == 1 and (as_bits or (as_pairs and len(values) % 2 == 0)):
        return values.view(dtype)
    raise FileFormatError(f"expected values of {dtype}, got {values.dtype}")
