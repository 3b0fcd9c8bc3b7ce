"""Arrays as Binsparse stores them: a descriptor in JSON, and named arrays.

Source: the Binsparse specification 0.1.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import convert_format, from_buffers
from sparray.errors import DTypeError, FileFormatError, SparrayError
from sparray.formats.coordinates import as_shape
from sparray.formats.named import format_text
from sparray.io.binsparse_levels import (
    FileLevel,
    describe_format,
    file_levels,
    format_of,
    read_format,
)
from sparray.io.description import Description
from sparray.io.entries import Entries, array_of_entries, index_dtype_for, mirror
from sparray.sparse_array import SparseArray

__all__ = ["binsparse_parts", "describe_binsparse", "read_binsparse"]

Buffers = dict[str, npt.NDArray[Any]]
Read = Callable[[str], npt.NDArray[Any]]

_VERSION = "0.1"
_TYPES = {
    name: np.dtype(name)
    for name in (
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64"),
    )
} | {"bint8": np.dtype(np.uint8)}
_STRUCTURES = ("symmetric", "hermitian", "skew_symmetric")
_WRAPPED = re.compile(r"(iso|complex)\[(.*)\]")


def binsparse_parts(array: SparseArray) -> tuple[dict[str, Any], Buffers]:
    """Return the descriptor of an array, and the arrays that go with it.

    Raises
    ------
    UnsupportedError
        If Binsparse has no words for the format.
    DTypeError
        If it has none for the dtype.
    """
    levels = file_levels(array.format)
    types: dict[str, str] = {}
    arrays: Buffers = {}

    def put(name: str, buffer: npt.NDArray[Any]) -> None:
        types[name], arrays[name] = _encode(buffer)

    depth = 0
    for level in levels:
        for number in range(depth, depth + level.rank):
            buffers = array.levels[number]
            if "pos" in buffers and number > 0:
                put(f"pointers_to_{number}", buffers["pos"])
            if "crd" in buffers:
                put(f"indices_{number}", buffers["crd"])
        depth += level.rank
    put("values", array.values)
    descriptor = {
        "version": _VERSION,
        **describe_format(levels, array.format.order),
        "shape": list(array.shape),
        "number_of_stored_values": len(array.values),
        "data_types": types,
    }
    if array.fill_value != 0:
        descriptor["fill"] = True
        put("fill_value", np.array([array.fill_value], dtype=array.dtype))
    return descriptor, arrays


def read_binsparse(descriptor: Any, read: Read) -> SparseArray:
    """Make an array of a descriptor, and of arrays that ``read`` returns by name.

    Raises
    ------
    FileFormatError
        If they are not those of an array.
    """
    try:
        header = _namespace(descriptor)
        shape = as_shape(header["shape"])
        levels, order = read_format(header, len(shape))
        types = header["data_types"]
        base = header.get("index_base", 0)
        if base not in (0, 1):
            raise FileFormatError(f"expected index_base 0 or 1, got {base!r:.40}")
        stored = _read_levels(levels, types, read, base)
        values = _read_values(header, types, read, _count(stored, levels, shape, order))
        fill: Any = 0
        if header.get("fill") is True:
            fills = _decode("fill_value", types, read, 1)
            if fills.shape != (1,):
                raise FileFormatError(f"expected 1 fill value, got {fills.shape}")
            fill = fills[0]
        index_dtype = index_dtype_for((*shape, len(values)))
        for buffers in stored:
            for role, buffer in buffers.items():
                buffers[role] = _narrowed(buffer, index_dtype)
        format = format_of(levels, order)
        array = from_buffers(format, shape, stored, values, fill)
        return _with_structure(array, header.get("structure"))
    except FileFormatError:
        raise
    except SparrayError as error:
        raise FileFormatError(f"expected the arrays of a format ({error})") from error


def describe_binsparse(descriptor: Any, kind: str) -> Description:
    """Return what a descriptor says.

    Raises
    ------
    FileFormatError
        If it is none.
    """
    try:
        header = _namespace(descriptor)
        shape = as_shape(header["shape"])
        levels, order = read_format(header, len(shape))
        format = format_of(levels, order)
    except FileFormatError:
        raise
    except SparrayError as error:
        raise FileFormatError(f"expected a descriptor ({error})") from error
    return Description(
        kind=kind,
        shape=shape,
        n_entries=header["number_of_stored_values"],
        format=format_text(format),
        dtype=str(header["data_types"].get("values")),
        details={"structure": str(header.get("structure", "general"))},
    )


def _namespace(descriptor: Any) -> dict[str, Any]:
    """Return the descriptor itself, with its keys of the right type."""
    if isinstance(descriptor, dict) and isinstance(descriptor.get("binsparse"), dict):
        descriptor = descriptor["binsparse"]
    types: dict[str, type] = {"version": str, "shape": list, "data_types": dict}
    types["number_of_stored_values"] = int
    for key, type_ in types.items():
        value = descriptor.get(key) if isinstance(descriptor, dict) else None
        if type(value) is not type_:
            raise FileFormatError(
                f"expected a descriptor with {key!r}, a {type_.__name__}, got "
                f"{value!r:.60}"
            )
    header: dict[str, Any] = dict(descriptor)
    major = header["version"].partition(".")[0]
    if major not in ("0", "1"):
        raise FileFormatError(f"expected version 0 or 1, got {header['version']!r:.40}")
    return header


def _read_levels(
    levels: tuple[FileLevel, ...], types: dict[str, Any], read: Read, base: int
) -> list[dict[str, npt.NDArray[Any]]]:
    """Read pointers and indices, from 0, in the roles that sparray has for them."""
    stored: list[dict[str, npt.NDArray[Any]]] = []
    for level in levels:
        depth = len(stored)
        if not level.is_sparse:
            stored += [{} for _ in range(level.rank)]
            continue
        for number in range(depth, depth + level.rank):
            crd = _decode(f"indices_{number}", types, read)
            buffers = {"crd": crd - base if base else crd}
            if number == depth and depth > 0:
                pos = _decode(f"pointers_to_{number}", types, read)
                buffers["pos"] = pos - base if base else pos
            elif number == depth:
                buffers["pos"] = np.array([0, len(crd)])
            stored.append(buffers)
    return stored


def _count(
    stored: list[dict[str, npt.NDArray[Any]]],
    levels: tuple[FileLevel, ...],
    shape: tuple[int, ...],
    order: tuple[int, ...],
) -> int:
    """Return how many values there have to be."""
    count = 1
    depth = 0
    for level in levels:
        if level.is_sparse:
            count = len(stored[depth]["crd"])
        else:
            for number in range(depth, depth + level.rank):
                count *= shape[order[number]]
        depth += level.rank
    return count


def _read_values(
    header: dict[str, Any], types: dict[str, Any], read: Read, count: int
) -> npt.NDArray[Any]:
    """Read as many values as the levels have positions."""
    if header["number_of_stored_values"] != count:
        raise FileFormatError(
            f"expected number_of_stored_values {count}, which the levels have, got "
            f"{header['number_of_stored_values']}"
        )
    is_dense = not any(name.startswith("indices") for name in types)
    if is_dense and str(types.get("values")).startswith("iso["):
        # No array vouches for so many: a header alone must not allocate.
        raise FileFormatError("expected an array for each value of a dense format")
    return _decode("values", types, read, count)


def _decode(
    name: str, types: dict[str, Any], read: Read, count: int | None = None
) -> npt.NDArray[Any]:
    """Read an array and make of it what its data type says."""
    words: list[str] = []
    word = types.get(name)
    while isinstance(word, str) and (match := _WRAPPED.fullmatch(word)):
        words.append(match[1])
        word = match[2]
    dtype = _TYPES.get(word) if isinstance(word, str) else None
    if dtype is None or len(words) != len(set(words)):
        raise FileFormatError(
            f"expected a data type of Binsparse for {name!r}, got "
            f"{types.get(name)!r:.40}"
        )
    array = read(name)
    if array.ndim != 1 or array.dtype != dtype:
        raise FileFormatError(
            f"expected 1 dimension of {dtype} in array {name!r}, got {array.shape} of "
            f"{array.dtype}"
        )
    if "complex" in words:
        if dtype.kind != "f" or len(array) % 2:
            raise FileFormatError(
                f"expected pairs of floats in array {name!r}, got {len(array)} {dtype}"
            )
        array = array.view(f"c{2 * dtype.itemsize}")
    if word == "bint8":
        array = array != 0
    if "iso" in words:
        if len(array) != 1 or count is None:
            raise FileFormatError(
                f"expected 1 element in array {name!r}, got {len(array)}"
            )
        array = np.full(count, array[0])
    return array


def _encode(buffer: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    """Return a data type of Binsparse and the array to store."""
    if buffer.dtype.kind == "c":
        word, pairs = _encode(buffer.view(f"f{buffer.dtype.itemsize // 2}"))
        return f"complex[{word}]", pairs
    if buffer.dtype.kind == "b":
        return "bint8", buffer.view(np.uint8)
    if buffer.dtype.name not in _TYPES:
        raise DTypeError(
            f"Binsparse: expected one of {', '.join(_TYPES)}, got {buffer.dtype} "
            "(astype changes it)"
        )
    return buffer.dtype.name, buffer


def _narrowed(buffer: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return indices in the width that kernels take, none of them changed."""
    if buffer.dtype.kind not in "iu":
        raise FileFormatError(f"expected indices that are integers, got {buffer.dtype}")
    limits = np.iinfo(dtype)
    if len(buffer) and not limits.min <= int(buffer.min()) <= int(buffer.max()) <= (
        limits.max
    ):
        raise FileFormatError(
            f"expected indices up to {limits.max}, got {buffer.min()} to {buffer.max()}"
        )
    return buffer.astype(dtype, copy=False)


def _with_structure(array: SparseArray, structure: Any) -> SparseArray:
    """Add the triangle that is not stored."""
    if structure in (None, "general"):
        return array
    symmetry, _, triangle = str(structure).rpartition("_")
    if symmetry not in _STRUCTURES or triangle not in ("lower", "upper"):
        raise FileFormatError(
            f"expected a structure of Binsparse, got {structure!r:.40}"
        )
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.fill_value != 0:
        raise FileFormatError(
            f"expected a square matrix with fill value 0 that is {structure}, got "
            f"shape {array.shape}"
        )
    (rows, columns), values = array.to_coords()
    if triangle == "upper":
        inside = rows <= columns
    else:
        inside = rows >= columns
    if not inside.all():
        raise FileFormatError(f"expected the {triangle} triangle alone, got the other")
    entries = mirror(Entries([rows, columns], values), symmetry.replace("_", "-"))
    return convert_format(array_of_entries(entries, array.shape), array.format)
