"""Interpreter = compiled kernel, for every node and every dtype.

All functions are compiled as one module, once for the session.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance_cases import (
    CASES,
    DTYPES,
    FAILING,
    FUSED,
    INEXACT,
    OPERATORS,
    Arguments,
    supported,
)

from sparray._kernels.jit import MODULE_NAME, compile_library, load_library
from sparray._kernels.render import module_flags, render_module
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.interpreter import run
from sparray.compiler.loop_ir.verify import verify


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    functions = [c.function for c in CASES.values()] + list(FAILING.values())
    functions.append(ir.Function("nothing", (), ir.Block(())))
    source = render_module(functions, ["conformance"])
    # -O1 keeps the build short: what is tested is the printed meaning.
    flags = [*module_flags(functions), "-march=native", "-O1"]
    path: Path = tmp_path_factory.mktemp("conformance") / f"{MODULE_NAME}.so"
    path.write_bytes(compile_library(source, flags))
    yield load_library(path)


def call(kernels: Any, function: ir.Function, arguments: Arguments) -> int:
    positional = [arguments[item.name] for item in function.parameters]
    status: int = getattr(kernels, function.name)(
        *(a.ctypes.data if isinstance(a, np.ndarray) else a for a in positional)
    )
    return status


@pytest.mark.parametrize("name", CASES)
def test_interpreter_equals_kernel(kernels: Any, name: str) -> None:
    this = CASES[name]
    verify(this.function)
    expected, got = this.make(), this.make()
    run(this.function, expected)
    assert call(kernels, this.function, got) == 0
    changed = False
    for key, array in expected.items():
        if not isinstance(array, np.ndarray):
            continue
        changed |= array.tobytes() != this.make()[key].tobytes()
        fused = FUSED if array.dtype.kind == "c" else set()
        if key.partition("_")[2] in INEXACT | fused and array.dtype.kind in "fc":
            rtol = 200 * np.finfo(array.dtype).eps
            np.testing.assert_allclose(got[key], array, rtol=rtol, err_msg=key)
        else:
            np.testing.assert_array_equal(got[key], array, err_msg=key)
    assert changed, "the case computes nothing"


def refused_by_numpy(op: str, dtype: str) -> bool:
    """Tell whether NumPy has no loop for a dtype, or for bools one of int8 only."""
    row = OPERATORS[op]
    try:
        made = row.evaluate(*[np.ones(1, dtype)] * row.arity)
    except TypeError:
        return True
    return dtype == "bool" and row.result == "promote" and made.dtype != bool


def test_c_has_the_operations_that_numpy_has() -> None:
    every = {(op, dtype) for op in OPERATORS for dtype in DTYPES}
    lacking = {(op, dtype) for op, dtype in every if not supported(op, dtype)}
    assert lacking == {
        (op, dtype) for op, dtype in every if refused_by_numpy(op, dtype)
    }


def test_signs_of_zero_and_nan_survive(kernels: Any) -> None:
    this = CASES["literals"]
    arguments = this.make()
    call(kernels, this.function, arguments)
    values = arguments["out_float64"]
    assert np.signbit(values[1]) and not np.signbit(values[0])
    assert np.isnan(values[9])


def ascending_runs(rng: np.random.Generator, n: int) -> Any:
    """Return runs of all lengths, as of rows listed one after the other."""
    falls = np.zeros(n, np.int64)
    begins = np.cumsum(rng.integers(1, 60, n))
    falls[begins[begins < n]] = 200
    return np.cumsum(rng.integers(0, 5, n) - falls)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 18, 100, 1000, 2048, 40_000])
def test_sort(kernels: Any, dtype: str, n: int) -> None:
    rng = np.random.default_rng(n)
    organ_pipe = np.minimum(np.arange(n), np.arange(n)[::-1])
    for values in (
        rng.integers(-(2**31), 2**31 - 1, n),
        rng.integers(0, 3, n),
        np.arange(n),
        np.arange(n)[::-1],
        np.zeros(n),
        organ_pipe,
        ascending_runs(rng, n),
    ):
        array = np.append(values, -5).astype(dtype)
        call(kernels, CASES[f"sort_{dtype}"].function, {"x": array, "n": n})
        np.testing.assert_array_equal(array[:n], np.sort(values.astype(dtype)))
        assert array[n] == -5


def test_heapsort_takes_over(tmp_path: Path) -> None:
    """The way out of quadratic time, made to start at once."""
    function = CASES["sort_int64"].function
    source = render_module([function], [])
    assert "depth += 2" in source
    path = tmp_path / f"{MODULE_NAME}.so"
    path.write_bytes(compile_library(source.replace("depth += 2", "depth += 0"), []))
    for n in (17, 18, 1000, 4097):
        array = np.random.default_rng(n).integers(-50, 5000, n)
        expected = np.sort(array)
        call(load_library(path), function, {"x": array, "n": n})
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("where", FAILING)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("size", "status"),
    [(10, 0), (0, 0), (-1, 1), (2**61, 1), (2**62 + 1, 1), (2**55, 1)],
)
def test_memory_that_cannot_be_had(
    kernels: Any, where: str, threads: int, size: int, status: int
) -> None:
    arguments = {"size": size, "n": 7, "threads": threads}
    assert call(kernels, FAILING[where], arguments) == status


def test_no_tasks_and_one_thread(kernels: Any) -> None:
    this = CASES["parallel"]
    expected = this.make()
    run(this.function, expected)
    for threads in (0, 1, 3):
        got = this.make() | {"threads": threads}
        assert call(kernels, this.function, got) == 0
        np.testing.assert_array_equal(got["y"], expected["y"])
    nothing = this.make() | {"n": 0}
    assert call(kernels, this.function, nothing) == 0
    assert not nothing["y"].any()


def test_a_function_without_parameters(kernels: Any) -> None:
    assert kernels.nothing() == 0
