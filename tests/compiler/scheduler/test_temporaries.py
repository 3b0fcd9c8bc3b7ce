"""Formats of temporaries: no larger than what they are made of."""

import pytest

import sparray as sp
from sparray.compiler.problem import TensorSpec
from sparray.compiler.scheduler.temporaries import reordered
from sparray.formats import as_format

ROWS = [
    ("bcsr(2, 3)", 2, 1),
    ("dia", 2, 1),
    ("nm(2, 4)", 3, 2),
    ("bcsr(2, 2)", 3, 2),
    ("(i, j) -> (i: bitmap, j: compressed)", 2, 1),
    ("(i, j) -> (i // 2: compressed, j: compressed, i % 2: dense)", 2, 0),
    ("(i, j) -> (j - i: compressed, i: compressed)", 2, 0),
    ("(i, j, k) -> (i: dense, j // 2: compressed, j % 2: dense, k: dense)", 3, 1),
    ("(i, j) -> (i: hashed, j: compressed)", 2, 0),
]


@pytest.mark.parametrize(("format", "ndim", "n_dense"), ROWS)
def test_rows_are_dense_where_an_operand_has_room_for_all(format, ndim, n_dense):
    spec = TensorSpec(as_format(format, ndim), "float64", "int32")
    made = reordered(spec, range(ndim)).format
    assert [level.full for level in made.levels] == [
        depth < n_dense for depth in range(ndim)
    ]


def test_blocks_of_a_huge_array_are_added():
    """With a position for each of its rows the plan would be refused."""
    shape = (2**40, 2**40, 2**40)
    levels = "i // 9: compressed, j: compressed, i % 9: compressed, k: compressed"
    format = f"(i, j, k) -> ({levels})"
    a = sp.from_coords([[0], [5], [2**40 - 1]], [1.0], shape, format)
    b = sp.from_coords([[0], [5], [7]], [1.0], shape, "coo")
    assert (a + b).nnz == 2
