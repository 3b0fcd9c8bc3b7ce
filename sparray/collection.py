"""The garbage collector pauses while much is made that stays."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collection_paused"]


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the garbage collector of Python, unless it is off.

    Importing modules and planning make many objects that live on. The collector starts
    again and again meanwhile and goes through all that the process has: a quarter of
    the time of a first call.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
