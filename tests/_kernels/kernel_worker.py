"""A kernel to test with, and a process of its own that runs it.

``python kernel_worker.py run KEY FACTOR`` loads the kernel and prints ``right``;
``fork`` runs it on two threads, forks, and runs it again in the child.
"""

import os
import signal
import sys

import numpy as np

from sparray._kernels import runtime
from sparray.compiler.loop_ir import nodes as ir

N = 100_000


def scale_kernel(key, factor):
    """Return the kernel ``y[i] = factor * x[i]`` with a parallel loop."""
    x, y = ir.Buffer("x", "float32"), ir.Buffer("y", "float32", writable=True)
    n, threads, i = ir.Var("n"), ir.Var("threads"), ir.Var("i")
    scaled = ir.Binary(
        "mul", ir.Load(x, i), ir.Literal(float(factor), "float32"), "float32"
    )
    body = ir.Parallel(i, n, threads, ir.Block((ir.Store(y, i, scaled),)))
    function = ir.Function("evaluate", (x, y, n, threads), ir.Block((body,)))
    return runtime.KernelSource(key, (function,), (f"y[i] = {factor} * x[i]",))


def is_right(kernel, factor, threads=1):
    """Run the kernel and compare with NumPy."""
    x = np.arange(N, dtype=np.float32)
    y = np.zeros_like(x)
    status = kernel.functions["evaluate"](x.ctypes.data, y.ctypes.data, N, threads)
    return status == 0 and bool((y == factor * x).all())


def run(key, factor):
    kernel = runtime.load_kernel(key, lambda: scale_kernel(key, factor))
    if kernel is None:
        return "no kernel"
    return "right" if is_right(kernel, factor) else "wrong"


def fork():
    kernel = runtime.load_kernel("fork", lambda: scale_kernel("fork", 3))
    runtime.set_num_threads(2)
    assert is_right(kernel, 3, runtime.num_threads())
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)  # a hang ends the child, and so the test
        right = runtime.num_threads() == 1
        right &= is_right(kernel, 3, runtime.num_threads())
        # Asking for more is refused, and a second kernel can be compiled here.
        runtime.set_num_threads(2)
        right &= runtime.num_threads() == 1
        other = runtime.load_kernel("fork4", lambda: scale_kernel("fork4", 4))
        right &= is_right(other, 4, runtime.num_threads())
        os._exit(0 if right else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return "right" if status == 0 else f"child ended with {status}"


def main(arguments):
    if arguments[0] == "fork":
        return fork()
    return run(arguments[1], int(arguments[2]))


if __name__ == "__main__":
    print(main(sys.argv[1:]))
