"""`torch.func`, `torch.compile` and `torch.export` of functions of sparse tensors."""

import copy
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional

import sparray.torch as spt
from sparray.evaluation.expression import assignment_expression
from sparray.torch import custom_ops

from .conftest import full, gapped

pytestmark = pytest.mark.filterwarnings("error::sparray.errors.SparrayWarning")

FORMATS = ["csr", "bcsr(2, 2)"]


@pytest.fixture(autouse=True)
def _forgotten():
    # Graphs of other tests count towards a function's limit.
    torch._dynamo.reset()


def pair(format="csr"):
    """Return a sparse weight, and the same as a dense one."""
    W = spt.tensor(gapped(8, 12), format, requires_grad=True)
    return W, W.to_dense().detach().requires_grad_()


class Net(nn.Module):
    def __init__(self, format="csr"):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(12, 8, dtype=torch.float64)
        self.first.weight = nn.Parameter(spt.tensor(gapped(8, 12), format))
        self.second = nn.Linear(8, 2, dtype=torch.float64)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


# torch.func


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("of_x", "out"), [(0, 0), (1, 2)])
def test_vmap_over_the_dense_operand(format, of_x, out):
    W, D = pair(format)
    shape = [12, 3]
    shape.insert(of_x, 5)
    x = full(*shape)
    made, expected = (
        torch.func.vmap(lambda x, w=w: w @ x, in_dims=of_x, out_dims=out)(x)
        for w in (W, D)
    )
    torch.testing.assert_close(made, expected)
    made.square().sum().backward()
    expected.square().sum().backward()
    kept = W.detach().to_dense() != 0
    torch.testing.assert_close(W.grad.to_dense()[kept], D.grad[kept])


def test_vmap_of_layers_and_of_two_dense_operands():
    W, D = pair()
    x, b = full(5, 4, 12), full(5, 8)
    made = torch.func.vmap(functional.linear, in_dims=(0, None, 0))(x, W, b)
    expected = torch.func.vmap(functional.linear, in_dims=(0, None, 0))(x, D, b)
    torch.testing.assert_close(made, expected)
    nested = torch.func.vmap(torch.func.vmap(lambda x: W @ x))
    torch.testing.assert_close(nested(x), x @ D.T)
    assert torch.func.vmap(lambda x: W @ x)(full(0, 12)).shape == (0, 8)


def test_vmap_of_a_sparse_result_is_one_evaluation_each():
    W, D = pair()
    x = full(5, 12)
    made = torch.func.vmap(lambda x: (W * x).to_dense())(x)
    torch.testing.assert_close(made, D * x[:, None])


def test_functional_gradients_with_regard_to_either():
    W, D = pair()
    x = full(5, 12)

    def loss(x, w):
        return (w @ x).square().sum()

    def of_values(values, x):
        return loss(x, W.with_values(values))

    # The sparse tensor is not an argument: torch would wrap it as a dense one.
    made, expected = (
        torch.func.vmap(torch.func.grad(lambda x, w=w: loss(x, w)))(x)
        for w in (W.detach(), D.detach())
    )
    torch.testing.assert_close(made, expected)
    each = torch.func.vmap(torch.func.grad(of_values), in_dims=(None, 0))
    made = each(W.values().detach(), x)
    expected = torch.func.vmap(torch.func.grad(loss, argnums=1), in_dims=(0, None))
    torch.testing.assert_close(
        made, expected(x, D.detach())[:, W.detach().to_dense() != 0]
    )
    second, other = (
        torch.func.jacrev(torch.func.grad(lambda x, w=w: loss(x, w)))(x[0])
        for w in (W.detach(), D.detach())
    )
    torch.testing.assert_close(second, other)


def test_a_program_of_several_models_is_functional():
    model = Net()
    made = torch.func.functional_call(
        model, dict(model.named_parameters()), full(3, 12)
    )
    torch.testing.assert_close(made, model(full(3, 12)))


# torch.compile


@pytest.mark.parametrize(
    "format", ["csr", pytest.param("bcsr(2, 2)", marks=pytest.mark.slow)]
)
def test_compiled_models_train_as_others_do(format):
    plain = Net(format)
    model = copy.deepcopy(plain)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    optimizers = [torch.optim.AdamW(m.parameters(), lr=0.1) for m in (plain, model)]
    for seed in range(3):
        for one, optimizer in zip((plain, compiled), optimizers, strict=True):
            optimizer.zero_grad()
            one(full(4 + seed, 12, seed=seed)).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(model.first.weight.values(), plain.first.weight.values())
    torch.testing.assert_close(model.first.bias, plain.first.bias)
    assert model.first.weight.grad.format == plain.first.weight.format


@pytest.mark.slow
def test_another_pattern_is_another_graph():
    model = Net()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    x = full(3, 12)
    for sparsifier in (spt.Magnitude(0.7), spt.Magnitude(0.9)):
        torch.testing.assert_close(compiled(x), model(x))
        spt.sparsify_(model, {"first.weight": spt.Sparse(sparsifier)})
        compiled(x).sum().backward()
        grads = copy.deepcopy(model.first.weight.grad)
        model.zero_grad()
        model(x).sum().backward()
        torch.testing.assert_close(grads.to_dense(), model.first.weight.grad.to_dense())
        model.zero_grad()


def test_compiled_functions_of_other_operators():
    W, D = pair()

    def function(W, x):
        return (2.0 * W @ x).sum() + (W @ W.T).to_dense().sum() + (W * W).sum()

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    x = full(12, 3)
    made, expected = compiled(W, x), function(D, x)
    torch.testing.assert_close(made, expected)
    made.backward()
    expected.backward()
    kept = W.detach().to_dense() != 0
    torch.testing.assert_close(W.grad.to_dense()[kept], D.grad[kept])


def test_hooks_and_frozen_weights_are_respected():
    W, _ = pair()
    compiled = torch.compile(lambda W, x: W @ x, fullgraph=True, backend="aot_eager")
    seen = []
    handle = W.register_hook(lambda grad: seen.append(grad.nnz))
    compiled(W, full(12, 3)).sum().backward()
    assert seen == [W.nnz] and W.grad is not None
    handle.remove()
    W.grad = None
    W.requires_grad_(False)
    x = full(12, 3).requires_grad_()
    compiled(W, x).sum().backward()
    assert W.grad is None and x.grad is not None
    W.requires_grad_()
    compiled(W, x).sum().backward()
    assert W.grad is not None


def test_the_operator_passes_torchs_own_checks():
    W, _ = pair()
    product = assignment_expression("C[i,j] = A[i,k] * B[k,j]")
    call = custom_ops._call(product, (W.pattern, None), None, frozenset())
    given = [W.values().detach().requires_grad_(), full(12, 3).requires_grad_()]
    torch.library.opcheck(
        torch.ops.sparray.evaluate.default,
        (given, call.number),
        test_utils=("test_schema", "test_faketensor"),
    )
    with pytest.raises(NotImplementedError, match="in this process"):
        torch.ops.sparray.evaluate(given, 10**9)


INDUCTOR = """
import sys, torch, sparray.torch as spt
torch.manual_seed(int(sys.argv[1]))
W = torch.randn(8, 12) * (torch.rand(8, 12) < 0.4)
W = spt.tensor(W, "csr", requires_grad=True)
f = torch.compile(lambda W, x: torch.relu(W @ x), fullgraph=True)
x = torch.randn(12, 3)
made = f(W, x)
made.sum().backward()
D = W.to_dense().detach().requires_grad_()
torch.relu(D @ x).sum().backward()
assert torch.allclose(made, torch.relu(D @ x), atol=1e-5)
assert torch.allclose(W.grad.values(), D.grad[D != 0], atol=1e-5)
"""


@pytest.mark.slow
def test_inductor_compiles_it_and_its_cache_confuses_no_patterns(tmp_path):
    for seed in ("0", "1"):
        made = subprocess.run(
            [sys.executable, "-c", INDUCTOR, seed],
            capture_output=True,
            text=True,
            timeout=300,
            env={**__import__("os").environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)},
        )
        assert made.returncode == 0, made.stderr[-2000:]


# torch.export


def test_an_exported_program_computes_and_holds_one_operator():
    model, x = Net(), full(3, 12)
    program = torch.export.export(spt.unwrap_(copy.deepcopy(model)), (x,))
    names = [str(node.target) for node in program.graph.nodes]
    assert sum("sparray.evaluate" in name for name in names) == 1
    torch.testing.assert_close(program.module()(x), model(x))
    torch.testing.assert_close(program.module()(2 * x), model(2 * x))
