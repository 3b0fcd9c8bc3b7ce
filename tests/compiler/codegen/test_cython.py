"""Printed Cython: golden text, names and comments that cannot escape, flags."""

import math
import os
import platform
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from sparray._kernels.jit import compile_library, compile_module
from sparray._kernels.render import module_flags, render_module
from sparray.compiler.codegen.cython.names import checked_name, comment_line
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import literal
from sparray.errors import InternalError, UnsupportedError

Functions = dict[str, ir.Function]
BASE_FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-fopenmp")


@pytest.mark.parametrize("name", ["spmm_plain", "spmm_tiled"])
def test_module(
    name: str, examples: Functions, golden: Callable[[str, str], None]
) -> None:
    golden(
        f"cython/{name}.pyx", render_module([examples[name]], ["A: csr", "B: dense"])
    )


def test_flags(examples: Functions) -> None:
    plain, tiled = examples["spmm_plain"], examples["spmm_tiled"]
    assert module_flags([plain]) == BASE_FLAGS
    reassociate = ("-fassociative-math", "-fno-signed-zeros")
    assert module_flags([plain, tiled]) == (*BASE_FLAGS, *reassociate, "-Wno-psabi")
    z = ir.Buffer("z", "complex64")
    assert "-fcx-fortran-rules" in module_flags([ir.Function("f", (z,), ir.Block(()))])


@pytest.mark.parametrize(
    "name",
    (
        *("", "1a", "a b", "a-b", "é", "a\n", "x;import os", "sp_sort_i64", "__pyx_v"),
        *("lambda", "cdef", "int", "int64_t", "prange", "NULL", "restrict", "match"),
    ),
)
def test_names_that_may_not_appear(name: str) -> None:
    with pytest.raises(InternalError, match="expected"):
        checked_name(name)
    for function in (
        ir.Function(name, (ir.Var("n"),), ir.Block(())),
        ir.Function("f", (ir.Var(name),), ir.Block(())),
        ir.Function("f", (), ir.Block((ir.Declare(ir.Var(name), literal(0)),))),
    ):
        with pytest.raises(InternalError, match="expected"):
            render_module([function], [])


def test_comments_stay_comments() -> None:
    hostile = "cython: boundscheck=True\nimport os\r\x0bos.system('x')  é */ \\"
    function = ir.Function(
        "f", (ir.Var("n"),), ir.Block((ir.Comment(hostile),)), documentation=(hostile,)
    )
    source = render_module([function], [hostile])
    for line in source.splitlines():
        if "import os" in line or "os.system" in line or "boundscheck=True" in line:
            assert line.lstrip().startswith("# | ")
    assert source.isascii()
    assert comment_line("a\tb\x00") == "# | a?b?"


def test_same_text_twice(examples: Functions) -> None:
    functions = list(examples.values())
    assert render_module(functions, []) == render_module(functions, [])


def test_functions_need_different_names(examples: Functions) -> None:
    with pytest.raises(InternalError, match="different names"):
        render_module([examples["spmm_plain"]] * 2, [])


def test_what_c_lacks() -> None:
    z, i = ir.Literal(1j, "complex64"), literal(1, "longdouble")
    half = ir.Cast(literal(1.0, "float64"), "bfloat16")
    for value in (ir.Unary("floor", z, "complex64"), ir.Broadcast(z, 4), i, half):
        var = ir.Var("v", value.dtype, value.lanes)
        function = ir.Function("f", (), ir.Block((ir.Declare(var, value),)))
        with pytest.raises(UnsupportedError, match="expected"):
            render_module([function], [])


def test_helpers_only_where_used(examples: Functions) -> None:
    source = render_module([examples["spmm_plain"]], [])
    for word in ("sp_sort", "sp_search", "sp_allocate", "prange", "sp_f32x", "math.h"):
        assert word not in source


needs_gcc = pytest.mark.skipif(
    shutil.which("gcc") is None or platform.machine() != "x86_64",
    reason="reads the assembly of gcc for x86-64",
)


def assembly(function: ir.Function, directory: Path) -> str:
    """Return what GCC makes of a function on a machine with AVX-512."""
    from Cython.Compiler.Main import CompilationOptions, compile, default_options

    pyx = directory / "k.pyx"
    pyx.write_text(render_module([function], []))
    compile(str(pyx), CompilationOptions(default_options))
    command = ["gcc", *module_flags([function]), "-march=x86-64-v4", "-fPIC", "-S"]
    command += [f"-I{sysconfig.get_path('include')}", "k.c", "-o", "k.s"]
    command += ["-fopt-info-vec-all=vectorized.txt"]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return (directory / "k.s").read_text()


@needs_gcc
def test_accumulators_stay_in_registers(examples: Functions, tmp_path: Path) -> None:
    text = assembly(examples["spmm_tiled"], tmp_path)
    # The innermost loop: four products into four registers, straight from memory.
    block = re.search(r"(\s+vfmadd231ps\s+\d*\(.*zmm.*\n){4}", text)
    assert block is not None
    targets = re.findall(r"(%zmm\d+)\n", block.group(0))
    assert len(set(targets)) == 4


@needs_gcc
def test_plain_loop_is_vectorised(examples: Functions, tmp_path: Path) -> None:
    text = assembly(examples["spmm_plain"], tmp_path)
    assert re.search(r"vfmadd\d+ps.*%[yz]mm", text) is not None
    # restrict holds: no copy of the loop for buffers that overlap.
    assert "versioned" not in (tmp_path / "vectorized.txt").read_text()


def test_arguments_are_checked(examples: Functions, tmp_path: Path) -> None:
    functions = [examples["spmm_plain"]]
    source = render_module(functions, [])
    # One helper takes them apart, not a conversion for each.
    assert source.count("sp_unpack(sp_arguments") == 1
    flags = [*module_flags(functions), "-O0"]
    run = compile_module(source, flags, tmp_path).spmm_plain
    assert run(*[0] * 7) == 0  # no rows: nothing is read
    with pytest.raises(TypeError, match="expected 7 arguments, got 6"):
        run(*[0] * 6)
    with pytest.raises(TypeError):
        run("A", *[0] * 6)
    with pytest.raises(OverflowError):
        run(*[0] * 6, 2**63)
    with pytest.raises(OverflowError):
        run(-1, *[0] * 6)
    with pytest.raises(TypeError):
        run(*[0] * 6, n_j=0)


def test_budget_of_one_kernel(examples: Functions) -> None:
    functions = [examples["spmm_tiled"]]
    source = render_module(functions, [])
    best = math.inf
    for _ in range(3):
        # Processor time, the compiler's included: other work does not count.
        start = sum(os.times()[:4])
        compile_library(source, [*module_flags(functions), "-march=native"])
        best = min(best, sum(os.times()[:4]) - start)
    # Half a second on the reference machine.
    assert best < 1.2
