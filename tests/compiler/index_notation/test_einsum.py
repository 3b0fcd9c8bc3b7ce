import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparray.compiler.index_notation.einsum import parse_einsum
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.printer import print_assignment
from sparray.errors import ExpressionError


@pytest.mark.parametrize(
    ("subscripts", "count", "printed"),
    [
        ("ik,kj,ij->ij", 3, "out[i,j] = sum(k, A[i,k] * B[k,j] * C[i,j])"),
        (" i k , k j -> i j ", 2, "out[i,j] = sum(k, A[i,k] * B[k,j])"),
        ("ba,b", 2, "out[a] = sum(b, A[b,a] * B[b])"),
        ("ba", 1, "out[a,b] = A[b,a]"),
        ("ii", 1, "out = sum(i, A[i,i])"),
        ("ii->i", 1, "out[i] = A[i,i]"),
        ("ij->", 1, "out = sum((i, j), A[i,j])"),
        (",i->i", 2, "out[i] = A * B[i]"),
        ("A,B", 2, "out[A_,B_] = A[A_] * B[B_]"),
    ],
)
def test_subscripts(subscripts, count, printed):
    assert print_assignment(parse_einsum(subscripts, count)) == printed


@pytest.mark.parametrize(
    ("subscripts", "count", "message"),
    [
        ("ij,jk->ii", 2, "expected distinct output indices, got 'i' twice"),
        ("ij->ik", 1, "output index 'k' is in no operand"),
        ("ij,jk", 3, "expected 2 operands, got 3"),
        ("...i->i", 1, "'...' stands for what the operands' shapes say"),
        ("i.j->i", 1, "expected a letter, '...', ',' or '->', got '.'"),
        ("ij-ji", 1, "got '-'"),
        ("ij->i->j", 1, "got '-'"),
        ("ij->i,j", 1, "got ','"),
        ("i1", 1, "got '1'"),
        ("é", 1, "got 'é'"),
        (",".join(["i"] * 200), 200, "expected at most 100 operands"),
        (None, 1, "expected a str, got NoneType"),
    ],
)
def test_malformed(subscripts, count, message):
    with pytest.raises(ExpressionError) as caught:
        parse_einsum(subscripts, count)
    assert message in str(caught.value)


@given(st.data())
def test_agrees_with_numpy(data):
    letters = st.lists(st.sampled_from("ijkB"), max_size=3).map("".join)
    terms = data.draw(st.lists(letters, min_size=1, max_size=3))
    kept = sorted(set("".join(terms)))
    output = data.draw(
        st.lists(st.sampled_from(kept), unique=True) if kept else st.just([])
    )
    arrow = data.draw(st.sampled_from(["", f"->{''.join(output)}"]))
    subscripts = ",".join(terms) + arrow
    extents = {"i": 2, "j": 3, "k": 1, "B": 4}
    arrays = [
        np.arange(
            1, 1 + np.prod([extents[c] for c in term], dtype=int), dtype=float
        ).reshape([extents[c] for c in term])
        for term in terms
    ]
    statement = parse_einsum(subscripts, len(terms))
    result = evaluate(statement, dict(zip("ABC", arrays, strict=False)))
    np.testing.assert_allclose(result, np.einsum(subscripts, *arrays))
