"""Code in the style of torch: fused = run by torch on dense tensors."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import TraceError

torch = pytest.importorskip("torch")
functional = torch.nn.functional

pytestmark = pytest.mark.usefixtures("interpreted")

RNG = np.random.default_rng(1)
X = RNG.integers(-2, 3, (4, 3)) * RNG.integers(0, 2, (4, 3)) / 2.0
Y = RNG.random((3, 5))

FUNCTIONS = {
    "relu": lambda x, y: torch.relu(x) @ y,
    "functional": lambda x, y: functional.relu(x - 0.5).matmul(y),
    "linear": lambda x, y: functional.linear(x, y.t(), torch.ones(5).double()),
    "methods": lambda x, y: x.exp().mm(y).sigmoid(),
    "softmax": lambda x, y: torch.softmax(x @ y, dim=-1),
    "softmax, method": lambda x, y: functional.softmax(x, dim=0).T,
    "log softmax": lambda x, y: functional.log_softmax(x @ y, 1),
    "sums": lambda x, y: (
        x.sum(dim=1, keepdim=True) * torch.sum(x) + x.mean(dim=0).sum()
    ),
    "extremes": lambda x, y: torch.amax(x, dim=1) + x.max() + torch.amin(x, 1),
    "where": lambda x, y: torch.where(x > 0, x, -1.0) + x.masked_fill(x == 0, 2.5),
    "einsum": lambda x, y: torch.einsum("ij,jk->ki", x, y),
    "turned": lambda x, y: (
        torch.transpose(x, 0, 1).permute(1, 0).unsqueeze(1).squeeze()
    ),
    "clamp": lambda x, y: torch.clamp(x, -0.5, 0.5) + x.clamp(min=0),
    "arithmetic": lambda x, y: torch.div(torch.add(x, 1), 3) - torch.pow(x, 2).sqrt(),
    "maximum": lambda x, y: torch.maximum(x, x * 2) - torch.abs(x).log1p(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_torch(name):
    function = FUNCTIONS[name]
    wanted = function(torch.from_numpy(X), torch.from_numpy(Y)).numpy()
    for x in (X, sp.array(X, format="csr")):
        found = sp.fuse(function)(x, Y)
        if isinstance(found, sp.SparseArray):
            found = found.todense()
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "function, name",
    [
        (lambda x: torch.cumsum(x, 0), r"torch\.cumsum in"),
        (lambda x: torch.sort(x), r"torch\.sort in"),
        (lambda x: functional.gelu(x), r"torch\.gelu in"),
        (lambda x: torch.max(x, 1), r"torch\.max in"),
        (lambda x: torch.sum(x, 0, dtype=torch.float64), "dtype|data type"),
        (lambda x: torch.softmax(x, 0, torch.float64), r"torch\.softmax in"),
    ],
)
def test_functions_that_are_not_known_are_refused(function, name):
    with pytest.raises(TypeError, match=name):
        sp.fuse(function)(X)
    with pytest.raises(TraceError, match="a tensor that requires one"):
        sp.fuse(function)(torch.ones(3, requires_grad=True))


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_tensors_are_arrays():
    sparse = torch.from_numpy(X).to_sparse_csr()
    made = sp.fuse(lambda x, y: x @ y)(sparse, torch.from_numpy(Y))
    np.testing.assert_allclose(made, X @ Y)
