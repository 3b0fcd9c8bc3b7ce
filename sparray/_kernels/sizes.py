"""Numbers of bytes: settings, and what messages say of them."""

import os
import re

from sparray.errors import SettingError

__all__ = ["byte_text", "size_setting"]

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


def byte_text(n_bytes: int) -> str:
    """Return a number of bytes with three or four digits.

    Examples
    --------
    >>> byte_text(52), byte_text(1_234_567), byte_text(5 * 10**9)
    ('52 B', '1.23 MB', '5 GB')
    """
    if n_bytes < 10_000:
        return f"{n_bytes} B"
    size, unit = n_bytes / 1000, "kB"
    for larger in ("MB", "GB", "TB", "PB", "EB"):
        # What would be rounded to 1000 is one of the next unit.
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    return f"{size:.3g} {unit}"
