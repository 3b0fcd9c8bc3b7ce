"""The kernels that are compiled with the package: one row each.

A row names an assignment, the format of every tensor in it, and the dtypes; it
stands for one kernel per combination of dtypes. Whatever is not here is compiled
on first use, so a row buys time at the first call and nothing else.
"""

from collections.abc import Iterator
from dataclasses import field

from sparray.compiler.index_notation.canonical import (
    canonicalize,
    separate_accesses,
)
from sparray.compiler.index_notation.nodes import Assignment
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.problem import Problem, TensorSpec
from sparray.formats.named import as_format
from sparray.records import dataclass

__all__ = ["ROWS", "Row", "problems"]

_FLOATS = ("float32", "float64")
_INDICES = (("int32", "int32"), ("int64", "int64"))


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel in several dtypes.

    Attributes
    ----------
    name : str
        ``<op>_<formats>``, an identifier; the module is named by it.
    expression : str
        An assignment in index notation, each tensor read with one index list.
    formats : mapping of str to str
        Named format, or format string, of every tensor, the result's too; a
        tensor that is not named is dense.
    dtypes : tuple of str
        Dtypes of the values, the same for all tensors.
    index_dtypes : tuple of (str, str)
        Dtypes of every ``pos`` and ``crd`` of the operands, and of the result.
    sizes : tuple of (int, int)
        Extents and fibre lengths for which the scheduler takes other settings than
        where it knows no sizes: a kernel for each.
    """

    name: str
    expression: str
    formats: dict[str, str] = field(hash=False)
    dtypes: tuple[str, ...] = _FLOATS
    index_dtypes: tuple[tuple[str, str], ...] = _INDICES
    sizes: tuple[tuple[int, int], ...] = ()


# Coordinates come as NumPy made them, and a result as narrow as it can be.
_COORDINATES = (("int32", "int32"), ("int64", "int32"), ("int64", "int64"))
_LIST = (
    "(i, j) -> (i: compressed(nonunique, unordered), "
    "j: singleton(nonunique, unordered))"
)
_CSR3 = {"A": "csr", "B": "csr", "C": "csr"}

ROWS: tuple[Row, ...] = (
    # Conversions are assignments; first, since other rows convert an operand too.
    Row("convert_csr_csc", "B[i,j] = A[i,j]", {"A": "csr", "B": "csc"}),
    Row("convert_csc_csr", "B[i,j] = A[i,j]", {"A": "csc", "B": "csr"}),
    Row("convert_csr_coo", "B[i,j] = A[i,j]", {"A": "csr", "B": "coo"}),
    Row("convert_coo_csr", "B[i,j] = A[i,j]", {"A": "coo", "B": "csr"}),
    Row(
        "convert_coordinates_csr",
        "B[i,j] = A[i,j]",
        {"A": _LIST, "B": "csr"},
        index_dtypes=_COORDINATES,
    ),
    Row("convert_csr_dense", "B[i,j] = A[i,j]", {"A": "csr"}),
    Row("convert_dense_csr", "B[i,j] = A[i,j]", {"B": "csr"}),
    # Products with a dense operand, and those of its gradients.
    # Short and long rows.
    Row(
        "spmv_csr",
        "y[i] = A[i,j] * x[j]",
        {"A": "csr"},
        sizes=((4096, 8), (4096, 64)),
    ),
    Row("spmv_csc", "y[i] = A[i,j] * x[j]", {"A": "csc"}),
    Row("spmv_coo", "y[i] = A[i,j] * x[j]", {"A": "coo"}),
    # Rows that are in the cache, and a panel of them.
    Row(
        "spmm_csr",
        "C[i,j] = A[i,k] * B[k,j]",
        {"A": "csr"},
        sizes=((256, 4), (256, 64)),
    ),
    Row("spmm_csc", "C[i,j] = A[i,k] * B[k,j]", {"A": "csc"}),
    Row("spmm_coo", "C[i,j] = A[i,k] * B[k,j]", {"A": "coo"}),
    Row("spmm_transposed_csr", "C[i,j] = A[k,i] * B[k,j]", {"A": "csr"}),
    # Sparse results of products.
    Row("spgemm_csr_csr", "C[i,j] = A[i,k] * B[k,j]", _CSR3),
    Row("spgemm_csr_csc", "C[i,j] = A[i,k] * B[k,j]", {**_CSR3, "B": "csc"}),
    Row(
        "sddmm_csr",
        "C[i,j] = A[i,j] * B[i,k] * D[j,k]",
        {"A": "csr", "C": "csr"},
    ),
    # Element-wise.
    Row("add_csr_csr", "C[i,j] = A[i,j] + B[i,j]", _CSR3),
    Row("mul_csr_csr", "C[i,j] = A[i,j] * B[i,j]", _CSR3),
    # Three dimensions.
    Row("mttkrp_csf", "A[i,r] = X[i,j,k] * B[j,r] * C[k,r]", {"X": "csf"}),
    Row("ttv_csf", "A[i,j] = X[i,j,k] * v[k]", {"X": "csf", "A": "dcsr"}),
    Row("ttv_csf_dense", "A[i,j] = X[i,j,k] * v[k]", {"X": "csf"}),
    # Sums.
    Row("sum_csr", "s = A[i,j]", {"A": "csr"}),
    Row("sum_columns_csr", "y[i] = A[i,j]", {"A": "csr"}),
    Row("sum_rows_csr", "y[j] = A[i,j]", {"A": "csr"}),
)


def problems(row: Row) -> Iterator[Problem]:
    """Yield the problem of every combination of a row's dtypes.

    Parameters
    ----------
    row : Row
        A row of the manifest.

    Yields
    ------
    Problem
        In canonical names, as a call's own problem is.
    """
    stated = parse_assignment(row.expression)
    renamed, renaming = canonicalize(stated)
    assignment, tensors = separate_accesses(renamed)
    formats = {renaming.tensors[name]: format for name, format in row.formats.items()}
    for dtype in row.dtypes:
        for index_dtypes in row.index_dtypes:
            yield _problem(assignment, tensors, formats, dtype, index_dtypes)


def _problem(
    assignment: Assignment,
    tensors: dict[str, str],
    formats: dict[str, str],
    dtype: str,
    index_dtypes: tuple[str, str],
) -> Problem:
    def spec(tensor: str, ndim: int, index_dtype: str) -> TensorSpec:
        format = as_format(formats.get(tensor, "dense"), ndim)
        if not any(level.roles for level in format.levels):
            return TensorSpec(format, dtype)
        return TensorSpec(format, dtype, index_dtype)

    read = {a.tensor: len(a.indices) for a in accesses(assignment.value)}
    operands = tuple(
        (name, spec(tensor, read[name], index_dtypes[0]))
        for name, tensor in tensors.items()
    )
    target = assignment.target
    made = spec(target.tensor, len(target.indices), index_dtypes[1])
    return Problem(assignment, operands, made)
