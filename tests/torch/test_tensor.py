"""What a SparseTensor is to the rest of torch."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from torch import nn

import sparray as sp
import sparray.torch as spt
from sparray.errors import DeviceError, DTypeError, ShapeError, UnsupportedError

from .conftest import full, gapped


@pytest.fixture
def W(request):
    format = getattr(request, "param", "csr")
    return spt.tensor(gapped(4, 5), format, requires_grad=True)


IN_SEVERAL_FORMATS = pytest.mark.parametrize("W", ["csr", "csc", "coo"], indirect=True)


def test_what_it_says_of_itself(W):
    assert isinstance(W, torch.Tensor)
    assert W.shape == (4, 5) and W.size() == (4, 5) and W.size(-1) == 5
    assert W.dim() == W.ndim == 2 and W.numel() == 20 and len(W) == 4
    assert W.dtype == torch.float64 and W.device.type == "cpu"
    assert W.is_floating_point() and not W.is_complex() and not W.is_sparse
    assert W.requires_grad and W.is_leaf and W.grad_fn is None and W.grad is None
    assert W.format == sp.Format.parse("csr", 2) and W.nnz == len(W.values())
    assert W.fill_value == 0 and {W: 1}[W] == 1


def test_repr_names_format_and_values(W):
    assert repr(W).startswith(f"SparseTensor(csr, shape (4, 5), nnz={W.nnz}, requires")
    assert "grad_fn=<MulBackward0>" in repr(W * 2)


@IN_SEVERAL_FORMATS
def test_gradients_accumulate_with_the_pattern(W):
    (W @ full(5, 2)).sum().backward()
    first = W.grad.values().clone()
    assert W.grad.format == W.format and W.grad.pattern is W.pattern
    (W @ full(5, 2)).sum().backward()
    torch.testing.assert_close(W.grad.values(), 2 * first)
    W.grad = None
    assert W.values().grad is None


def test_backward_from_a_sparse_result(W):
    made = W * 3
    made.backward(made.detach().with_values(torch.ones(W.nnz, dtype=W.dtype)))
    torch.testing.assert_close(W.grad.values(), torch.full_like(W.values(), 3))


def test_torch_autograd_functions(W):
    x = full(5, 2).requires_grad_()
    of_W, of_x = torch.autograd.grad((W @ x).sum(), [W, x])
    assert isinstance(of_W, spt.SparseTensor) and of_W.pattern is W.pattern
    assert of_x.shape == x.shape and W.grad is None
    upstream = (W * 1).detach()
    (of_W,) = torch.autograd.grad(W * 3, W, upstream)
    torch.testing.assert_close(of_W.values(), 3 * upstream.values())
    torch.autograd.backward([W * 3], [upstream])
    torch.testing.assert_close(W.grad.values(), 3 * upstream.values())


@IN_SEVERAL_FORMATS
def test_no_graph_without_need(W):
    with torch.no_grad():
        assert not (W @ full(5, 2)).requires_grad and not (W * 2).requires_grad
    with torch.inference_mode():
        assert not (W @ full(5, 2)).requires_grad


@IN_SEVERAL_FORMATS
def test_checkpointing(W):
    from torch.utils.checkpoint import checkpoint

    x = full(5, 2).requires_grad_()
    checkpoint(lambda x: torch.relu(W @ x), x, use_reentrant=False).sum().backward()
    expected = torch.relu(W.to_dense().detach() @ x.detach()) > 0
    reference = expected.double() @ x.detach().T
    stored = W.to_dense().detach() != 0
    torch.testing.assert_close(W.grad.to_dense()[stored], reference[stored])


def test_a_value_changed_between_forward_and_backward_is_noticed(W):
    made = W @ full(5, 2).requires_grad_()
    with torch.no_grad():
        W.values().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()


@IN_SEVERAL_FORMATS
def test_retain_grad_and_hooks(W):
    middle = W * 2
    middle.retain_grad()
    seen = []
    middle.register_hook(seen.append)
    assert middle.retains_grad and not middle.is_leaf
    (middle @ full(5)).sum().backward()
    assert isinstance(seen[0], spt.SparseTensor)
    torch.testing.assert_close(middle.grad.values() * 2, W.grad.values())


@IN_SEVERAL_FORMATS
def test_a_hook_may_replace_the_gradient(W):
    W.register_hook(lambda grad: grad * 0)
    W.sum().backward()
    assert not W.grad.values().any()


def test_detach_shares_and_clone_copies(W):
    assert W.detach().values().data_ptr() == W.values().data_ptr()
    assert not W.detach().requires_grad
    copied = W.clone()
    assert copied.values().data_ptr() != W.values().data_ptr()
    copied.sum().backward()
    torch.testing.assert_close(W.grad.values(), torch.ones_like(W.values()))


def test_a_transposition_shares_everything(W):
    turned = W.t()
    assert turned.format.name == "csc" and turned.shape == (5, 4)
    assert turned.values().data_ptr() == W.values().data_ptr()
    assert turned.t().pattern is W.pattern
    assert torch.equal(W.T.to_dense(), W.to_dense().T)
    assert torch.equal(W.mT.to_dense(), torch.transpose(W, -1, 0).to_dense())
    with pytest.raises(ShapeError, match="dim1: expected a dimension from -2 to 1"):
        W.transpose(0, 2)


def test_conversions_of_dtype(W):
    assert W.float().dtype == torch.float32 and W.to(torch.float64) is W
    assert W.to("cpu", torch.complex64).dtype == torch.complex64
    assert W.to(full(1).float()).dtype == torch.float32
    W.float().sum().backward()
    assert W.grad.dtype == torch.float64


def test_dtypes_without_kernels(W):
    with pytest.raises(DTypeError, match=r"compiled for .*float32.*got torch\.float8"):
        W.to(torch.float8_e5m2)


def test_other_devices(W):
    with pytest.raises(DeviceError, match="device: expected cpu"):
        W.to("cuda")
    with pytest.raises(DeviceError, match=r"expected a tensor on the CPU.*got one on"):
        W @ torch.empty(5, 2, dtype=torch.float64, device="meta")


def test_integers_have_no_gradient():
    W = spt.tensor(torch.eye(3, dtype=torch.int64))
    with pytest.raises(DTypeError, match=r"requires_grad: .*got torch\.int64"):
        W.requires_grad_()
    with pytest.raises(DTypeError, match="requires_grad"):
        spt.tensor(np.eye(3, dtype=int), requires_grad=True)


def test_operands_of_two_dtypes(W):
    with pytest.raises(DTypeError, match=r"matmul: expected operands of one dtype"):
        W @ torch.ones(5)


def test_shapes_that_do_not_fit(W):
    with pytest.raises(ShapeError, match="expected one extent for each index"):
        W @ full(4, 2)
    with pytest.raises(ShapeError, match="broadcast"):
        W + full(4, 4)
    with pytest.raises(ShapeError, match="mv: expected operands of 2 and 1"):
        torch.mv(W, full(5, 1))


def test_deepcopy_after_backward(W):
    W.sum().backward()
    made = copy.deepcopy(W)
    assert made.pattern is W.pattern and made.requires_grad
    torch.testing.assert_close(made.grad.values(), W.grad.values())
    assert made.values().data_ptr() != W.values().data_ptr()


def test_deepcopy_of_a_module_keeps_shared_parameters_shared(W):
    module = nn.Module()
    module.a = module.b = nn.Parameter(W)
    made = copy.deepcopy(module)
    assert made.a is made.b and isinstance(made.a, nn.Parameter)


def test_pickles(W):
    made = pickle.loads(pickle.dumps(W))
    assert made.format == W.format and made.requires_grad
    assert torch.equal(made.to_dense(), W.to_dense())
    file = io.BytesIO()
    torch.save({"weight": W}, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)["weight"]
    assert torch.equal(loaded.values(), W.values())


class Layer(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(weight.shape[0], dtype=weight.dtype))

    def forward(self, x):
        return nn.functional.linear(x, self.weight, self.bias)


def test_a_parameter_is_found_and_saved():
    layer = Layer(spt.tensor(gapped(4, 5)))
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    other = Layer(spt.tensor(gapped(4, 5)) * 0)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.weight.to_dense(), layer.weight.to_dense())
    with pytest.raises(RuntimeError, match="pattern"):
        Layer(spt.tensor(gapped(4, 5, seed=7))).load_state_dict(layer.state_dict())


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.1),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.1),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("of_values", [True, False], ids=["values", "parameter"])
def test_an_optimizer_steps_as_on_a_masked_dense_weight(name, of_values):
    elements = gapped(4, 5)
    mask = elements != 0
    x, target = full(8, 5), full(8, 4, seed=2)
    weight = nn.Parameter(spt.tensor(elements))
    reference = elements.clone().requires_grad_()
    ours = OPTIMIZERS[name]([weight.values() if of_values else weight])
    theirs = OPTIMIZERS[name]([reference])
    for _ in range(4):
        ours.zero_grad()
        theirs.zero_grad()
        ((nn.functional.linear(x, weight) - target) ** 2).sum().backward()
        ((nn.functional.linear(x, reference * mask) - target) ** 2).sum().backward()
        ours.step()
        theirs.step()
    assert weight.fill_value == 0
    torch.testing.assert_close(weight.to_dense(), reference.detach() * mask)


def test_zero_grad_may_keep_the_gradient(W):
    optimizer = torch.optim.SGD([W], lr=0.1)
    W.sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert W.grad is not None and not W.grad.values().any()


def test_with_values_checks_them(W):
    with pytest.raises(ValueError, match="values: expected shape"):
        W.with_values(torch.ones(W.nnz + 1))
    with pytest.raises(DTypeError, match="values"):
        W.with_values(torch.ones(W.nnz).to(torch.float8_e5m2))


def test_nothing_reaches_past_the_table(W):
    with pytest.raises(UnsupportedError, match="__torch_function__"):
        with torch._C.DisableTorchFunctionSubclass():
            torch.sin(W)


def test_to_array_shares_the_buffers(W):
    array = W.to_array()
    assert array.levels[1]["crd"].ctypes.data == W.pattern.levels[1]["crd"].ctypes.data
    assert array.values.ctypes.data == W.values().data_ptr()
    np.testing.assert_array_equal(array.todense(), W.to_dense().detach().numpy())
