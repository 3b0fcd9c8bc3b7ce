"""The instruction sets that kernels are compiled for, and which one this CPU has.

Source: the feature lists of the x86-64 levels are those of the System V ABI's
"x86-64 psABI" supplement, in the spelling of Linux's ``/proc/cpuinfo``.
"""

import os
import platform
from functools import cache

from sparray.errors import SettingError
from sparray.records import dataclass

__all__ = [
    "TARGETS",
    "Target",
    "build_targets",
    "cpu_features",
    "host_target",
    "march_flags",
    "target_named",
]


@dataclass(frozen=True, slots=True)
class Target:
    """An instruction set that a kernel is compiled for.

    Attributes
    ----------
    name : str
        The name that ``SPARRAY_ISA`` takes.
    vector_bytes : int
        Width of a vector register.
    registers : int
        Number of vector registers.
    march : str
        The C compiler's ``-march``; empty for its default.
    """

    name: str
    vector_bytes: int
    registers: int
    march: str


_V2 = frozenset("cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3".split())
_V3 = _V2 | frozenset("abm avx avx2 bmi1 bmi2 f16c fma movbe xsave".split())
_V4 = _V3 | frozenset("avx512f avx512bw avx512cd avx512dq avx512vl".split())

# From the least to the most demanding: the last one that fits is the host's.
_REQUIRED: tuple[tuple[Target, frozenset[str]], ...] = (
    (Target("baseline", 16, 16, ""), frozenset()),
    (Target("x86-64-v2", 16, 16, "x86-64-v2"), _V2),
    (Target("x86-64-v3", 32, 16, "x86-64-v3"), _V3),
    (Target("x86-64-v4", 64, 32, "x86-64-v4"), _V4),
)

TARGETS: dict[str, Target] = {target.name: target for target, _ in _REQUIRED}


def build_targets() -> tuple[Target, ...]:
    """Return the targets that the package's own kernels are compiled for.

    Returns
    -------
    tuple of Target
        The three x86-64 levels, or only the baseline on another machine.
    """
    if _is_x86():
        return tuple(t for t in TARGETS.values() if t.march)
    return (TARGETS["baseline"],)


def target_named(name: str) -> Target:
    """Return a target by its name.

    Parameters
    ----------
    name : str
        A key of `TARGETS`.

    Returns
    -------
    Target
        The row of that name.

    Raises
    ------
    SettingError
        If there is no such target.
    """
    if name not in TARGETS:
        known = ", ".join(TARGETS)
        raise SettingError(f"SPARRAY_ISA: expected one of {known}, got {name!r}")
    return TARGETS[name]


def host_target() -> Target:
    """Return the target that kernels of this process are made for.

    Returns
    -------
    Target
        What ``SPARRAY_ISA`` names, else the best that the CPU has.

    Raises
    ------
    SettingError
        If ``SPARRAY_ISA`` is unknown or needs features that the CPU lacks.
    """
    return _chosen_target(os.environ.get("SPARRAY_ISA", ""))


def march_flags() -> tuple[str, ...]:
    """Return the C compiler's flags that choose the instruction set of a JIT kernel.

    Returns
    -------
    tuple of str
        ``-march`` of ``SPARRAY_ISA``; else of the machine itself, except where
        its features are unknown: a cached kernel could then reach another CPU.
    """
    if os.environ.get("SPARRAY_ISA", ""):
        march = host_target().march
        return (f"-march={march}",) if march else ()
    return ("-march=native",) if cpu_features() else ()


@cache
def cpu_features() -> frozenset[str]:
    """Return the CPU's features as Linux names them; empty where unknown.

    Returns
    -------
    frozenset of str
        The flags of the first processor in ``/proc/cpuinfo``.
    """
    try:
        # Only the first processor's part is read: the kernel makes this file as
        # it is read, and on a machine of hundreds of CPUs all of it takes long.
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() in ("flags", "Features"):
                    return frozenset(value.split())
    except OSError:
        pass
    return frozenset()


@cache
def _chosen_target(setting: str) -> Target:
    if not setting:
        return _best_target()
    target = target_named(setting)
    missing = dict(_REQUIRED)[target] - cpu_features()
    if missing:
        raise SettingError(
            f"SPARRAY_ISA: expected an instruction set that this CPU has, got "
            f"{setting!r}, which needs {', '.join(sorted(missing))}; the best "
            f"here is {_best_target().name!r}"
        )
    return target


def _best_target() -> Target:
    if not _is_x86():
        return TARGETS["baseline"]
    features = cpu_features()
    return [target for target, needed in _REQUIRED if needed <= features][-1]


def _is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")
