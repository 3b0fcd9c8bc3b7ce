"""Axes that functions are given, checked."""

import operator
from typing import Any

from sparray.errors import ShapeError

__all__ = ["checked_axes", "checked_axis", "only_axis"]


def checked_axis(
    axis: Any, shape: tuple[int, ...], name: str = "axis", *, more: int = 0
) -> int:
    """Return an axis that counts from the front.

    Parameters
    ----------
    axis : int
        A negative one counts from the end.
    shape : tuple of int
        Whose axis it is.
    name : str
        The argument, for messages.
    more : int
        Axes that the result has beside those of the shape.

    Raises
    ------
    ShapeError
        If it is no integer, or there is no such axis.
    """
    ndim = len(shape) + more
    try:
        place = operator.index(axis)
    except TypeError:
        raise ShapeError(f"{name}: expected an integer, got {axis!r}") from None
    if not -ndim <= place < ndim:
        wanted = f"from {-ndim} to {ndim - 1}" if ndim else "of which there are none"
        raise ShapeError(
            f"{name}: expected an axis of shape {shape}, {wanted}, got {place}"
        )
    return place % ndim


def checked_axes(
    axes: Any, shape: tuple[int, ...], name: str = "axis", *, more: int = 0
) -> tuple[int, ...]:
    """Return an axis or a tuple of them as a tuple, each of them once.

    Raises
    ------
    ShapeError
        If there is no such axis, or one is given twice.
    """
    given = axes if isinstance(axes, tuple) else (axes,)
    if not all(hasattr(axis, "__index__") for axis in given):
        raise ShapeError(
            f"{name}: expected an integer or a tuple of them, got {axes!r}"
        )
    found = tuple(checked_axis(axis, shape, name, more=more) for axis in given)
    if len(set(found)) != len(found):
        raise ShapeError(f"{name}: expected each axis once, got {axes}")
    return found


def only_axis(axis: Any, shape: tuple[int, ...]) -> int:
    """Return an axis that counts from the front; the one there is for None.

    Raises
    ------
    ShapeError
        If it is None and there are several, it is no integer, or there is no such axis.
    """
    if axis is None:
        if len(shape) != 1:
            raise ShapeError(
                f"axis: expected an axis of shape {shape}, got None, which is for "
                "one dimension"
            )
        axis = 0
    return checked_axis(axis, shape)
