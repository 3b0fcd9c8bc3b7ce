"""16-bit floats in generated code: every value, every x86-64 level, scalars and lanes.

One module per target holds a loop of scalars and one of vectors of each width, which
must agree with NumPy and ml_dtypes bit by bit.
"""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from sparray._kernels.jit import MODULE_NAME, compile_library, load_library
from sparray._kernels.render import module_flags, render_module
from sparray._kernels.targets import _REQUIRED, cpu_features
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import Builder, literal
from sparray.compiler.loop_ir.verify import verify

HALVES = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
LANES = (1, 2, 4, 8, 16)
N = ir.Var("n")
RUNNABLE = [t for t, needed in _REQUIRED if needed <= cpu_features()]
EVERY_HALF = np.arange(2**16, dtype=np.uint32).astype(np.uint16)


def conversion(source: str, result: str, lanes: int) -> ir.Function:
    """Return the loop ``y[i] = (result)x[i]`` in vectors of so many lanes."""
    b = Builder(["x", "y", "n"])
    x, y = ir.Buffer("x", source), ir.Buffer("y", result, writable=True)
    with b.loop("i", literal(0), N, step=lanes) as i:
        b.store(y, i, ir.Cast(ir.Load(x, i, lanes), result))
    made = ir.Function(f"{source}_to_{result}_x{lanes}", (x, y, N), b.block())
    verify(made)
    return made


FUNCTIONS = [
    conversion(*pair, lanes)
    for half in HALVES
    for pair in ((half, "float32"), ("float32", half))
    for lanes in LANES
]


@pytest.fixture(scope="module", params=[t.name for t in RUNNABLE] + ["native"])
def kernels(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    march = {t.name: t.march for t in RUNNABLE}.get(request.param, "native")
    flags = [*module_flags(FUNCTIONS), *([f"-march={march}"] if march else [])]
    # As in a kernel whose sum is reordered: nothing may be moved out of a conversion.
    flags += ["-fassociative-math", "-fno-signed-zeros"]
    path: Path = tmp_path_factory.mktemp("halves") / f"{MODULE_NAME}.so"
    path.write_bytes(compile_library(render_module(FUNCTIONS, []), flags))
    yield load_library(path)


def run(kernels: Any, source: str, result: str, lanes: int, x: np.ndarray) -> Any:
    y = np.zeros(len(x), HALVES.get(result, np.dtype(np.float32)))
    function = getattr(kernels, f"{source}_to_{result}_x{lanes}")
    assert function(x.ctypes.data, y.ctypes.data, len(x)) == 0
    return y


def interesting_floats() -> np.ndarray:
    """Return float32 bits around every 16-bit float, every tie, and at random."""
    made = []
    for dtype in HALVES.values():
        bits = EVERY_HALF.view(dtype).astype(np.float32).view(np.uint32)
        for step in (13, 16):
            tie = np.uint32(1 << (step - 1))
            made += [bits, bits + tie, bits + tie - 1, bits + tie + 1, bits - 1]
    rng = np.random.default_rng(1)
    made.append(rng.integers(0, 2**32, 2**16, dtype=np.uint32))
    # What becomes a subnormal float16, or zero.
    made.append(rng.integers(0x32000000, 0x39000000, 2**16, dtype=np.uint32))
    return np.concatenate(made).view(np.float32)


def assert_bits(found: np.ndarray, expected: np.ndarray) -> None:
    """Compare bits; of NaN only that it is one."""
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    bits = f"u{found.itemsize}"
    assert np.array_equal(found[~nan].view(bits), expected[~nan].view(bits))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("half", HALVES)
def test_every_half_is_widened(kernels: Any, half: str, lanes: int) -> None:
    values = EVERY_HALF.view(HALVES[half])
    found = run(kernels, half, "float32", lanes, values)
    assert_bits(found, values.astype(np.float32))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("half", HALVES)
def test_floats_are_rounded_to_the_nearest_even(
    kernels: Any, half: str, lanes: int
) -> None:
    values = interesting_floats()
    found = run(kernels, "float32", half, lanes, values)
    with np.errstate(all="ignore"):
        assert_bits(found, values.astype(HALVES[half]))


def assembly(functions: list[ir.Function], march: str, tmp_path: Path) -> str:
    """Return what the C compiler makes of functions for an instruction set."""
    path = tmp_path / f"{MODULE_NAME}.so"
    flags = [*module_flags(functions), f"-march={march}", "-mprefer-vector-width=512"]
    path.write_bytes(compile_library(render_module(functions, []), flags))
    command = ["objdump", "-d", "--no-show-raw-insn", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


WIDTHS: dict[str, tuple[int, str]] = {
    "x86-64-v3": (8, "%ymm"),
    "x86-64-v4": (16, "%zmm"),
}
INSTRUCTIONS: dict[tuple[str, str], Callable[[str], bool]] = {
    ("float16", "float32"): lambda text: "vcvtph2ps" in text,
    ("float32", "float16"): lambda text: "vcvtps2ph" in text,
    ("bfloat16", "float32"): lambda text: "vpmovzxwd" in text and "vpslld" in text,
    ("float32", "bfloat16"): lambda text: "vpsrld" in text,
}


@pytest.mark.skipif(len(RUNNABLE) < 3, reason="needs a compiler for x86-64")
@pytest.mark.parametrize("march", WIDTHS)
@pytest.mark.parametrize("pair", INSTRUCTIONS, ids="-".join)
def test_vectors_are_converted_by_vector_instructions(
    pair: tuple[str, str], march: str, tmp_path: Path
) -> None:
    lanes, register = WIDTHS[march]
    text = assembly([conversion(*pair, lanes)], march, tmp_path)
    assert register in text
    assert INSTRUCTIONS[pair](text)
    assert "__extendhfsf2" not in text


@pytest.mark.skipif(len(RUNNABLE) < 3, reason="needs a compiler for x86-64")
@pytest.mark.parametrize("pair", INSTRUCTIONS, ids="-".join)
def test_a_loop_of_scalars_is_vectorised(pair: tuple[str, str], tmp_path: Path) -> None:
    text = assembly([conversion(*pair, 1)], "x86-64-v4", tmp_path)
    assert "%zmm" in text
