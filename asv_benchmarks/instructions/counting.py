"""Count the instructions of kernels by valgrind's tool callgrind."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sparray._kernels.jit import MODULE_NAME, find_toolchain

__all__ = ["compiler", "count", "tool"]

ROOT = Path(__file__).resolve().parents[2]
TARGET = "x86-64-v3"

# What Cython calls the entry points of the kernels that were compiled when they were
# needed, and of those that were compiled with the package.
_ENTRIES = (
    f"pyx_pw_{len(MODULE_NAME)}{MODULE_NAME}_*",
    "pyx_pw_7sparray_8_kernels_5built_*",
)
_TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)


def compiler() -> str:
    """Return what makes the kernels, as counts depend on it."""
    command = [*find_toolchain().command, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.partition("\n")[0]


def tool() -> str | None:
    """Return valgrind's version; None where it is not installed."""
    try:
        done = subprocess.run(["valgrind", "--version"], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() or None


def count(names: Iterable[str] = ()) -> dict[str, int]:
    """Return the instructions of each problem, those of its kernels alone.

    Parameters
    ----------
    names : iterable of str
        Of `PROBLEMS`; none of them: all.

    Returns
    -------
    dict of str to int
        For one thread, and kernels for ``x86-64-v3``: valgrind knows AVX2, and what
        it runs is the same on every machine that compiles the same kernels.

    Raises
    ------
    RuntimeError
        If valgrind counted another number of calls than there were.
    """
    worker = [sys.executable, "-m", f"{__package__}.worker", *names]
    with tempfile.TemporaryDirectory() as folder:
        # Kernels are compiled before: valgrind would run the C compiler too.
        _run(worker)
        out = Path(folder, "calls")
        command = ["valgrind", "--tool=callgrind", "--quiet", "--collect-atstart=no"]
        for entry in _ENTRIES:
            # Two spellings: of two options for one pattern callgrind takes one.
            command += [f"--toggle-collect=*{entry}", f"--dump-after=__{entry}"]
        command += [f"--callgrind-out-file={out}", *worker]
        calls = json.loads(_run(command).splitlines()[-1])
        totals = _totals(out, len(calls))
    counts: dict[str, int] = {}
    for problem, total in zip(calls, totals, strict=True):
        if problem is not None:
            counts[problem] = counts.get(problem, 0) + total
    return counts


def _totals(out: Path, n_calls: int) -> list[int]:
    """Return the instructions of each call: one file was written after each."""
    dumps = list(out.parent.glob(f"{out.name}.*"))
    if len(dumps) != n_calls:
        raise RuntimeError(
            f"callgrind: expected {n_calls} calls of kernels, got {len(dumps)}"
        )
    dumps.sort(key=lambda path: int(path.suffix[1:]))
    return [int(_TOTAL.findall(path.read_text())[-1]) for path in dumps]


def _run(command: list[str]) -> str:
    settings = {"SPARRAY_ISA": TARGET, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | settings, stdout=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"expected {command[0]} to succeed, got {done.returncode}")
    return done.stdout
