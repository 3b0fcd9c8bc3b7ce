import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparray.compiler.index_notation.canonical import (
    canonicalize,
    index_name,
    operand_name,
    separate_accesses,
)
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.nodes import Access, Apply, Assignment
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.errors import DTypeError


def canonical_text(text):
    return print_assignment(canonicalize(parse_assignment(text))[0])


def test_names_follow_first_appearance():
    statement, renaming = canonicalize(
        parse_assignment("Z[x,y] = F[x,z] * F[z,y] * alpha")
    )
    assert print_assignment(statement) == "out[i,j] = sum(k, A[i,k] * A[k,j] * B)"
    assert renaming.tensors == {"F": "A", "alpha": "B", "Z": "out"}
    assert renaming.indices == {"x": "i", "y": "j", "z": "k"}


def test_statements_that_differ_in_names_become_equal():
    texts = ["y[a] = sum((b, c), T[a,c,b])", "out[i] = sum((q, p), A[i,q,p])"]
    assert canonical_text(texts[0]) == canonical_text(texts[1])


def test_swapped_canonical_names_are_renamed_at_once():
    assert canonical_text("out[j,i] = B[j,k] * A[k,i]") == (
        "out[i,j] = sum(k, A[i,k] * B[k,j])"
    )


def test_many_names_stay_distinct():
    assert len({index_name(n) for n in range(100)}) == 100
    assert len({operand_name(n) for n in range(100)}) == 100
    indices = tuple(f"x{n}" for n in range(64))
    statement = Assignment(Access("y", indices), Access("T", indices))
    renamed, _ = canonicalize(statement)
    assert renamed.target.indices[25:28] == ("h", "i26", "i27")


def test_each_distinct_access_becomes_an_operand():
    statement = parse_assignment("y[i,j] = A[i,k] * A[k,j] + A[i,k] * B[i,j]")
    separated, tensors = separate_accesses(statement)
    assert print_assignment(separated) == (
        "y[i,j] = sum(k, A[i,k] * B[k,j]) + sum(k, A[i,k] * C[i,j])"
    )
    assert tensors == {"A": "A", "B": "A", "C": "B"}


@given(data=st.data())
def test_the_value_does_not_change(safe_assignments, extents, data):
    # The factor keeps the result's shape and every operand in the statement.
    statement = data.draw(safe_assignments)
    everything = Access("E", statement.target.indices)
    statement = Assignment(
        statement.target, Apply("max", (statement.value, everything))
    )
    rng = np.random.default_rng(0)
    arrays = {
        a.tensor: rng.integers(-3, 4, [extents[i] for i in a.indices]).astype(float)
        for a in accesses(statement.value)
    }
    renamed, renaming = canonicalize(statement)
    separated, tensors = separate_accesses(renamed)
    canonical = {renaming.tensors[name]: array for name, array in arrays.items()}
    bound = {name: canonical[tensor] for name, tensor in tensors.items()}
    try:
        expected = evaluate(statement, arrays)
    except DTypeError:
        return
    np.testing.assert_array_equal(evaluate(renamed, canonical), expected)
    np.testing.assert_array_equal(evaluate(separated, bound), expected)
