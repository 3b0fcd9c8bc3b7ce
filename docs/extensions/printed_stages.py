"""Write what the compiler prints for one product, so that the pages show the truth.

`developer/generated/` gets one file per stage of ``C[i,j] = A[i,k] * B[k,j]`` with a
CSR operand, and of the same product with a sparse result; the loops that come of the
level functions of a diagonal format; and what `explain` says of some expressions. It is
made anew by every build and ignored by git.
"""

from pathlib import Path
from typing import Any

import numpy as np

from sparray._kernels.render import render_module
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.index_notation.canonical import canonicalize, separate_accesses
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.pipeline import KernelSpec, compile_problem
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.steps import KernelStep
from sparray.convert import array, from_coords
from sparray.evaluation.expression import assignment_expression
from sparray.evaluation.planning import operands_plan
from sparray.formats.named import named_format
from sparray.functions.explain import explain
from sparray.sparse_array import SparseArray
from sparray.tracing.fused_function import fuse

TEXT = "C[i,j] = A[i,k] * B[k,j]"

# Narrow registers keep the text short: the widest tiles are left to a real machine.
VECTOR_BYTES = 16

# Of the matrices that are explained.
ROWS = 1000

Pages = dict[str, str]


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}


def _write(app: Any) -> None:
    folder = Path(app.srcdir, "developer", "generated")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in printed_stages().items():
        path = folder / name
        # A file that is not touched is not read again by the next build.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def printed_stages() -> Pages:
    """Return the text of every stage, by the name of the file that shows it."""
    return {
        **_pages("spmm", "dense"),
        **_pages("spgemm", "csr"),
        "range_walked.txt": _loops("y[i] = A[i,j] * x[j]", "dia", 1),
        "range_located.txt": _loops(
            "C[i,j] = S[i,j] * A[i,j]", "(i, j) -> (j - i: dense, i: range)", 2
        ),
        **_explanations(),
    }


def _explanations() -> Pages:
    """Return what `explain` says, as elements of a page."""
    matrix = _random_csr()
    factor = np.ones((ROWS, 64))
    return {
        "explain_spgemm.html": explain(
            "C[i,j] = A[i,k] * B[k,j]", A=matrix, B=matrix
        )._repr_html_(),
        "explain_sddmm.html": explain(
            "C[i,j] = S[i,j] * U[i,k] * V[k,j]", S=matrix, U=factor, V=factor.T
        )._repr_html_(),
        "explain_attention.html": fuse(_attention)
        .explain(factor, factor, factor, matrix != 0)
        ._repr_html_(),
    }


def _attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Return attention over the entries of a mask, as users write it."""
    s = np.where(mask, q @ k.T / np.sqrt(64.0), -np.inf)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ v


def _random_csr() -> SparseArray:
    """Return a matrix with eight entries in each row, the same in every build."""
    rng = np.random.default_rng(0)
    columns = np.stack([rng.permutation(ROWS)[:8] for _ in range(ROWS)])
    rows = np.repeat(np.arange(ROWS), 8)
    coords = np.stack([rows, columns.reshape(-1)])
    return from_coords(coords, np.ones(len(rows)), (ROWS, ROWS), format="csr")


def _loops(text: str, format: str, ndim: int) -> str:
    """Return the loops of an expression with a band matrix ``A`` in a format.

    Its other operand is a dense vector, or a csr matrix.
    """
    band = np.eye(1000) + np.eye(1000, k=1)
    other = np.ones(1000) if ndim == 1 else array(band, "csr")
    given = {"A": array(band, format), "x": other, "S": other}
    expression = assignment_expression(text)
    operands = [given[name] for name in expression.tensors]
    (kernel,) = operands_plan(expression, operands).kernels
    if kernel is None:
        raise RuntimeError(f"expected one kernel for {text}, got none")
    # Of a function that counts and one that fills, the one that fills.
    return kernel.loops.rpartition("\n\n\n")[2]


def _pages(name: str, format: str) -> Pages:
    problem = _problem(format)
    spec, decision = _kernel(problem)
    stages = "\n\n".join(
        f"{label}\n{print_statement(stage)}"
        for label, stage in zip(
            ("concretize", *map(str, decision.commands)), decision.stages, strict=True
        )
    )
    reasons = "\n".join(
        f"{reason.what}\n    {reason.why}" for reason in decision.reasons
    )
    return {
        f"{name}_index_notation.txt": print_assignment(problem.assignment),
        f"{name}_problem.txt": problem.describe(),
        f"{name}_cin.txt": stages,
        f"{name}_schedule.txt": f"{decision.schedule}\n\n{reasons}",
        f"{name}_loops.txt": spec.loops,
        f"{name}_cython.pyx": render_module(spec.functions, spec.header),
    }


def _problem(format: str) -> Problem:
    renamed, _ = canonicalize(parse_assignment(TEXT))
    assignment, _ = separate_accesses(renamed)
    csr = TensorSpec(named_format("csr", 2), "float64", "int32")
    dense = TensorSpec(named_format("dense", 2), "float64")
    second, output = (csr, csr) if format == "csr" else (dense, dense)
    return Problem(assignment, (("A", csr), ("B", second)), output)


def _kernel(problem: Problem) -> tuple[KernelSpec, Any]:
    compiled = compile_problem(problem, VECTOR_BYTES)
    (step,) = compiled.plan.steps
    (spec,) = compiled.kernels
    if spec is None or not isinstance(step, KernelStep):
        raise RuntimeError(f"expected one kernel for {TEXT}, got {compiled.plan}")
    return spec, step.decision
