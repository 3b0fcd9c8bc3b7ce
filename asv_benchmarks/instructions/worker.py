"""The process that is counted: run each problem twice, tell the calls of kernels.

The first call compiles kernels, or finds them; the second one is what counts. Printed,
as JSON: for each call of a kernel, in their order, the problem whose second call it is
part of, or null.
"""

import json
import sys
from typing import Any

from .problems import PROBLEMS

__all__ = ["main"]


class _Calls:
    """The calls of compiled kernels in this process."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self.seen: list[str | None] = []

    def __call__(self, frame: Any, event: str, called: Any) -> None:
        if event == "c_call" and _is_kernel(called):
            self.seen.append(self.problem)


def _is_kernel(called: Any) -> bool:
    module = getattr(called, "__module__", None) or ""
    return module.startswith(("sparray_kernel", "sparray._kernels.built"))


def main(names: list[str]) -> None:
    """Run the problems of these names, or all."""
    calls = _Calls()
    sys.setprofile(calls)
    for name in names or PROBLEMS:
        call = PROBLEMS[name]()
        call()
        calls.problem = name
        call()
        calls.problem = None
    sys.setprofile(None)
    print(json.dumps(calls.seen))


if __name__ == "__main__":
    main(sys.argv[1:])
