"""Consent to dense arrays that other libraries make of sparse ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sparray.errors import SettingError

__all__ = ["allow_dense", "allowed_bytes"]

# None where nobody has agreed: each thread, and each task, starts so.
_allowed: ContextVar[float | None] = ContextVar("allowed", default=None)


@contextmanager
def allow_dense(max_bytes: float = 2**20) -> Iterator[None]:
    """Let other libraries make dense arrays of sparse ones, inside a ``with`` block.

    Outside of it `numpy.asarray` of a sparse array raises. Some functions call it on
    whatever they get: those of `numpy.testing`, or of libraries that draw.

    Parameters
    ----------
    max_bytes : float
        The largest dense array that is made; ``math.inf`` for any.

    Raises
    ------
    SettingError
        If it is no number of bytes.

    Examples
    --------
    >>> import numpy as np
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]])
    >>> with sp.allow_dense():
    ...     np.testing.assert_array_equal(A, [[0, 2], [3, 0]])
    """
    if not isinstance(max_bytes, int | float) or not max_bytes >= 0:
        raise SettingError(f"max_bytes: expected a number of bytes, got {max_bytes!r}")
    token = _allowed.set(max_bytes)
    try:
        yield
    finally:
        _allowed.reset(token)


def allowed_bytes() -> float | None:
    """Return the largest dense array that may be made; None if none may."""
    return _allowed.get()
