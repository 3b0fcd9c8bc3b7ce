import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparray.compiler.index_notation.nodes import Access, Apply, Literal, Reduce
from sparray.compiler.index_notation.parser import MAX_DEPTH, parse_assignment
from sparray.compiler.index_notation.printer import print_assignment
from sparray.errors import ExpressionError, SparrayError

A, B, C = (Access(name, ("i",)) for name in "ABC")


def value(text):
    return parse_assignment(f"y[i] = {text}").value


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("y[i] = A[i,j]*x[j] + b[i]", "y[i] = sum(j, A[i,j] * x[j]) + b[i]"),
        ("y[i] = b[i] - -A[i,j]", "y[i] = b[i] - -sum(j, A[i,j])"),
        ("y[i] = exp(A[i,j])", "y[i] = sum(j, exp(A[i,j]))"),
        ("y[i] = (A[i,j] + b[i])*x[j]", "y[i] = sum(j, (A[i,j] + b[i]) * x[j])"),
        ("y = A[k,l]", "y = sum((k, l), A[k,l])"),
        (
            "y[i] = sum(j, A[i,j]*x[j] + B[j,k])",
            "y[i] = sum(j, A[i,j] * x[j] + sum(k, B[j,k]))",
        ),
        ("y[i] = max(j, A[i,j]*B[j,k])", "y[i] = sum(k, max(j, A[i,j] * B[j,k]))"),
        ("C[i,j] = alpha[] * A[i,j]", "C[i,j] = alpha * A[i,j]"),
    ],
)
def test_a_missing_index_is_summed_in_its_additive_term(text, printed):
    assert print_assignment(parse_assignment(text)) == printed


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A[i] - B[i] - C[i]", Apply("sub", (Apply("sub", (A, B)), C))),
        ("A[i] + B[i] * C[i]", Apply("add", (A, Apply("mul", (B, C))))),
        ("A[i] ** B[i] ** C[i]", Apply("pow", (A, Apply("pow", (B, C))))),
        ("-A[i] ** B[i]", Apply("neg", (Apply("pow", (A, B)),))),
        ("A[i] ** -B[i]", Apply("pow", (A, Apply("neg", (B,))))),
        ("-A[i] * B[i]", Apply("mul", (Apply("neg", (A,)), B))),
        ("A[i] < B[i] & C[i]", Apply("and", (Apply("lt", (A, B)), C))),
        ("A[i] | B[i] & C[i]", Apply("or", (A, Apply("and", (B, C))))),
        ("~A[i] == B[i]", Apply("eq", (Apply("not", (A,)), B))),
        ("min(A[i], B[i])", Apply("min", (A, B))),
        ("add(A[i], B[i])", Apply("add", (A, B))),
        ("min(A[i], a)", Apply("min", (A, Access("a", ())))),
        ("-2", Literal(-2)),
        ("-(2)", Apply("neg", (Literal(2),))),
        ("-2 ** A[i]", Apply("neg", (Apply("pow", (Literal(2), A)),))),
        ("1.5e-3j", Literal(1.5e-3j)),
        ("complex(1, -2)", Literal(1 - 2j)),
        ("True", Literal(True)),
        ("exp[i]", Access("exp", ("i",))),
    ],
)
def test_operators_bind_as_in_the_table(text, tree):
    assert value(text) == tree


@pytest.mark.parametrize(
    ("word", "op"),
    [
        ("sum", "add"),
        ("prod", "mul"),
        ("min", "min"),
        ("max", "max"),
        ("all", "and"),
        ("any", "or"),
    ],
)
def test_reductions(word, op):
    operand = Access("T", ("i", "j", "k"))
    assert value(f"{word}((j, k), T[i,j,k])") == Reduce(op, ("j", "k"), operand)
    assert value(f"{word}(j, {word}(k, T[i,j,k]))") == Reduce(
        op, ("j",), Reduce(op, ("k",), operand)
    )


MALFORMED = [
    ("", "expected the name of the result, got the end"),
    ("   ", "expected the name of the result, got the end"),
    ("3 = A[i]", "expected the name of the result, got '3'"),
    ("True = a", "expected the name of the result, got 'True'"),
    ("y[i] A[i]", "expected '=', got 'A'"),
    ("y[i] += A[i]", "expected '=', got '+'"),
    ("y[i] =", "expected an operand, got the end"),
    ("y[i] = A[i] +", "expected an operand, got the end"),
    ("y[i] = A[i", "expected ',' or ']', got the end"),
    ("y[i] = A[i,]", "expected the name of an index, got ']'"),
    ("y[i] = A[3.5]", "expected an integer, got '3.5'"),
    ("y[i] = A[i]]", "expected an operator or the end, got ']'"),
    ("y[i] = (A[i]", "expected ')', got the end"),
    ("y[i] = A[i] B[i]", "expected an operator or the end, got 'B'"),
    ("y[i] = A[i] = B[i]", "expected an operator or the end, got '='"),
    ("y[i] = A(i)", "unknown function 'A'"),
    ("y[i] = choose(c, a, b)", "unknown function 'choose'"),
    ("y[i] = where(c, a)", "where: expected 3 operands, got 2"),
    ("y[i] = exp", "expected '(' after the function 'exp'"),
    ("y[i] = exp()", "expected an operand, got ')'"),
    ("y[i] = exp(A[i], B[i])", "exp: expected 1 operands, got 2"),
    ("y[i] = max(A[i])", "max: expected 2 operands, got 1"),
    ("y[i] = max(i)", "expected ',', got ')'"),
    ("y = sum(A[i])", "expected an index, as in sum(j, A[i,j]), got 'A'"),
    ("y[i] = sum(j, A[i])", "got 'j', which no tensor has"),
    ("y[i] = sum((j, j), A[i,j])", "expected distinct indices, got j, j"),
    ("y[i] = i * A[i]", "expected a value, got 'i', which is an index"),
    ("i[i] = A[i]", "expected the result, got 'i', which is an index"),
    ("y[i] = A[i] < B[i] < C[i]", "comparisons do not chain"),
    ("y[i] = A[i] == B[i] != C[i]", "comparisons do not chain"),
    ("y[i] = 2A[i]", "expected an operator after a number, got 'A'"),
    ("y[i] = A[i] ; drop", "expected a name, number or operator, got ';'"),
    ("y[i] = Ä[i]", "expected a name, number or operator, got 'Ä'"),
    ("y[i] = A[i]\x00", "expected a name, number or operator"),
    ("y[i] = __import__('os')", "expected a name, number or operator"),
    ("y = 9223372036854775808", "expected an integer below 2**63"),
    ("y = " + "9" * 10_000, "expected an integer below 2**63"),
    ("y = complex(a, 1)", "complex: expected two real numbers"),
    ("y = complex(1j, 1)", "complex: expected two real numbers"),
    ("y = " + "(" * 5000 + "a" + ")" * 5000, "nested parentheses"),
    ("y = " + "-" * 5000 + "a", "nested parentheses"),
    ("y = " + "exp(" * 5000, "nested parentheses"),
    ("y = a" + "+a" * 5000, "nested operations"),
    ("y = a" + "**a" * 5000, "nested parentheses"),
]


@pytest.mark.parametrize(("text", "message"), MALFORMED)
def test_malformed(text, message):
    with pytest.raises(ExpressionError) as caught:
        parse_assignment(text)
    assert message in str(caught.value)


def test_the_caret_stands_below_the_place():
    with pytest.raises(ExpressionError) as caught:
        parse_assignment("y[i] = A[i] * ) + b")
    _, shown, caret = str(caught.value).splitlines()
    assert shown[caret.index("^")] == ")"


def test_not_a_string():
    with pytest.raises(ExpressionError, match="expected a str, got int"):
        parse_assignment(3)


def test_the_deepest_tree_that_is_accepted():
    parse_assignment("y = a" + "+a" * (MAX_DEPTH - 1))
    with pytest.raises(ExpressionError):
        parse_assignment("y = a" + "+a" * MAX_DEPTH)


@given(st.text(alphabet="ijAB[](),=+-*/<>&|~ .e1jsum\n", max_size=40))
def test_any_text_is_a_tree_or_a_named_error(text):
    try:
        assignment = parse_assignment(f"y[i] = {text}")
    except SparrayError:
        return
    assert parse_assignment(print_assignment(assignment)) == assignment
