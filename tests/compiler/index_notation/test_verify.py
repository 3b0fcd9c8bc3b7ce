import pytest

from sparray.compiler.index_notation.nodes import Access, Assignment, Reduce
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.verify import index_extents, verify
from sparray.errors import ExpressionError, ShapeError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y[i,i] = A[i]", "output index 'i' is repeated"),
        ("y[i] = A[j]", "output index 'i' is absent on the right"),
        ("y[i] = y[i] + A[i]", "the result 'y' is read on the right"),
        ("y[i] = sum(i, A[i])", "index 'i' is reduced where it already has a value"),
        (
            "y = sum(i, A[i] * sum(i, A[i]))",
            "index 'i' is reduced where it already has a value",
        ),
    ],
)
def test_statements_without_one_meaning(text, message):
    with pytest.raises(ExpressionError) as caught:
        verify(parse_assignment(text))
    assert message in str(caught.value)
    assert str(caught.value).splitlines()[1].startswith("  y")


def test_an_unbound_index():
    with pytest.raises(ExpressionError, match="'k' is neither in the result nor"):
        verify(Assignment(Access("y", ()), Access("A", ("k",))))


def test_a_reduced_index_without_extent():
    value = Reduce("add", ("k",), Access("a", ()))
    with pytest.raises(ExpressionError, match="the reduced index 'k' is in no tensor"):
        verify(Assignment(Access("y", ()), value))


PRODUCT = "C[i,j] = A[i,k] * B[k,j]"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            {"A": (2, 3), "B": (4, 5)},
            "index 'k' has extent 3 in A[i,k] and 4 in B[k,j]",
        ),
        ({"A": (2,), "B": (4, 5)}, "A[i,k]: expected 1 indices"),
        ({"A": (2, 3)}, "tensor 'B' has no operand"),
        (
            {"A": (2, 3), "B": (3, 5), "C": (2, 6)},
            "index 'j' has extent 5 in B[k,j] and 6 in C[i,j]",
        ),
    ],
)
def test_shapes_that_do_not_fit(shapes, message):
    with pytest.raises(ShapeError) as caught:
        verify(parse_assignment(PRODUCT), shapes)
    assert message in str(caught.value)
    assert str(caught.value).splitlines()[1] == "  C[i,j] = sum(k, A[i,k] * B[k,j])"


def test_the_diagonal_of_a_matrix_that_is_not_square():
    with pytest.raises(ShapeError, match=r"extent 2 in .* and 3 in"):
        verify(parse_assignment("y[i] = A[i,i]"), {"A": (2, 3)})


def test_extents_begin_with_the_target():
    statement = parse_assignment("C[j,i] = A[i,k] * B[k,j]")
    extents = index_extents(statement, {"A": (2, 0), "B": (0, 5)})
    assert list(extents.items()) == [("j", 5), ("i", 2), ("k", 0)]


def test_the_target_shape_says_how_far_to_broadcast():
    statement = parse_assignment("C[i,j] = A[i]")
    verify(statement, {"A": (2,), "C": (2, 3)})
    assert index_extents(statement, {"A": (2,), "C": (2, 3)}) == {"i": 2, "j": 3}
