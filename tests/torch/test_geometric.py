"""Layers of PyTorch Geometric with our tensors as adjacency matrices."""

import warnings

import pytest
import torch

import sparray.torch as spt
from sparray.errors import FormatError
from sparray.torch.autograd import recorded

from .conftest import full

# What it warns of: torch's csr tensors, and that it converts coo ones to csr.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support"),
    pytest.mark.filterwarnings("ignore:Converting sparse tensor to CSR"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    nn = pytest.importorskip(
        "torch_geometric.nn", reason="needs torch_geometric, which is not installed"
    )

NODES = 9

LAYERS = {
    "GCNConv": lambda: nn.GCNConv(4, 3, normalize=False),
    "GCNConv, normalized": lambda: nn.GCNConv(4, 3),
    "SAGEConv, mean": lambda: nn.SAGEConv(4, 3),
    "SAGEConv, max": lambda: nn.SAGEConv(4, 3, aggr="max"),
    "SAGEConv, min": lambda: nn.SAGEConv(4, 3, aggr="min"),
    "GINConv": lambda: nn.GINConv(torch.nn.Linear(4, 3)),
    "GraphConv, max": lambda: nn.GraphConv(4, 3, aggr="max"),
    "GATConv": lambda: nn.GATConv(4, 3, heads=2, add_self_loops=False),
    "GATConv, self loops": lambda: nn.GATConv(4, 3),
}
FORMATS = ["csr", "coo", "dcsr", "bcsr(1, 1)"]
PRODUCTS = {"GCNConv", "SAGEConv, mean", "SAGEConv, max", "SAGEConv, min"}
PRODUCTS |= {"GINConv", "GraphConv, max"}
# It makes a coo tensor of torch's own again, through which torch has no gradient.
ROWS_ONLY = {"GCNConv, normalized"}
CASES = [
    (name, format)
    for name in LAYERS
    for format in FORMATS
    if format == "csr" or name not in ROWS_ONLY
]
CASES += [(name, "csc") for name in LAYERS if name in PRODUCTS]


def adjacency():
    generator = torch.Generator().manual_seed(3)
    made = torch.rand(NODES, NODES, generator=generator, dtype=torch.float64)
    made[made < 0.6] = 0
    made[2] = 0  # no edge comes in
    return made


def layer(name):
    torch.manual_seed(1)
    return LAYERS[name]().double()


def outputs(made, adjacency, values):
    """Return a layer's output and the gradients of all that it is made of."""
    x = full(NODES, 4).requires_grad_()
    y = made(x, adjacency)
    leaves = [x, values, *made.parameters()]
    grads = torch.autograd.grad(
        (y * full(*y.shape, seed=2)).sum(), leaves, allow_unused=True
    )
    return [y, *grads]


def torch_s_own(adjacency):
    values = adjacency[adjacency != 0].requires_grad_()
    csr = adjacency.to_sparse_csr()
    made = torch.sparse_csr_tensor(
        csr.crow_indices(), csr.col_indices(), values, csr.shape
    )
    return made, values


def by_rows(grad, tensor):
    """Return values of a tensor in the order of rows."""
    if grad is None:
        return None
    return tensor.with_values(grad).to_format("csr").values()


@pytest.mark.parametrize(("name", "format"), CASES)
def test_layers(name, format):
    A = adjacency()
    expected = outputs(layer(name), *torch_s_own(A))
    ours = spt.tensor(A, format, requires_grad=True)
    got = outputs(layer(name), ours, ours.values())
    got[2] = by_rows(got[2], ours)
    assert [g is None for g in got] == [e is None for e in expected]
    for mine, wanted in zip(got, expected, strict=True):
        if wanted is not None:
            torch.testing.assert_close(mine, wanted)


@pytest.mark.parametrize("name", sorted(PRODUCTS))
def test_messages_are_products_that_the_compiler_makes(name):
    A = spt.tensor(adjacency(), "csr")
    with recorded() as evaluations, spt.strict():
        layer(name)(full(NODES, 4), A)
    texts = [one.expression.text for one, _ in evaluations]
    assert any("A[i,k]" in text for text in texts), texts


def test_formats_that_pad_have_products_but_no_edges():
    A = adjacency()
    W, x = spt.tensor(A, "ell"), full(NODES, 4)
    made = layer("GINConv")
    torch.testing.assert_close(made(x, W), made(x, A.to_sparse_csr()))
    with pytest.raises(FormatError, match=r"W.to_format\('csr'\)"):
        layer("GATConv")(x, W)


def test_training_a_layer():
    A = spt.tensor(adjacency(), "csr")
    made = layer("SAGEConv, max")
    optimizer = torch.optim.Adam(made.parameters(), lr=0.05)
    x, target = full(NODES, 4), full(NODES, 3, seed=7)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = (made(x, A) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]


def test_bipartite_and_transposed():
    A = adjacency()[:, :5]
    made = layer("SAGEConv, mean")
    sources, targets = full(5, 4), full(NODES, 4, seed=5)
    got = made((sources, targets), spt.tensor(A, "csr"))
    torch.testing.assert_close(got, made((sources, targets), A.to_sparse_csr()))
    got = made((targets, sources), spt.tensor(A, "csr").t())
    torch.testing.assert_close(
        got, made((targets, sources), A.t().contiguous().to_sparse_csr())
    )
