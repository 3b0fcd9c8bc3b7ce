"""Checks of raw index buffers that level types share."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import InvalidBufferError
from sparray.formats.level import IntArray, Level

__all__ = [
    "INDEX_DTYPES",
    "check_apart",
    "check_coordinates",
    "check_flat",
    "check_index_buffer",
    "check_pos",
    "plain",
    "take_buffers",
]

INDEX_DTYPES = (np.dtype(np.int32), np.dtype(np.int64))
"""What ``pos`` and ``crd`` may be; a level may give others to buffers of its own."""


def plain(name: str, buffer: Any) -> Any:
    """Return the array whose elements a kernel will read; no other object changes.

    What a subclass of NumPy's array compares as may be something else. Memory of any
    other library's that speaks DLPack is shared.

    Raises
    ------
    InvalidBufferError
        If some of its elements are masked: there is no place for the mask. If NumPy
        cannot share the memory: it is on another device, or of a dtype without a name.
    """
    if type(buffer) is np.ndarray:
        return buffer
    if not isinstance(buffer, np.ndarray):
        return _shared(name, buffer) if hasattr(buffer, "__dlpack__") else buffer
    if np.ma.is_masked(buffer):
        raise InvalidBufferError(f"{name}: expected no masked elements, got some")
    return buffer.view(np.ndarray)


def _shared(name: str, buffer: Any) -> Any:
    try:
        return np.from_dlpack(buffer)
    # Each library raises its own: BufferError, RuntimeError, TypeError, ...
    except Exception as error:
        raise InvalidBufferError(
            f"{name}: expected memory that NumPy can share, got {type(buffer).__name__}"
            f" ({error})"
        ) from error


def check_apart(
    levels: Iterable[Mapping[str, IntArray]], values: npt.NDArray[Any]
) -> None:
    """Check that no two flat buffers share memory: values may be written to.

    Raises
    ------
    InvalidBufferError
        If two do; the message names them.
    """
    named = [
        (f"levels[{number}][{role!r}]", buffer)
        for number, buffers in enumerate(levels)
        for role, buffer in buffers.items()
    ]
    places = sorted(
        (buffer.__array_interface__["data"][0], buffer.nbytes, name)
        for name, buffer in [*named, ("values", values)]
        if buffer.nbytes
    )
    for (begin, n_bytes, name), (following, _, other) in pairwise(places):
        if following < begin + n_bytes:
            raise InvalidBufferError(
                "expected buffers that share no memory, got "
                f"{name} and {other} that overlap (copy one of them)"
            )


def take_buffers(level: Level, buffers: Mapping[str, IntArray]) -> tuple[IntArray, ...]:
    """Return the level's buffers in the order of its roles.

    Raises
    ------
    InvalidBufferError
        If one is missing or there is one that the level does not have.
    """
    if set(buffers) != set(level.roles):
        raise InvalidBufferError(
            f"buffers of a {level.name} level: expected {sorted(level.roles)}, "
            f"got {sorted(map(str, buffers))}"
        )
    return tuple(buffers[role] for role in level.roles)


def check_flat(name: str, buffer: Any, length: int | None = None) -> None:
    """Check that a buffer is what a kernel can be given the address of.

    Raises
    ------
    InvalidBufferError
        If it is not an aligned, contiguous, native 1-D array of that length.
    """
    if not isinstance(buffer, np.ndarray):
        raise InvalidBufferError(
            f"{name}: expected a NumPy array, got {type(buffer).__name__}"
        )
    if buffer.ndim != 1:
        raise InvalidBufferError(
            f"{name}: expected 1 dimension, got shape {buffer.shape}"
        )
    if not (buffer.flags.c_contiguous and buffer.flags.aligned):
        raise InvalidBufferError(
            f"{name}: expected contiguous, aligned memory, got strides "
            f"{buffer.strides} of {buffer.dtype} (np.ascontiguousarray copies)"
        )
    if not buffer.dtype.isnative:
        raise InvalidBufferError(
            f"{name}: expected native byte order, got dtype {buffer.dtype.str}"
        )
    if length is not None and len(buffer) != length:
        raise InvalidBufferError(
            f"{name}: expected {length} elements, got {len(buffer)}"
        )


def check_index_buffer(name: str, buffer: Any, length: int | None = None) -> None:
    """Check the kind, the dtype and the length of a ``pos`` or ``crd`` buffer.

    Raises
    ------
    InvalidBufferError
        If it is not a flat int32 or int64 array of that length.
    """
    check_flat(name, buffer, length)
    if buffer.dtype not in INDEX_DTYPES:
        raise InvalidBufferError(
            f"{name}: expected dtype int32 or int64, got {buffer.dtype}"
        )


def check_coordinates(
    level: Level, crd: IntArray, fibres: npt.NDArray[np.int64], extent: int
) -> None:
    """Check coordinates against their extent and against the level's properties.

    Parameters
    ----------
    level : Level
        Claims `ordered` and `unique`, or not.
    crd : int32[n] or int64[n]
        The coordinate of each position.
    fibres : int64[n]
        The fibre of each position; equal numbers are one fibre.
    extent : int
        Coordinates are in ``[0, extent)``.

    Raises
    ------
    InvalidBufferError
        If a coordinate is outside, descends, or occurs twice against a claim.

    Notes
    -----
    O(n) where the level is ordered and fibres ascend, else O(n log n).
    """
    outside = np.flatnonzero((crd < 0) | (crd >= extent))
    if len(outside):
        at = int(outside[0])
        raise InvalidBufferError(
            f"crd: expected coordinates in [0, {extent}), got crd[{at}] = {crd[at]}"
        )
    same_fibre = fibres[1:] == fibres[:-1]
    if level.ordered:
        _refuse(
            same_fibre & (crd[1:] < crd[:-1]),
            crd,
            "coordinates that ascend in each fibre (or a level that is unordered)",
        )
    if level.unique:
        if not level.ordered or np.any(fibres[1:] < fibres[:-1]):
            by_fibre = np.lexsort((crd, fibres))
            crd, fibres = crd[by_fibre], fibres[by_fibre]
            same_fibre = fibres[1:] == fibres[:-1]
        _refuse(
            same_fibre & (crd[1:] == crd[:-1]),
            crd,
            "no coordinate twice in a fibre (or a level that is nonunique)",
        )


def check_pos(pos: IntArray, n_positions: int) -> None:
    """Check that ``pos`` cuts ``n_positions`` positions into fibres.

    Raises
    ------
    InvalidBufferError
        If it does not start at 0, decreases, or ends elsewhere.
    """
    if pos[0] != 0:
        raise InvalidBufferError(f"pos[0]: expected 0, got {pos[0]}")
    descents = np.flatnonzero(pos[1:] < pos[:-1])
    if len(descents):
        at = int(descents[0])
        raise InvalidBufferError(
            "pos: expected values that do not decrease, "
            f"got pos[{at}] = {pos[at]} and pos[{at + 1}] = {pos[at + 1]}"
        )
    if pos[-1] != n_positions:
        raise InvalidBufferError(
            f"pos[-1]: expected {n_positions}, the length of crd, got {pos[-1]}"
        )


def _refuse(bad: npt.NDArray[np.bool_], crd: IntArray, expected: str) -> None:
    """Raise for the first pair of neighbours that is marked as bad."""
    where = np.flatnonzero(bad)
    if len(where):
        at = int(where[0])
        raise InvalidBufferError(
            f"crd: expected {expected}, got {crd[at]} followed by {crd[at + 1]} "
            "in one fibre"
        )
