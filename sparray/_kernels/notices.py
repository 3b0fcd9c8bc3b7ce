"""Warnings that a process gives once: work goes on, in a lesser way."""

import warnings

from sparray.errors import SparrayWarning

__all__ = ["warn_once"]

_given: dict[str, object] = {}


def warn_once(topic: str, message: str) -> None:
    """Warn, unless this process has already warned about the topic.

    Parameters
    ----------
    topic : str
        What the warning is about.
    message : str
        What happened and what sparray does instead.
    """
    # One dict operation is atomic: no lock, which a fork could leave held.
    this = object()
    if _given.setdefault(topic, this) is not this:
        return
    warnings.warn(message, SparrayWarning, stacklevel=2)
