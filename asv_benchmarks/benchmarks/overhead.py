"""What a call costs beside its kernel: importing, planning, compiling, finding."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import torch

import sparray.torch as spt
from sparray import dispatch
from sparray._kernels.runtime import num_threads
from sparray.evaluation.expression import assignment_expression, einsum_expression
from sparray.evaluation.planning import operands_plan

from .inputs import (
    dense,
    random_tensor,
    scipy_csr,
    torch_csr,
    uniform_csr,
    use_threads,
)
from .interleave import ratio, timed

__all__ = ["Import", "Jit", "Lookup", "Planning", "TinyCall", "TinyTensorCall"]


PLANNED = {
    "C[i,j] = A[i,k] * B[k,j]": "csr csc",
    "C[i,j] = A[i,k] * B[k,j] * M[i,j]": "csr csr coo",
    "C[i,j] = M[i,j] * A[i,k] * B[j,k]": "csr factor factor",
    "D[i,j] = A[i,j] + B[i,j] + C[i,j]": "csr csc coo",
    "A[i,r] = T[i,j,k] * B[j,r] * C[k,r]": "csf second third",
    "A[i,r,s] = T[i,j,k] * B[j,r] * C[k,s]": "csf second third",
    "y[i,j] = T[i,j,k] * x[k] + abs(T[i,j,k])": "csf vector",
    "s = A[i,j] * B[i,j] - C[i,j] * D[i,j]": "csr csr coo matrix",
}
"""Expressions with kinds of operands, from the golden kernels and beyond."""


def _run(code: str, **settings: str) -> list[float]:
    """Run code in a fresh interpreter and return the numbers that it prints."""
    command = [sys.executable, "-c", code]
    environment = {**os.environ, **settings}
    done = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    )
    return [float(word) for word in done.stdout.split()]


class Import:
    """``import sparray`` in a fresh interpreter: at most 0.2 s."""

    code = (
        "import time; begin = time.perf_counter(); import sparray; "
        "print(time.perf_counter() - begin)"
    )

    def track_import_s(self) -> float:
        return min(_run(self.code)[0] for _ in range(5))

    track_import_s.unit = "s"  # type: ignore[attr-defined]


class TinyCall:
    """A warm product of a 100 × 100 CSR matrix and a vector: at most 10 µs in all."""

    def setup(self) -> None:
        use_threads()
        self.A = uniform_csr(100, 5)
        self.x = dense(100)
        self.A_scipy, self.A_torch = scipy_csr(self.A), torch_csr(self.A)
        self.x_torch = torch.from_numpy(self.x)
        self.ours()

    def ours(self) -> Any:
        return self.A @ self.x

    def time_call(self) -> None:
        self.ours()

    def peakmem_call(self) -> None:
        self.ours()

    def track_call_us(self) -> float:
        return 1e6 * statistics.median(timed(self.ours, 200) for _ in range(50))

    track_call_us.unit = "µs"  # type: ignore[attr-defined]

    def track_ratio_scipy(self) -> float:
        return ratio(self.ours, lambda: self.A_scipy @ self.x)

    def track_ratio_torch(self) -> float:
        return ratio(self.ours, lambda: self.A_torch @ self.x_torch)


class TinyTensorCall:
    """A warm product of a 100 × 100 CSR tensor and a vector: 15 µs beside the kernel.

    Times of the product and of its kernel alone, which is given addresses of the same
    operands, are taken in turns.
    """

    params = [["constant", "learned"]]
    param_names = ["weights"]

    def setup(self, weights: str) -> None:
        use_threads()
        learned = weights == "learned"
        self.W = spt.tensor(uniform_csr(100, 5), format="csr", requires_grad=learned)
        self.x = torch.from_numpy(dense(100))
        self.made = self.ours()
        pattern = self.W.pattern
        (warm,) = (call for call in pattern.warm.values() if call.direct is not None)
        operands = (self.W.values().data_ptr(), self.x.data_ptr())
        self.kernel_function = warm.direct.function
        self.arguments = (
            *(*pattern.addresses, *operands, self.made.data_ptr()),
            *(*warm.direct.extents, num_threads()),
        )

    def ours(self) -> Any:
        return self.W @ self.x

    def kernel(self) -> Any:
        return self.kernel_function(*self.arguments)

    def time_call(self, *_: str) -> None:
        self.ours()

    def track_overhead_us(self, *_: str) -> float:
        beside = [timed(self.ours, 200) - timed(self.kernel, 200) for _ in range(50)]
        return 1e6 * statistics.median(beside)

    track_overhead_us.unit = "µs"  # type: ignore[attr-defined]


class Lookup:
    """A problem that was computed before: its kernel is found in at most 10 µs."""

    def setup(self) -> None:
        A, x = uniform_csr(100, 5), dense(100)
        self.expression = einsum_expression("ij,j->i", 2)
        self.operands = [A, x]
        dispatch.evaluate_expression(self.expression, self.operands)

    def find(self) -> Any:
        return dispatch._find(self.expression, self.operands, None, False)

    def time_known(self) -> None:
        self.find()

    def track_known_us(self) -> float:
        return 1e6 * statistics.median(timed(self.find, 200) for _ in range(50))

    track_known_us.unit = "µs"  # type: ignore[attr-defined]


class Planning:
    """A plan for operands that were never seen: at most 50 ms of processor time.

    The compiler is loaded already. Nothing is compiled.
    """

    params = list(PLANNED)
    param_names = ["expression"]

    def setup(self, expression: str) -> None:
        A = uniform_csr(1000, 8)
        T = random_tensor((300, 200, 100), 5000)
        kinds = {
            "csr": A,
            "csc": A.to_format("csc"),
            "coo": A.to_format("coo"),
            "csf": T,
            "matrix": dense(1000, 1000),
            "factor": dense(1000, 16),
            "second": dense(200, 16),
            "third": dense(100, 16),
            "vector": dense(100),
        }
        self.expression = assignment_expression(expression)
        self.operands = [kinds[name] for name in PLANNED[expression].split()]
        self.plan()

    def plan(self) -> None:
        operands_plan(self.expression, self.operands)

    def track_planning_ms(self, expression: str) -> float:
        times = []
        for _ in range(5):
            begin = time.process_time()
            self.plan()
            times.append(time.process_time() - begin)
        return 1e3 * statistics.median(times)

    track_planning_ms.unit = "ms"  # type: ignore[attr-defined]


class Jit:
    """Kernels that are not built in, from the expression to the loaded function.

    The budgets: the first one in a fresh process 3 s, each later one 1.2 s, one that is
    found in the cache 20 ms. A fresh process with an empty cache compiles two kernels,
    and another one finds them there; its first call also imports the compiler.
    """

    code = (
        "import time, sparray as sp\n"
        "for format in ('dcsr', 'csc'):\n"
        "    begin = time.perf_counter()\n"
        "    sp.compile('C[i,j] = A[i,k] * B[k,j]', A=format, dtype='complex64')\n"
        "    print(time.perf_counter() - begin)\n"
    )
    timeout = 120

    def setup_cache(self) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            first, later = _run(self.code, SPARRAY_CACHE_DIR=folder)
            first_found, found = _run(self.code, SPARRAY_CACHE_DIR=folder)
        return {
            "first": first,
            "later": later,
            "first found": first_found,
            "found": found,
        }

    def track_first_kernel_s(self, times: dict[str, float]) -> float:
        return times["first"]

    def track_later_kernel_s(self, times: dict[str, float]) -> float:
        return times["later"]

    def track_first_cached_kernel_s(self, times: dict[str, float]) -> float:
        return times["first found"]

    def track_cached_kernel_s(self, times: dict[str, float]) -> float:
        return times["found"]

    for track in (
        track_first_kernel_s,
        track_later_kernel_s,
        track_first_cached_kernel_s,
        track_cached_kernel_s,
    ):
        track.unit = "s"  # type: ignore[attr-defined]
    del track
