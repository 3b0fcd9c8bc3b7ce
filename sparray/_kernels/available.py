"""How much memory there is: what results and workspaces are compared with."""

import os
from pathlib import Path

from sparray._kernels.sizes import size_setting

__all__ = ["available_bytes", "workspace_bytes"]

_UNLIMITED = 2**63 - 1
_MEMINFO = Path("/proc/meminfo")
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)
"""Of a container: what it may take, and what it takes, in either version of cgroups."""


def available_bytes() -> int:
    """Return how much memory an array may take now.

    Returns
    -------
    int
        ``SPARRAY_MEMORY_SIZE`` if it is set. Else what the system says that is free or
        can be freed, swap space included, within the limit of a container; 2**63 - 1
        where it does not say.

    Raises
    ------
    SettingError
        If ``SPARRAY_MEMORY_SIZE`` is not a size.
    """
    setting = size_setting("SPARRAY_MEMORY_SIZE", -1)
    if setting >= 0:
        return setting
    known = _meminfo()
    free = known.get("MemAvailable", _UNLIMITED) + known.get("SwapFree", 0)
    for limit, usage in _LIMITS:
        allowed, used = _number(limit), _number(usage)
        if allowed is not None and used is not None:
            free = min(free, max(0, allowed - used))
    return free


def workspace_bytes(n_threads: int) -> int:
    """Return how much memory workspaces of one thread may take, for a scheduler.

    It depends on what the machine has, not on what is free just now, so that the same
    expression gets the same kernel.
    """
    setting = size_setting("SPARRAY_MEMORY_SIZE", -1)
    total = setting if setting >= 0 else _meminfo().get("MemTotal", _UNLIMITED)
    return total // (2 * max(1, n_threads))


def _meminfo() -> dict[str, int]:
    """Return what the system counts, in bytes; nothing where it has no such file."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return _counted_pages()
    known = {}
    for line in lines:
        name, _, rest = line.partition(":")
        number, _, unit = rest.strip().partition(" ")
        if number.isdigit():
            known[name] = int(number) * (1024 if unit == "kB" else 1)
    return known


def _counted_pages() -> dict[str, int]:
    try:
        size = os.sysconf("SC_PAGE_SIZE")
        return {"MemTotal": size * os.sysconf("SC_PHYS_PAGES")}
    except (AttributeError, OSError, ValueError):
        return {}


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdigit() else None
