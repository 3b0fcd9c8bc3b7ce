"""Every operator in every format: values and gradients like dense torch's."""

import pytest
import torch
from torch.nn import functional

import sparray.torch as spt

from .conftest import dense, flat, full, gapped

FORMATS = ["csr", "csc", "coo", "dcsr"]

# name -> (function of the sparse matrix W and dense operands, their shapes)
OPERATORS = {
    "mm": (lambda W, x: W @ x, [(7, 5)]),
    "mv": (torch.mv, [(7,)]),
    "dense @ sparse": (lambda W, x: torch.matmul(x, W), [(5, 6)]),
    "vector @ sparse": (lambda W, x: x @ W, [(6,)]),
    "batch on the right": (lambda W, x: W @ x, [(2, 7, 5)]),
    "batch on the left": (lambda W, x: x @ W, [(2, 3, 6)]),
    "transposed": (lambda W, x: W.t() @ x, [(6, 5)]),
    "addmm": (lambda W, x, b: torch.addmm(b, W, x, beta=2, alpha=3), [(7, 5), (5,)]),
    "einsum": (lambda W, x: torch.einsum("ij,kj->ki", W, x), [(5, 7)]),
    "sampled": (
        lambda W, x, y: torch.einsum("ij,ik,jk->ij", W, x, y),
        [(6, 3), (7, 3)],
    ),
    "einsum with a lone index": (
        lambda W, x: torch.einsum("ij,k->i", W, x),
        [(3,)],
    ),
    "linear": (lambda W, x, b: functional.linear(x, W, b), [(5, 7), (6,)]),
    "linear without bias": (lambda W, x: functional.linear(x, W), [(5, 7)]),
    "linear of a batch": (
        lambda W, x, b: functional.linear(x, W, b),
        [(2, 3, 7), (6,)],
    ),
    "linear of columns": (
        lambda W, x, b: functional.linear(x.t(), W, b),
        [(7, 5), (6,)],
    ),
    "linear of a vector": (lambda W, x, b: functional.linear(x, W, b), [(7,), (6,)]),
    "linear of a sparse input": (
        lambda W, w, b: functional.linear(W, w, b),
        [(5, 7), (5,)],
    ),
    "+ dense": (lambda W, x: W + x, [(6, 7)]),
    "+ row": (lambda W, x: x + W, [(7,)]),
    "- column": (lambda W, x: torch.sub(W, x, alpha=2), [(6, 1)]),
    "dense -": (lambda W, x: x - W, [(6, 7)]),
    "* dense": (lambda W, x: W * x, [(6, 7)]),
    "* row": (lambda W, x: W * x, [(7,)]),
    "* column": (lambda W, x: x * W, [(6, 1)]),
    "/ column": (lambda W, x: W / (x * x + 1), [(6, 1)]),
    "numbers": (lambda W: 2 * W / 3 - (-W), []),
    "sum over rows": (lambda W: W.sum(0), []),
    "sum over columns": (lambda W: torch.sum(W, dim=1, keepdim=True), []),
    "sum": (lambda W: W.sum(), []),
    "mean": (lambda W: W.mean(-1), []),
    "relu": (functional.relu, []),
    "abs": (abs, []),
    "square": (lambda W: W**2, []),
    "tanh": (torch.tanh, []),
    "T": (lambda W: W.T, []),
    "to_dense": (lambda W: W.to_dense(), []),
}

PAIRS = {
    "sparse @ sparse": (lambda A, B: A @ B, (7, 5)),
    "sparse + sparse": (lambda A, B: A + B, (6, 7)),
    "sparse - sparse": (lambda A, B: A - B, (6, 7)),
    "sparse * sparse": (lambda A, B: A * B, (6, 7)),
    "einsum of two": (lambda A, B: torch.einsum("ij,kj->ik", A, B), (5, 7)),
}

# In every format on every run; the rest of the table where `slow` tests run.
ALWAYS = {"mm", "linear", "* dense", "+ row", "sum over rows", "sparse * sparse"}


def table(operators):
    return [
        pytest.param(
            name,
            format,
            marks=() if name in ALWAYS or format == "csr" else (pytest.mark.slow,),
            id=f"{name}, {format}",
        )
        for name in operators
        for format in FORMATS
    ]


def check(function, sparse, operands):
    """Compare with dense torch, forward and backward, without any fallback."""
    leaves = [tensor.values().requires_grad_() for tensor in sparse]
    others = [operand.clone().requires_grad_() for operand in operands]

    def compute(*given):
        made = [t.with_values(v) for t, v in zip(sparse, given, strict=False)]
        return function(*made, *given[len(sparse) :])

    with spt.strict():
        got = compute(*leaves, *others)
        expected = function(*(tensor.to_dense() for tensor in sparse), *others)
        torch.testing.assert_close(dense(got), expected)
        assert torch.autograd.gradcheck(
            lambda *given: flat(compute(*given)), (*leaves, *others)
        )
        weights = full(*expected.shape, seed=3)
        ours = torch.autograd.grad((dense(got) * weights).sum(), [*leaves, *others])
        theirs = torch.autograd.grad((expected * weights).sum(), [*leaves, *others])
        for mine, reference in zip(ours, theirs, strict=True):
            torch.testing.assert_close(mine, reference)
    return compute, (*leaves, *others)


@pytest.mark.parametrize("name, format", table(OPERATORS))
def test_operator(name, format):
    function, shapes = OPERATORS[name]
    W = spt.tensor(gapped(6, 7), format)
    operands = [full(*shape, seed=n) for n, shape in enumerate(shapes)]
    check(function, [W], operands)


@pytest.mark.parametrize("name, format", table(PAIRS))
def test_pair(name, format):
    function, shape = PAIRS[name]
    A = spt.tensor(gapped(6, 7), format)
    B = spt.tensor(gapped(*shape, seed=5), format)
    check(function, [A, B], [])


@pytest.mark.parametrize("name", ["sparse @ sparse", "sparse + sparse"])
def test_pair_of_different_formats(name):
    function, shape = PAIRS[name]
    A = spt.tensor(gapped(6, 7), "csr")
    B = spt.tensor(gapped(*shape, seed=5), "coo")
    check(function, [A, B], [])


@pytest.mark.parametrize("name", ["mm", "linear", "sampled", "* dense"])
def test_second_derivatives(name):
    function, shapes = OPERATORS[name]
    W = spt.tensor(gapped(6, 7), "csr")
    operands = [full(*shape, seed=n) for n, shape in enumerate(shapes)]
    compute, leaves = check(function, [W], operands)
    assert torch.autograd.gradgradcheck(lambda *given: flat(compute(*given)), leaves)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", PAIRS)
def test_second_derivatives_of_pairs(name, format):
    function, shape = PAIRS[name]
    tensors = [
        spt.tensor(gapped(6, 7), format),
        spt.tensor(gapped(*shape, seed=5), format),
    ]
    compute, leaves = check(function, tensors, [])
    assert torch.autograd.gradgradcheck(lambda *given: flat(compute(*given)), leaves)


@pytest.mark.parametrize(
    "equation, shapes", [("ijk,jr,kr->ir", [(4, 3), (5, 3)]), ("ijk,k->ij", [(5,)])]
)
def test_einsum_of_three_dimensions(equation, shapes):
    W = spt.tensor(gapped(6, 4, 5), "csf")
    operands = [full(*shape, seed=n) for n, shape in enumerate(shapes)]
    check(lambda W, *given: torch.einsum(equation, W, *given), [W], operands)


def test_sum_of_three_dimensions():
    W = spt.tensor(gapped(6, 4, 5), "csf")
    check(lambda W: W.sum((0, 2)), [W], [])
    check(lambda W: W.permute(2, 0, 1), [W], [])


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (3, 4)])
def test_nothing_stored(shape):
    W = spt.tensor(torch.zeros(shape, dtype=torch.float64), "csr")
    check(lambda W, x: W @ x, [W], [full(shape[1], 2)])
    check(lambda W, x: W * x, [W], [full(*shape)])


def test_a_broadcast_sparse_row():
    row = spt.tensor(gapped(2, 7)[1:], "csr")
    check(lambda W, x: W * x, [row], [full(6, 7)])
    check(lambda W, x: x - W, [row], [full(6, 7)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex128])
def test_dtypes(dtype):
    elements = gapped(6, 7).mul(4).round().to(dtype)
    other = full(7, 5).mul(4).round().to(dtype)
    W = spt.tensor(elements)
    made = W @ other
    assert made.dtype == dtype
    torch.testing.assert_close(made, elements @ other)


def test_complex_gradients():
    elements = torch.complex(gapped(4, 5), gapped(4, 5))
    other = torch.complex(full(5, 3), full(5, 3, seed=9)).requires_grad_()
    W = spt.tensor(elements, requires_grad=True)
    for function in (lambda v, x: W.with_values(v) @ x, lambda v, x: W * x[:, 0]):
        assert torch.autograd.gradcheck(
            lambda *given, f=function: flat(f(*given)), (W.values(), other)
        )


def test_real_operands_of_a_complex_product_get_real_gradients():
    x = torch.complex(full(7, 3), full(7, 3, seed=9))
    W = spt.tensor(gapped(6, 7), requires_grad=True)
    reference = W.to_dense().detach().requires_grad_()
    (W * x[:, 0]).abs().sum().backward()
    (reference * x[:, 0]).abs().sum().backward()
    stored = reference != 0
    torch.testing.assert_close(W.grad.to_dense()[stored], reference.grad[stored])


def test_mixed_dtypes_promote_as_torch_does():
    W = spt.tensor(gapped(6, 7, dtype=torch.float32))
    numbers = torch.ones(6, 7, dtype=torch.int64)
    assert (W + numbers).dtype == torch.float32
    assert (W * numbers.double()).dtype == torch.float64
    assert (spt.tensor(torch.eye(3).long()) / 2).dtype == torch.float32


def test_a_large_pattern_is_kept_in_two_orders():
    # Past this many entries the transposed product gathers instead of scattering.
    from sparray.torch.layouts import WORTH_REORDERING

    elements = gapped(150, 120, density=0.5)
    W = spt.tensor(elements, "csr", requires_grad=True)
    assert W.nnz > WORTH_REORDERING
    x = full(120, 4).requires_grad_()
    reference = elements.clone().requires_grad_()
    y = x.detach().clone().requires_grad_()
    weights = full(150, 4, seed=8)
    for _ in range(2):
        ((W @ x) * weights).sum().backward()
        ((reference @ y) * weights).sum().backward()
        with torch.no_grad():
            # Values may change on every step.
            W.values().mul_(2)
            reference.mul_(2)
    torch.testing.assert_close(x.grad, y.grad)
    stored = elements != 0
    torch.testing.assert_close(W.grad.to_dense()[stored], reference.grad[stored])


PADDED = ["bcsr(2, 2)", "ell", "dia", "bitmap"]


@pytest.mark.parametrize("format", PADDED)
def test_formats_that_kernels_do_not_read_are_converted(format):
    elements = gapped(6, 8)
    W = spt.tensor(elements, format, requires_grad=True)
    x = full(8, 3).requires_grad_()
    stored = elements != 0
    for _ in range(2):
        W.grad = x.grad = None
        with spt.strict():
            made = W @ x
            made.backward(torch.ones_like(made))
        torch.testing.assert_close(made, elements @ x)
        torch.testing.assert_close(x.grad, elements.T @ torch.ones_like(made))
        reference = torch.ones_like(made) @ x.detach().T
        assert W.grad.format == W.format
        torch.testing.assert_close(W.grad.to_dense()[stored], reference[stored])
