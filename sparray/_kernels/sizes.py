"""Settings that are a number of bytes."""

import os
import re

from sparray.errors import SettingError

__all__ = ["size_setting"]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE | re.ASCII)


def size_setting(name: str, default: int) -> int:
    """Return a size from the environment.

    Parameters
    ----------
    name : str
        An environment variable: a number of bytes, or one with a unit (``512M``).
    default : int
        Where it is not set.

    Raises
    ------
    SettingError
        If it is not a size.
    """
    setting = os.environ.get(name, "")
    if not setting:
        return default
    match = _SIZE.fullmatch(setting.strip())
    if match is None:
        raise SettingError(
            f"{name}: expected a number of bytes, or one with a unit such as 512M or "
            f"2G, got {setting!r}"
        )
    return int(match[1]) * _UNITS[match[2].upper()]
