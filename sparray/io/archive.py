"""NumPy's ``.npz`` archives, read without pickle and with every size checked first."""

import contextlib
import errno
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from sparray._kernels.progress import Progress
from sparray.errors import FileFormatError, KernelMemoryError

__all__ = ["Archive", "check_expansion", "refusing", "write_archive"]

_FREE_BYTES = 2**28
_PLAUSIBLE_EXPANSION = 200
_MOST_TEXT_BYTES = 2**22
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1

# What the standard library and NumPy raise for a file that is not what it should be.
_DAMAGE = (
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextlib.contextmanager
def refusing(path: Path, what: str) -> Iterator[None]:
    """Turn what a library raises for a damaged file into an error of sparray."""
    try:
        yield
    except FileFormatError:
        raise
    except MemoryError:
        raise KernelMemoryError(
            f"{path}: expected {what} that fits in memory, got a larger one"
        ) from None
    except (*_DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise  # the system's, but for a seek to where no file reaches
        raise FileFormatError(
            f"{path}: expected {what}, got a file that is damaged or another one "
            f"({type(error).__name__}: {error})"
        ) from None


def check_expansion(path: Path, n_bytes: int, file_bytes: int) -> None:
    """Refuse a file that would become much more in memory than arrays do.

    Raises
    ------
    FileFormatError
        If it is more than 256 MiB and more than 200 times the file.
    """
    most = max(_FREE_BYTES, _PLAUSIBLE_EXPANSION * file_bytes)
    if n_bytes > most:
        raise FileFormatError(
            f"{path}: expected arrays of at most {most} bytes in a file of "
            f"{file_bytes} bytes, got {n_bytes}"
        )


class Archive:
    """An ``.npz`` file whose members are read one by one.

    Parameters
    ----------
    path : path
        Zip archive of ``.npy`` files, stored or deflated.

    Raises
    ------
    FileFormatError
        If it is none, or says of its members what cannot be.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.file_bytes = self.path.stat().st_size
        with refusing(self.path, "a zip archive of arrays"):
            self._zip = zipfile.ZipFile(self.path)
        try:
            self._members = self._checked_members()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._zip.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arrays."""
        return tuple(self._members)

    def header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return shape and dtype of an array without reading it.

        Raises
        ------
        FileFormatError
            If there is no such array, or its size is not what its header says.
        """
        info = self._member(name)
        with refusing(self.path, f"array {name!r}"), self._zip.open(info) as file:
            shape, dtype, header_bytes = _read_header(file)
        if dtype.hasobject:
            raise FileFormatError(
                f"{self.path}: expected numbers in array {name!r}, got Python objects"
            )
        n_bytes = math.prod(shape) * dtype.itemsize
        if header_bytes + n_bytes != info.file_size:
            raise FileFormatError(
                f"{self.path}: expected {n_bytes} bytes in array {name!r} of shape "
                f"{shape} and dtype {dtype}, got {info.file_size - header_bytes}"
            )
        return shape, dtype

    def read(self, name: str) -> npt.NDArray[Any]:
        """Read an array of numbers.

        Raises
        ------
        FileFormatError
            As `header` does, or if its data are damaged.
        """
        _, dtype = self.header(name)
        if dtype.kind not in "biufc":
            raise FileFormatError(
                f"{self.path}: expected numbers in array {name!r}, got dtype {dtype}"
            )
        array = self._read(name)
        return array.astype(dtype.newbyteorder("="), copy=False)

    def read_text(self, name: str) -> str:
        """Read a text, stored as an array with one string or as bytes."""
        shape, dtype = self.header(name)
        n_bytes = math.prod(shape) * dtype.itemsize
        is_text = dtype.kind in "SU" and math.prod(shape) == 1
        is_bytes = dtype == np.uint8 and len(shape) == 1
        if n_bytes > _MOST_TEXT_BYTES or not (is_text or is_bytes):
            raise FileFormatError(
                f"{self.path}: expected a text in array {name!r}, got shape {shape} "
                f"of {dtype}"
            )
        array = self._read(name)
        with refusing(self.path, f"a text in array {name!r}"):
            if dtype.kind == "U":
                # NumPy makes strings of whatever bits there are.
                code = "utf-32-le" if array.dtype.str[0] == "<" else "utf-32-be"
                return array.tobytes().decode(code).rstrip("\0")
            return (array.tobytes() if is_bytes else bytes(array.item())).decode()

    def _read(self, name: str) -> npt.NDArray[Any]:
        info = self._member(name)
        with (
            refusing(self.path, f"array {name!r}"),
            self._zip.open(info) as file,
            Progress(info.file_size, f"reading {name}") as progress,
        ):
            # The whole member is read, so its checksum is compared.
            array: npt.NDArray[Any] = np.lib.format.read_array(
                _Counted(file, progress),
                allow_pickle=False,
            )
        return array

    def _member(self, name: str) -> zipfile.ZipInfo:
        info = self._members.get(name)
        if info is None:
            listed = ", ".join(self.names[:20]) or "none"
            raise FileFormatError(
                f"{self.path}: expected an array {name!r}, got {listed}"
            )
        return info

    def _checked_members(self) -> dict[str, zipfile.ZipInfo]:
        """Return the arrays by name, once their sizes are known to be plausible."""
        infos = self._zip.infolist()
        names = {info.filename.removesuffix(".npy"): info for info in infos}
        if len(names) != len(infos):
            raise FileFormatError(f"{self.path}: expected each name once, got two")
        for name, info in names.items():
            if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
                raise FileFormatError(
                    f"{self.path}: expected members that are stored or deflated, got "
                    f"{name!r} with method {info.compress_type}"
                )
        # Members that overlap would be one bomb read many times.
        compressed = sum(info.compress_size for info in infos)
        if compressed > self.file_bytes:
            raise FileFormatError(
                f"{self.path}: expected members of at most {self.file_bytes} bytes "
                f"together, got {compressed}"
            )
        n_bytes = sum(info.file_size for info in infos)
        check_expansion(self.path, n_bytes, self.file_bytes)
        return names


class _Counted:
    """A file that tells a progress bar how much was read."""

    def __init__(self, file: IO[bytes], progress: Progress) -> None:
        self._file = file
        self._progress = progress
        self._count = 0

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self._count += len(block)
        self._progress.update(self._count)
        return block


def write_archive(
    file: BinaryIO, arrays: Mapping[str, npt.NDArray[Any]], compressed: bool = False
) -> None:
    """Write arrays to an ``.npz`` file, one after the other."""
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    total = sum(array.nbytes for array in arrays.values())
    done = 0
    with (
        zipfile.ZipFile(file, "w", method) as archive,
        Progress(total, "writing arrays") as progress,
    ):
        for name, array in arrays.items():
            # A fixed time: the same arrays make the same file.
            info = zipfile.ZipInfo(f"{name}.npy")
            info.compress_type = method
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
            done += array.nbytes
            progress.update(done)


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return shape, dtype and size of the header of a ``.npy`` file."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"version {version} of the .npy format")
    return tuple(map(int, shape)), dtype, file.tell()
