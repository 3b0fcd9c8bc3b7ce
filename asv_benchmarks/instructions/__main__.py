"""Compare instruction counts of kernels with the stored ones.

From the root of the checkout::

    python -m asv_benchmarks.instructions              # fails where one is exceeded
    python -m asv_benchmarks.instructions --update     # store those of today

Times say what a user waits for, but on a shared machine they drift by a factor of two.
The instructions of a kernel do not: 3 % more of them are a change of the compiler.
"""

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

from .counting import TARGET, compiler, count, tool
from .problems import PROBLEMS

__all__ = ["main"]

STORED = Path(__file__).with_name("counts.json")
TOLERANCE = 0.03


def main() -> int:
    """Print a table; return 1 if a problem takes more instructions than before."""
    parser = argparse.ArgumentParser(prog="python -m asv_benchmarks.instructions")
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help="default: all")
    parser.add_argument("--update", action="store_true", help="store what is counted")
    options = parser.parse_args()
    unknown = [name for name in options.problems if name not in PROBLEMS]
    if unknown:
        parser.error(f"expected problems of {', '.join(PROBLEMS)}, got {unknown[0]}")
    reason = _obstacle()
    if reason is not None:
        print(f"instructions are not counted: {reason}")
        return 0
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    if not options.update and stored["compiler"] != compiler():
        print(f"not compared: stored are those of {stored['compiler']}")
        return 0
    counts = count(options.problems)
    known = stored.get("counts", {})
    exceeded = _compare(counts, known)
    if options.update:
        _store(known | counts)
        return 0
    return int(exceeded)


def _obstacle() -> str | None:
    """Return why this machine cannot count; None if it can."""
    if platform.machine() != "x86_64":
        return f"kernels for {TARGET} are counted"
    return None if tool() else "valgrind is not installed"


def _compare(counts: dict[str, int], known: dict[str, int]) -> bool:
    """Print each problem's counts; return whether one of them is exceeded."""
    exceeded = False
    print(f"{'problem':<32} {'stored':>12} {'now':>12} {'change':>8}")
    for name, now in counts.items():
        before = known.get(name)
        if before is None:
            print(f"{name:<32} {'':>12} {now:>12,} {'new':>8}")
            continue
        change = now / before - 1
        verdict = _verdict(change)
        exceeded |= change > TOLERANCE
        print(f"{name:<32} {before:>12,} {now:>12,} {change:>+8.1%}{verdict}")
    return exceeded


def _verdict(change: float) -> str:
    if change > TOLERANCE:
        return "  more than stored"
    return "  fewer: store them by --update" if change < -TOLERANCE else ""


def _store(counts: dict[str, int]) -> None:
    content: dict[str, Any] = {
        "compiler": compiler(),
        "valgrind": tool(),
        "target": TARGET,
        "counts": {name: counts[name] for name in PROBLEMS if name in counts},
    }
    STORED.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
