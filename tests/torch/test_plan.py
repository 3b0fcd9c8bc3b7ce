"""Plans for gradients, and for functions that modules call."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn import functional

import sparray.torch as spt
from sparray.errors import PatternError, PlanError, ScoreError
from sparray.torch.inner_functions import functions_of

QUARTER = spt.Sparse(spt.Magnitude(0.75))


class Block(nn.Module):
    """Two linear layers with functions between, and a branch."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x):
        h = functional.relu(self.first(x) + 0.1)
        h = functional.dropout(h, 0.5, self.training)
        return functional.relu(self.second(h)) * 2


class Branching(Block):
    """What `torch.fx` cannot trace."""

    def forward(self, x):
        if x.sum() > 1e9:
            return x
        return super().forward(x)


def model(kind=Block):
    torch.manual_seed(0)
    return nn.Sequential(kind(), nn.Linear(4, 4))


def inputs():
    return torch.randn(5, 6, generator=torch.Generator().manual_seed(1))


def test_functions_have_the_names_of_their_calls():
    names = ["add", "relu", "dropout", "relu_1", "mul"]
    assert functions_of(Block()) == names
    assert functions_of(Branching()) is None
    assert functions_of(model()) == []


@pytest.mark.parametrize("kind", [Block, Branching])
def test_results_of_functions(kind, monkeypatch):
    dense = model(kind).eval()
    seen = []
    limit = spt.Threshold(0.3)
    monkeypatch.setattr(
        spt.Threshold,
        "__call__",
        lambda self, x, format=None: (
            seen.append(x.shape) or super(spt.Threshold, self).__call__(x, format)
        ),
    )
    plan = {"0().relu": spt.Sparse(limit, "csr"), "0().mul": spt.Sparse(limit)}
    sparse = spt.sparsify(dense, plan)
    made = sparse(inputs())
    assert seen == [(5, 8), (5, 4)]
    block = dense[0]
    h = functional.relu(block.first(inputs()) + 0.1)
    h = h * (h.abs() >= 0.3)
    h = functional.relu(block.second(h)) * 2
    torch.testing.assert_close(made, dense[1](h * (h.abs() >= 0.3)))
    made.sum().backward()
    assert sparse[0].first.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("kind", [Block, Branching])
def test_training_mode_is_not_written_down(kind):
    sparse = spt.sparsify(model(kind), {"0().relu": spt.Sparse(spt.KeepNonzero())})
    assert not torch.equal(sparse(inputs()), sparse(inputs()))
    sparse.eval()
    assert torch.equal(sparse(inputs()), sparse(inputs()))
    dense = model(kind).eval()
    torch.testing.assert_close(sparse(inputs()), dense(inputs()))


@pytest.mark.parametrize("name", ["*", "0()", "0().relu*", "0().*"])
def test_functions_are_dense_again(name):
    plan = {"0().relu*": QUARTER, "0()": QUARTER}
    sparse = spt.sparsify(model().eval(), plan)
    made = spt.densify(sparse, name)
    left = spt.summary(made)
    assert ("0().relu*" in left) == (name == "0()")
    assert ("0()  " in left) == (name not in ("*", "0()"))
    if name == "*":
        torch.testing.assert_close(made(inputs()), model().eval()(inputs()))
        assert not made[0]._forward_hooks and not made[0]._forward_pre_hooks


def test_copies_of_a_model_keep_their_functions():
    sparse = spt.sparsify(model().eval(), {"0().relu": QUARTER})
    expected = sparse(inputs())
    for made in (copy.deepcopy(sparse), pickle.loads(pickle.dumps(sparse))):
        torch.testing.assert_close(made(inputs()), expected)
    again = spt.sparsify(sparse, {"0().relu": spt.Sparse(spt.KeepNonzero())})
    torch.testing.assert_close(again(inputs()), model().eval()(inputs()))


def test_a_module_that_raises_is_watched_no_longer():
    sparse = spt.sparsify(model().eval(), {"0().relu": QUARTER})
    with pytest.raises(RuntimeError):
        sparse(torch.ones(2, 3))
    assert not torch.overrides._get_current_function_mode_stack()
    assert sparse(inputs()).shape == (5, 4)


def test_functions_that_are_not_called():
    with pytest.raises(PlanError, match=r"functions 0\(\).add, 0\(\).relu"):
        spt.sparsify(model(), {"0().tanh": QUARTER})
    # It is seen first when the module runs.
    sparse = spt.sparsify(model(Branching), {"0().tanh": QUARTER})
    with pytest.raises(PlanError, match="expected a call of tanh, got"):
        sparse(inputs())
    with pytest.raises(PlanError, match=r"expected one key for 0\(\).relu"):
        spt.sparsify(model(), {"0().relu": QUARTER, "*().relu": QUARTER})


@pytest.mark.parametrize("format", [None, "dense", "coo"])
def test_gradients_of_dense_parameters(format):
    plan = {"1.weight.grad": spt.Sparse(spt.Magnitude(0.75), format)}
    sparse = spt.sparsify(model().eval(), plan)
    dense = model().eval()
    for _ in range(2):
        for one in (sparse, copy.deepcopy(sparse), dense):
            one(inputs()).pow(2).sum().backward()
    grad = dense[1].weight.grad / 2
    expected = 2 * grad * spt.Magnitude(0.75).keep(grad)
    made = sparse[1].weight.grad
    assert made.layout == (torch.sparse_coo if format == "coo" else torch.strided)
    torch.testing.assert_close(made.to_dense(), expected)
    assert sparse[1].bias.grad.abs().min() > 0
    copied = copy.deepcopy(sparse)
    copied[1].weight.grad = None
    copied(inputs()).pow(2).sum().backward()
    torch.testing.assert_close(copied[1].weight.grad.to_dense(), expected / 2)
    torch.optim.SGD(sparse.parameters(), lr=0.1).step()
    made = spt.densify(sparse, "*.grad")
    made.zero_grad()
    made(inputs()).pow(2).sum().backward()
    assert made[1].weight.grad.layout == torch.strided
    assert int((made[1].weight.grad != 0).sum()) > 4


def test_gradients_of_sparse_parameters():
    half = spt.Magnitude(0.5)
    plan = {
        "0.first.weight": spt.Sparse(half, "csr", grad="dense"),
        "0.second.weight": spt.Sparse(half),
        "0.second.weight.grad": spt.Sparse(spt.Magnitude(0.9), "coo"),
    }
    sparse = spt.sparsify(model().eval(), plan)
    dense = spt.densify(sparse)
    sparse(inputs()).pow(2).sum().backward()
    dense(inputs()).pow(2).sum().backward()
    torch.testing.assert_close(sparse[0].first.weight.grad, dense[0].first.weight.grad)
    grad = sparse[0].second.weight.grad
    assert grad.format.name == "coo" and grad.nnz == 3
    torch.optim.AdamW(sparse.parameters()).step()
    undone = spt.densify(sparse, "0.second.weight.grad")
    assert undone[0].second.weight.grad_format is None
    assert isinstance(undone[0].second.weight, spt.SparseTensor)
    assert dense[0].first.weight.requires_grad


def test_gradients_of_outputs():
    plan = {"0()": spt.Sparse(spt.KeepAll(), "csr", grad=spt.Magnitude(0.9))}
    sparse = spt.sparsify(model().eval(), plan)
    seen = []
    sparse[0].second.register_full_backward_hook(lambda *given: seen.append(given[2]))
    sparse(inputs()).pow(2).sum().backward()
    assert int((seen[0][0] != 0).sum()) <= 2


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"9.weight.grad": QUARTER}, "there are the gradients 0.first.weight.grad"),
        ({"*.weight.grad": QUARTER, "1.*.grad": QUARTER}, "one key for 1.weight.grad"),
        ({"1.weight.grad": spt.Sparse(spt.KeepAll(), "csr")}, "'dense' or 'coo'"),
        ({"1.weight.grad": spt.Sparse(spt.Fisher(0.5))}, "from the gradient alone"),
        (
            {
                "1.weight": spt.Sparse(spt.KeepAll(), grad="dense"),
                "1.weight.grad": QUARTER,
            },
            "the grad= of '1.weight'",
        ),
        ({"7().relu": QUARTER}, "there are the modules"),
    ],
)
def test_plans_that_are_refused(plan, said):
    with pytest.raises(PlanError) as caught:
        spt.sparsify_(model(), plan)
    assert said in str(caught.value)


def test_a_gradient_format_that_does_not_fit_leaves_the_model():
    made = model()
    with pytest.raises(PatternError):
        spt.sparsify_(made, {"1.weight": spt.Sparse(spt.KeepAll(), grad="nm(1, 4)")})
    assert not isinstance(made[1].weight, spt.SparseTensor)


def test_summary_before_and_after():
    plan = {
        "1.weight": spt.Sparse(spt.Magnitude(0.5), "csr", grad="dense"),
        "0.first.weight.grad": QUARTER,
        "0()": spt.Sparse(spt.KeepNonzero()),
        "0().relu": spt.Sparse(spt.Threshold(0.5), "csc"),
    }
    made = model()
    lines = [line.split() for line in spt.summary(made, plan=plan).splitlines()]
    assert not isinstance(made[1].weight, spt.SparseTensor)
    row = next(line for line in lines if line[:1] == ["1.weight"])
    assert row[4:] == "dense -> csr 1.000 -> 0.500 64 -> 84 1.00 -> 1.31".split()
    assert ["0.first.weight.grad", "Magnitude(0.75)"] in lines
    assert ["1.weight.grad", "dense"] in lines
    assert ["0()", "KeepNonzero()"] in lines
    assert ["0().relu", "Threshold(limit=0.5)", "csc"] in lines
    assert spt.summary(made).count("\n") == 7


def test_scores_that_are_nan_are_refused_in_gradients():
    sparse = spt.sparsify(model().eval(), {"1.weight.grad": QUARTER})
    with pytest.raises(ScoreError, match="NaN"):
        (sparse(inputs()) * float("nan")).sum().backward()
