"""What users add: operators, gradients, sparsifiers and formats, by decorators."""

import pytest
import torch

import sparray.torch as spt
from sparray.errors import (
    FormatError,
    ShapeError,
    UnsupportedError,
    WouldDensifyError,
)
from sparray.formats.named import NAMED_FORMATS, named_format
from sparray.torch.registry import Operator
from sparray.torch.sparsifiers.sparsifier import IMPLEMENTATIONS
from sparray.torch.table import OPERATORS

DENSE = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 5.0]])


@pytest.fixture(autouse=True)
def _nothing_stays_registered():
    kept = dict(OPERATORS), dict(IMPLEMENTATIONS), dict(NAMED_FORMATS)
    yield
    for table, before in zip(
        (OPERATORS, IMPLEMENTATIONS, NAMED_FORMATS), kept, strict=True
    ):
        table.clear()
        table.update(before)
    named_format.cache_clear()


def sparse(format="csr", requires_grad=False):
    return spt.tensor(DENSE, format=format, requires_grad=requires_grad)


def test_operator_answers_for_its_formats_alone():
    @spt.register_op(torch.mv, formats=("csc", None))
    def mv(input, vec):
        return torch.full((2,), 7.0)

    x = torch.ones(3)
    assert torch.mv(sparse("csc"), x).tolist() == [7, 7]
    assert torch.mv(sparse("csr"), x).tolist() == [2, 8]


@pytest.mark.parametrize(
    ("wanted", "given", "answers"),
    [
        ("nm(2, 3)", "nm(2, 3)", True),
        ("nm", "nm(2, 3)", True),
        ("nm(1, 3)", "nm(2, 3)", False),
        ("*", "coo", True),
        (named_format("coo", 2), "coo", True),
        (named_format("csr", 2), "coo", False),
        ("bcsr", "nm(2, 3)", False),
    ],
)
def test_formats_that_fit(wanted, given, answers):
    operator = Operator((wanted,), lambda input: "mine")
    assert operator.fits((spt.tensor(torch.eye(3), format=given),), {}) is answers


def test_arguments_by_name_and_those_left_out():
    @spt.register_op(torch.nn.functional.linear, formats=(None, "csr", None))
    def linear(input, weight, bias=None):
        return ("linear", bias is None)

    function, x = torch.nn.functional.linear, torch.ones(4, 3)
    assert function(x, sparse()) == ("linear", True)
    assert function(x, weight=sparse(), bias=torch.ones(2)) == ("linear", False)
    assert function(x, sparse("csc")).shape == (4, 2)


def test_last_registration_answers():
    for answer in ("first", "second"):
        spt.register_op(torch.trace, formats=("csr",))(lambda input, a=answer: a)
    assert torch.trace(sparse()) == "second"


def test_gradients_that_are_registered():
    calls = []

    @spt.register_op(torch.mm, formats=("dcsr", None))
    def mm(input, mat2):
        return input.to_dense() @ mat2

    @spt.register_backward(torch.mm, formats=("dcsr", None))
    def mm_backward(grad, input, mat2):
        calls.append(type(input))
        return grad @ mat2.T, input.to_dense().T @ grad

    W = sparse("dcsr", requires_grad=True)
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    (torch.mm(W, x) * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert calls == [spt.SparseTensor]
    found = W.values().grad, x.grad
    dense, other = DENSE.clone().requires_grad_(), x.detach().clone().requires_grad_()
    ((dense @ other) * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert found[0].tolist() == dense.grad[DENSE != 0].tolist()
    torch.testing.assert_close(found[1], other.grad)


def test_gradient_of_a_sparse_result():
    @spt.register_op(torch.special.expit, formats=("csr",))
    def doubled(input):
        return input.with_values(input.values() * 2)

    @spt.register_backward(torch.special.expit, formats=("csr",))
    def doubled_backward(grad, input):
        assert isinstance(grad, spt.SparseTensor)
        return grad * 2

    W = sparse(requires_grad=True)
    made = torch.special.expit(W)
    assert made.values().tolist() == [4, 6, 10]
    made.values().sum().backward()
    assert W.grad.values().tolist() == [2, 2, 2]


def test_gradient_of_another_shape():
    spt.register_op(torch.trace, formats=("csr",))(lambda input: input.values().sum())
    spt.register_backward(torch.trace, formats=("csr",))(
        lambda grad, input: torch.ones(7, 7)
    )
    with pytest.raises(ShapeError, match=r"gradient of shape \(2, 3\)"):
        torch.trace(sparse(requires_grad=True)).backward()


def test_gradient_without_an_operator():
    with pytest.raises(UnsupportedError, match="use register_op first"):
        spt.register_backward(torch.mm, formats=("csr", None))(lambda grad: None)


def test_operator_without_a_sparse_argument():
    with pytest.raises(FormatError, match="for one argument at least"):
        spt.register_op(torch.mm, formats=(None, None))


def test_arguments_are_converted_where_nothing_else_answers():
    seen = []

    @spt.register_op(torch.cumsum, formats=("coo", None))
    def cumsum(input, dim):
        seen.append(input.format.name)
        return torch.cumsum(input.to_dense(), dim)

    with spt.strict():
        made = torch.cumsum(sparse("csr"), 1)
    assert seen == ["coo"]
    assert torch.equal(made, torch.cumsum(DENSE, 1))


def test_formats_that_cannot_hold_it_are_passed_over():
    spt.register_op(torch.cumsum, formats=("nm(1, 3)", None))(lambda input, dim: "no")
    with spt.strict(), pytest.raises(WouldDensifyError):
        torch.cumsum(sparse("csr"), 1)


def test_stub_can_be_pasted():
    W = sparse("nm(2, 3)")
    with spt.strict(), pytest.raises(WouldDensifyError) as caught:
        torch.cumsum(W, dim=1)
    pasted = str(caught.value).partition("register your own:\n")[2]
    exec(pasted, {"torch": torch, "spt": spt})
    with spt.strict():
        assert torch.equal(torch.cumsum(W, dim=1), torch.cumsum(DENSE, 1))


def test_stub_of_a_method():
    W = sparse()
    with spt.strict(), pytest.raises(WouldDensifyError) as caught:
        W.cumprod(0)
    exec(str(caught.value).partition("own:\n")[2], {"torch": torch, "spt": spt})
    with spt.strict():
        assert torch.equal(W.cumprod(0), DENSE.cumprod(0))


def test_explained():
    @spt.register_op(torch.trace, formats=("csr",))
    def mine(input):
        return None

    text = spt.explain(torch.trace, sparse())
    assert text.startswith("torch.trace: registered for ('csr',)") and "mine" in text


def test_sparsifier_that_is_registered_for_formats():
    class First(spt.Sparsifier):
        def keep(self, x):
            mask = torch.zeros_like(x, dtype=torch.bool)
            mask[:, 0] = True
            return mask

    calls = []

    @spt.register_sparsifier(First, input="csr", output="csc")
    def first(sparsifier, x, format):
        calls.append(format.name)
        return spt.tensor(x.to_dense() * sparsifier.keep(x.to_dense()), format=format)

    assert First()(sparse(), format="csc").to_dense().tolist() == [[0] * 3, [3, 0, 0]]
    First()(sparse(), format="csr")
    First()(DENSE, format="csc")
    assert calls == ["csc"]
    with pytest.raises(TypeError, match="expected a Sparsifier"):
        spt.register_sparsifier(int)


def test_format_that_is_registered():
    @spt.register_format("pairs")
    def pairs(ndim):
        return "(i, j) -> (i: dense, j // 2: compressed, j % 2: dense)"

    W = sparse("pairs", requires_grad=True)
    assert W.format.name == "pairs"
    (W @ torch.ones(3, 2)).sum().backward()
    torch.testing.assert_close(W.detach().to_dense(), DENSE)
    assert W.grad.to_dense()[DENSE != 0].tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", ["csr", "nm", "Mine", "a b", "", 3])
def test_names_that_are_none(name):
    with pytest.raises(FormatError, match="name: expected"):
        spt.register_format(name)


def test_format_that_is_none():
    with pytest.raises(FormatError):
        spt.register_format("mine")(lambda ndim: "(i) -> (i: dense)")
    assert "mine" not in NAMED_FORMATS
    with pytest.raises(FormatError, match="least <= most"):
        spt.register_format("mine", 3, 2)
