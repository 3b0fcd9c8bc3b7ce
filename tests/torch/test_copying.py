"""`copy_` and `load_state_dict`, between equal and different formats."""

import itertools

import pytest
import torch
from torch import nn

import sparray.torch as spt
from sparray.errors import PatternError

from .conftest import gapped
from .test_rebuilding import layer

FORMATS = ["csr", "csc", "coo", "bitmap"]


@pytest.mark.parametrize(("first", "second"), list(itertools.product(FORMATS, FORMATS)))
def test_states_are_loaded_between_formats(first, second):
    source, target = layer(first), layer(second)
    with torch.no_grad():
        source.weight.mul_(2)
    parameter = target.weight
    target.load_state_dict(source.state_dict())
    torch.testing.assert_close(target.weight.to_dense(), source.weight.to_dense())
    assert target.weight is parameter and target.weight.format == parameter.format
    assert target.weight.requires_grad and target.weight.is_leaf


def test_a_difference_is_named():
    source, target = layer("csc", seed=1), layer("csr")
    with pytest.raises(RuntimeError, match="weight") as caught:
        target.load_state_dict(source.state_dict())
    text = str(caught.value)
    assert "format csr against csc" in text and "assign=True" in text
    lacking = (source.weight.to_dense() != 0) & (target.weight.to_dense() == 0)
    assert f"{int(lacking.sum())} of the source's {source.weight.nnz} entries" in text
    target.load_state_dict(source.state_dict(), assign=True)
    assert target.weight.pattern.same_as(source.weight.pattern)


def test_fewer_entries_fit_and_the_others_are_zero():
    target = layer("csr")
    dense = target.weight.to_dense().detach()
    dense[1] = 0
    source = spt.tensor(dense, "csc")
    assert source.nnz < target.weight.nnz
    target.load_state_dict({"weight": source, "bias": target.bias.detach()})
    torch.testing.assert_close(target.weight.to_dense(), dense)


def test_a_dense_state_is_loaded_where_it_has_no_more():
    target = layer("csc")
    state = nn.Linear(12, 8, dtype=torch.float64).state_dict()
    with pytest.raises(RuntimeError, match="others there"):
        target.load_state_dict(state)
    state["weight"] *= target.weight.to_dense() != 0
    target.load_state_dict(state)
    torch.testing.assert_close(target.weight.to_dense(), state["weight"])


def test_a_sparse_state_fills_a_dense_layer():
    source, target = layer("csc"), nn.Linear(12, 8, dtype=torch.float64)
    target.load_state_dict(source.state_dict())
    torch.testing.assert_close(target.weight.detach(), source.weight.to_dense())


def test_another_dtype_is_cast_and_another_shape_refused():
    W = spt.tensor(gapped(4, 5))
    W.copy_(spt.tensor(gapped(4, 5, dtype=torch.float32), "csc") * 2)
    assert W.dtype == torch.float64
    torch.testing.assert_close(W.to_dense(), gapped(4, 5).float().double() * 2)
    with pytest.raises(ValueError, match="shape"):
        W.copy_(spt.tensor(gapped(5, 4)))
    with pytest.raises(PatternError, match="fill value is 1"):
        W.copy_(spt.tensor(gapped(4, 5, seed=3)).cos())
