"""Every row of the manifest is a problem that the compiler can be given."""

import pytest

from sparray._kernels.manifest import ROWS, Row, problems
from sparray.compiler.index_notation.printer import print_assignment


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row_gives_one_problem_per_combination_of_dtypes(row):
    found = [problem.describe() for problem in problems(row)]
    assert len(set(found)) == len(row.dtypes) * len(row.index_dtypes)


def test_problem_is_in_canonical_names():
    row = Row(
        "spmm",
        "Y[a,c] = W[a,b] * X[b,c]",
        {"W": "csr"},
        ("float32",),
        (("int32", "int32"),),
    )
    (problem,) = problems(row)
    assert print_assignment(problem.assignment) == "out[i,j] = sum(k, A[i,k] * B[k,j])"
    specs = problem.specs
    assert {name: spec.format.name for name, spec in specs.items()} == {
        "A": "csr",
        "B": "dense",
        "out": "dense",
    }
    assert {name: spec.dtype for name, spec in specs.items()} == dict.fromkeys(
        specs, "float32"
    )
    # Without a buffer of coordinates there is no index dtype to specialise to.
    assert (specs["A"].index_dtype, specs["B"].index_dtype) == ("int32", "int64")
