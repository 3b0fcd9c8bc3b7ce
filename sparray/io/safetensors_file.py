"""Arrays in safetensors files, by the package of that name."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import is_half
from sparray.errors import FileFormatError, MissingExtraError
from sparray.formats.format import Format
from sparray.io.archive import refusing
from sparray.io.atomic import atomic_path
from sparray.io.description import Description
from sparray.io.entries import as_asked
from sparray.io.parts import array_of_parts, describe_parts, parts_of_array
from sparray.sparse_array import SparseArray

__all__ = ["describe_safetensors", "read_safetensors", "write_safetensors"]

_HEADER = "sparray"


def read_safetensors(
    path: str | os.PathLike[str],
    format: str | Format | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
) -> SparseArray:
    """Read an array that `write_safetensors` wrote.

    Parameters
    ----------
    path : path
        With sparray's header in its metadata.
    format : str or Format, optional
        By default that of the file.
    dtype : dtype, optional
        By default that of the file.

    Raises
    ------
    FileFormatError
        If the file is damaged, or was written by something else.
    MissingExtraError
        If safetensors is not installed.
    """
    path = Path(path)
    text, read = _opened(path)
    made = array_of_parts(path, text, read)
    return as_asked(made, format, dtype)


def write_safetensors(path: str | os.PathLike[str], array: SparseArray) -> None:
    """Write an array of any format: its buffers are tensors, its header metadata.

    Parameters
    ----------
    path : path
        Replaced once everything is written.
    array : SparseArray
        Any format, dtype and fill value. Complex values are pairs of floats; bfloat16
        is the file's own BF16.

    Raises
    ------
    MissingExtraError
        If safetensors is not installed.
    """
    package = _package()
    header, buffers = parts_of_array(array)
    tensors = {
        name: np.ascontiguousarray(_as_tensor(name, buffer, array.dtype))
        for name, buffer in buffers.items()
    }
    with atomic_path(path) as temporary:
        package.numpy.save_file(tensors, str(temporary), metadata={_HEADER: header})


def describe_safetensors(path: str | os.PathLike[str]) -> Description:
    """Return what the metadata of a safetensors file says."""
    path = Path(path)
    return describe_parts(path, _opened(path)[0], "safetensors")


def _as_tensor(
    name: str, buffer: npt.NDArray[Any], dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    """Return a buffer in a dtype that the file has."""
    if buffer.dtype.kind == "c":
        return buffer.view(f"f{buffer.dtype.itemsize // 2}")
    if name in ("values", "fill_value") and is_half(dtype):
        return buffer.view(dtype)
    return buffer


def _package() -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ImportError:
        raise MissingExtraError(
            "safetensors files: expected safetensors, got an ImportError "
            "(pip install 'sparray-levels[io]')"
        ) from None
    return safetensors


def _opened(path: Path) -> tuple[str, Callable[[str], npt.NDArray[Any]]]:
    """Return the header, and a function that reads a buffer by its name."""
    package = _package()
    path.stat()  # what is not there is the system's error, not a damaged file

    def read(name: str) -> npt.NDArray[Any]:
        with refusing(path, f"a tensor {name!r}"):
            try:
                with package.safe_open(str(path), framework="np") as file:
                    return np.asarray(file.get_tensor(name))
            except package.SafetensorError as error:
                raise ValueError(error) from None

    with refusing(path, "a safetensors file"):
        try:
            with package.safe_open(str(path), framework="np") as file:
                metadata = file.metadata() or {}
        except package.SafetensorError as error:
            raise ValueError(error) from None
    if _HEADER not in metadata:
        raise FileFormatError(
            f"{path}: expected metadata {_HEADER!r}, got "
            f"{', '.join(metadata)[:60] or 'none'}"
        )
    return metadata[_HEADER], read
