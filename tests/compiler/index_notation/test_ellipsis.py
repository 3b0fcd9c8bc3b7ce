"""What `...` in einsum subscripts stands for."""

import pytest

from sparray.compiler.index_notation.einsum import parse_einsum
from sparray.compiler.index_notation.ellipsis import stretched_dimensions
from sparray.compiler.index_notation.printer import print_assignment
from sparray.errors import ExpressionError, ShapeError


@pytest.mark.parametrize(
    ("subscripts", "shapes", "printed"),
    [
        ("...", [(3, 4)], "out[d0,d1] = A[d0,d1]"),
        ("...i->...", [(3, 4)], "out[d0] = sum(i, A[d0,i])"),
        (
            "...ij,...jk",
            [(2, 3, 4), (4, 5)],
            "out[d0,i,k] = sum(j, A[d0,i,j] * B[j,k])",
        ),
        (
            "i...,...->...i",
            [(3, 1, 5), (4, 1)],
            "out[d0,d1,i] = A[i,0,d1] * B[d0,0]",
        ),
        ("...,...->...", [(1,), (1,)], "out[d0] = A[d0] * B[d0]"),
        ("i...->i", [(3,)], "out[i] = A[i]"),
    ],
)
def test_dimensions_of_an_ellipsis(subscripts, shapes, printed):
    stretched = stretched_dimensions(subscripts, shapes)
    made = parse_einsum(subscripts, len(shapes), stretched)
    assert print_assignment(made) == printed


@pytest.mark.parametrize(
    ("subscripts", "shapes", "error", "message"),
    [
        ("......", [(2,)], ExpressionError, "'...' once in a term"),
        ("ijk...", [(2, 2)], ExpressionError, "at least 3 dimensions for 'ijk...'"),
        ("...,...", [(2,), (3,)], ShapeError, "broadcast together"),
        ("...,...", [(2,)], ExpressionError, "expected 2 operands, got 1"),
        ("...i->i", [(2, 3)], ExpressionError, "'...' in the output as well"),
    ],
)
def test_what_an_ellipsis_cannot_stand_for(subscripts, shapes, error, message):
    with pytest.raises(error) as caught:
        parse_einsum(subscripts, len(shapes), stretched_dimensions(subscripts, shapes))
    assert message in str(caught.value)
