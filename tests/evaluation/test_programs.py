"""Several statements: computed one after the other, or put together."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import ExpressionError, ShapeError
from sparray.evaluation import programs
from sparray.evaluation.stored import dense_operand

CHAIN = "T[i,k] = A[i,j] * B[j,k]; C[i,l] = T[i,k] * D[k,l]"


@pytest.fixture
def operands():
    random = np.random.default_rng(5)
    A = random.random((4, 5)) * (random.random((4, 5)) < 0.5)
    return {
        "A": sp.array(A, format="csr"),
        "B": random.random((5, 6)),
        "D": random.random((6, 3)),
    }


def test_a_temporary_is_computed_once(operands):
    A, B, D = operands["A"].todense(), operands["B"], operands["D"]
    np.testing.assert_allclose(sp.compute(CHAIN, **operands), A @ B @ D)


def test_named_outputs_come_as_a_tuple(operands):
    T, C = sp.compute(CHAIN, outputs=("T", "C"), **operands)
    np.testing.assert_allclose(C, T @ operands["D"])
    (alone,) = sp.compute("a = b + 1", outputs=["a"], b=np.float64(2))
    assert alone == 3


def test_a_result_has_the_format_that_is_asked_for(operands):
    text = CHAIN.replace("C[i,l] =", "C[i,l] = S[i,l] *")
    S = sp.array(np.eye(4, 3), format="csr")
    result = sp.compute(text, format="coo", S=S, **operands)
    assert result.format == sp.array(np.eye(2), format="coo").format
    with pytest.raises(ExpressionError, match="expected one result to have it, got 2"):
        sp.compute(CHAIN, format="csr", outputs=("T", "C"), **operands)


def test_operands_are_named_as_the_program_reads_them(operands):
    with pytest.raises(ExpressionError, match="'T', which the program assigns"):
        sp.compute(CHAIN, T=operands["D"], **operands)
    with pytest.raises(ExpressionError, match="expected the operands A, B, D, got A"):
        sp.compute(CHAIN, A=operands["A"])


def test_extents_are_checked_before_anything_is_computed(operands):
    operands["D"] = np.ones((5, 3))
    with pytest.raises(ShapeError, match=r"extent 6 in T\[i,k\] and 5 in D"):
        sp.compute(CHAIN, **operands)


def test_numbers_that_differ_in_type_are_different_programs():
    x = np.array([2], dtype=np.int8)
    for number, dtype in (("1", np.int8), ("1.0", np.float64)):
        text = f"a[i] = x[i] + {number}; b[i] = a[i] * a[i]"
        assert sp.compute(text, x=x).dtype == dtype


ATTENTION = """
    S[i,j] = where(M[i,j], sum(d, Q[i,d] * K[j,d]), -inf)
    m[i] = max(j, S[i,j])
    E[i,j] = where(M[i,j], exp(S[i,j] - m[i]), 0)
    Z[i] = sum(j, E[i,j])
    O[i,d] = sum(j, E[i,j] * V[j,d]) / Z[i]
"""


def attention(mask, q, k, v):
    with np.errstate(all="ignore"):
        scores = np.where(mask, q @ k.T, -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.where(mask, weights, 0) @ v / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
def test_attention_is_right_for_masks_of_any_format(format):
    random = np.random.default_rng(11)
    mask = random.random((40, 30)) < 0.2
    mask[:, 0] = True
    # Scores whose exponentials would overflow.
    q, k, v = (random.normal(size=(n, 9)) * 30 for n in (40, 30, 30))
    M = sp.array(mask, format=format)
    with interpreted():
        found = sp.compute(ATTENTION, M=M, Q=q, K=k, V=v)
    np.testing.assert_allclose(found, attention(mask, q, k, v), rtol=1e-9, atol=1e-12)


def test_attention_is_one_compiled_kernel():
    random = np.random.default_rng(12)
    mask = random.random((300, 200)) < 0.05
    mask[:, 7] = True
    mask[5] = False
    q, k, v = (random.normal(size=(n, 33)) for n in (300, 200, 200))
    kernel = sp.compile(ATTENTION, M="csr")
    assert kernel.schedule.count("join(i") == 1
    assert "\n" not in kernel.schedule
    found = kernel(mask, q, k, v)
    assert np.isnan(found[5]).all()
    kept = np.arange(300) != 5
    expected = attention(mask, q, k, v)
    np.testing.assert_allclose(found[kept], expected[kept], rtol=1e-9, atol=1e-12)
    with pytest.raises(ExpressionError, match=r"expected 4 operands \(M, Q, K, V\)"):
        kernel(mask)
    with pytest.raises(ShapeError):
        kernel(mask, q, k[1:], v)


@pytest.mark.parametrize("format", ["csc", "coo", "dcsr", "dcsc", "bcsr(2, 2)", "csf"])
def test_attention_passes_over_masks_of_any_format_once(format):
    random = np.random.default_rng(13)
    mask = random.random((300, 200)) < 0.05
    mask[:, 7] = True
    q, k, v = (random.normal(size=(n, 33)) for n in (300, 200, 200))
    M = sp.array(mask, format=format)
    text = str(sp.explain(ATTENTION, M=M, Q=q, K=k, V=v))
    # The mask by rows, then all statements together.
    assert text.count("estimated cost") == 2
    assert "compute M_rows first: the others are one kernel" in text
    found = sp.compute(ATTENTION, M=M, Q=q, K=k, V=v)
    np.testing.assert_allclose(found, attention(mask, q, k, v), rtol=1e-9, atol=1e-12)


def test_no_rows_are_made_of_an_array_with_few_of_them():
    n = 10**7
    coords = np.array([[3, 10**6, n - 1], [0, 5, 7]])
    M = sp.from_coords(coords, np.ones(3), (n, 10), "dcsr")
    text = "S[i,j] = M[i,j] * x[j]; m[i] = sum(j, S[i,j]); Y[i,j] = S[i,j] / m[i]"
    result = sp.compute(text, M=M, x=np.arange(1.0, 11.0), format="dcsr")
    assert result.nbytes < 1000
    np.testing.assert_array_equal(result.values, np.ones(3))


def test_a_program_is_compiled_in_parts():
    text = "H[j,f] = X[j,k] * W[k,f]; Y[i,f] = relu(sum(j, A[i,j] * H[j,f]))"
    with interpreted():
        kernel = sp.compile(text, A="csr")
        assert kernel.index_notation.count("\n") == 1
        # H, then Y: as one kernel, or its sum first.
        n_kernels = len(kernel.schedule.splitlines())
        assert kernel.loops.count("function evaluate") == n_kernels
        assert n_kernels in (2, 3)
        x, w = np.eye(2), np.array([[1.0, -1.0], [2.0, 3.0]])
        a = np.array([[1.0, -1.0], [0.0, 0.5]])
        np.testing.assert_array_equal(kernel(x, w, a), np.maximum(a @ x @ w, 0))
    with pytest.raises(ExpressionError, match="expected formats of X, W, A, H, Y, got"):
        sp.compile(text, Z="csr")


def test_explain_says_what_is_one_kernel_and_what_is_not(operands):
    M = sp.array(np.eye(3), format="csr")
    q = np.ones((3, 2))
    text = sp.explain(ATTENTION, M=M, Q=q, K=q, V=q)
    assert "S, m, E, Z, O in one kernel" in text
    assert "t1[i,k]: a value for each entry of a row" in text
    apart = sp.explain(CHAIN, outputs=("T", "C"), **operands)
    assert "compute T first: it is a result" in apart
    copied = sp.explain("T[i] = x[i] + 1; U[i] = T[i] * 2; V[i] = x[i]", x=np.ones(2))
    assert "T, U: put where it is read, or read nowhere" in copied


def test_operands_with_the_same_levels_are_walked_together():
    A = sp.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]], format="csr")
    M = sp.from_buffers(A.format, A.shape, levels=A.levels, values=np.ones(3, bool))
    text = "R[i,j] = where(M[i,j], A[i,j] - x[i], 0); y[i] = sum(j, R[i,j] * R[i,j])"
    x = np.array([1.0, 2.0])
    given = {"A": A, "M": M, "x": x}
    assert programs.shared_levels(given) == {"A": 0, "M": 0}
    assert "R, y in one kernel" in sp.explain(text, **given)
    copied = sp.array(M.todense(), format="csr")
    assert "R, y in one kernel" not in sp.explain(text, **{**given, "M": copied})
    with interpreted():
        for mask in (M, copied):
            found = sp.compute(text, **{**given, "M": mask})
            np.testing.assert_array_equal(found, [1.0, 2.0])


def test_results_of_another_width_are_computed_apart():
    # What was made before is not what the kernel was planned for.
    A = sp.array(np.eye(3), format="csr")
    text = "T[i,j] = A[i,j] * x[j]; y[i] = sum(j, T[i,j] * T[i,j])"
    program = programs.parsed_program(text)
    with interpreted():
        first = {"A": A, "x": np.ones(3)}
        (planned,) = programs.group_runners(program, first, {})
        runner = programs.GroupRunner(planned.group, (), ())
        wide = sp.from_buffers(
            A.format,
            A.shape,
            levels=[{k: b.astype("int64") for k, b in lv.items()} for lv in A.levels],
            values=A.values,
        )
        arrays = {"A": wide, "x": np.ones(3)}
        runner.run(arrays, {})
        np.testing.assert_array_equal(arrays["y"].values, np.ones(3))
        assert not runner.kernel.fits([wide, dense_operand(np.ones(3))])


@pytest.mark.parametrize("format", ["dia", "bcsr(2, 2)", "nm(4, 4)"])
def test_levels_that_cannot_be_searched_may_be_read_in_windows(format):
    dense = np.array([[1.0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 4, 5], [6, 0, 0, 7]])
    text = sp.explain(
        "D[i,j] = A[i,j in 1:] - A[i,j in :-1]; y[i] = D[i,j] * D[i,j]",
        A=sp.array(dense, format=format),
    )
    assert "for which its levels cannot be searched" in text
