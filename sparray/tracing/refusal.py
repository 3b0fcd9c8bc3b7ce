"""Errors of traced code: which operation, and where the user wrote it."""

import sys
from types import FrameType

from sparray.errors import TraceError

__all__ = ["refusal"]

_OWN = ("sparray.", "numpy.", "torch.", "functools.")


def refusal(
    operation: str, why: str, kind: type[TraceError] = TraceError
) -> TraceError:
    """Return the error for an operation that cannot be traced.

    Parameters
    ----------
    operation : str
        As users write it.
    why : str
        What was expected instead.
    kind : type
        Of the error.
    """
    return kind(f"{operation}{_place()}: {why}")


def _place() -> str:
    """Return the line of code that is outside of the libraries."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not f"{module}.".startswith(_OWN):
            code = frame.f_code
            return f" in {code.co_name} ({code.co_filename}, line {frame.f_lineno})"
        frame = frame.f_back
    return ""
