"""Every row of the table of operators in every format, against dense torch."""

import os
from importlib.util import module_from_spec, spec_from_file_location
from itertools import cycle
from pathlib import Path

import pytest
import torch

import sparray.torch as spt
from sparray.errors import WouldDensifyError

from .conftest import dense, flat, full
from .operator_calls import CALLS, FORMATS, interpreted, operands, sparse

REPRESENTATIVE = ("csr", "bcsr(2,2)")

CELLS = [(call, format) for call in CALLS for format in FORMATS[call.ndim]]


def cells(*, fast=()):
    return [
        pytest.param(
            call,
            format,
            id=f"{call.functions}, {format}",
            marks=() if format in fast else (pytest.mark.slow,),
        )
        for call, format in CELLS
    ]


@pytest.fixture(scope="module", autouse=True)
def _interpreted():
    with interpreted():
        yield


def leaves_of(call, format):
    """Return the sparse tensor, and everything that has a gradient: values first."""
    W = sparse(call, format)
    values = W.values().requires_grad_()
    return W, [values, *(x.requires_grad_() for x in operands(call))]


def referred(call, W):
    """Return the same function of dense tensors."""
    if call.reference is None:
        return call.run
    stored = spt.SparseTensor(W.pattern, W.pattern.ones).to_dense()
    return lambda x, *given: call.reference(stored, x, *given)


def test_the_page_is_current():
    path = Path(__file__).parents[2] / "docs" / "extensions" / "torch_table.py"
    spec = spec_from_file_location("torch_table", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.PAGE.read_text(encoding="utf-8")
    assert page == module.operator_page(), "python docs/extensions/torch_table.py"


@pytest.mark.filterwarnings("ignore:.*computed densely")
@pytest.mark.parametrize("call, format", cells(fast=REPRESENTATIVE))
def test_forward_and_backward(call, format):
    W, leaves = leaves_of(call, format)
    reference = referred(call, W)
    got = dense(call.run(W.with_values(leaves[0]), *leaves[1:]))
    expected = reference(W.with_values(leaves[0]).to_dense(), *leaves[1:])
    torch.testing.assert_close(got, expected)
    if not expected.requires_grad:
        return
    weights = full(*expected.shape, seed=3)
    ours = torch.autograd.grad((got * weights).sum(), leaves)
    theirs = torch.autograd.grad((expected * weights).sum(), leaves)
    for mine, wanted in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, wanted)


# A gradient of a gradient takes a second for each cell. By default each row is checked
# in csr and in one other format, which rows take in turns, so that every row and every
# format of matrices is covered. SPARRAY_EVERY_DERIVATIVE=1 checks all cells.
def covering():
    """Return rows with formats: each in csr, and in the next other one in turn."""
    turns = {ndim: cycle(formats[1:]) for ndim, formats in FORMATS.items()}
    assert all(formats[0] == "csr" for formats in FORMATS.values())
    others = {(call.functions, next(turns[call.ndim])) for call in CALLS}
    return others | {(call.functions, "csr") for call in CALLS}


def derived():
    if os.environ.get("SPARRAY_EVERY_DERIVATIVE"):
        return cells()
    chosen = covering()
    return [
        cell for cell in cells() if (cell.values[0].functions, cell.values[1]) in chosen
    ]


def test_second_derivatives_cover_every_row_and_matrix_format():
    chosen = covering()
    assert {functions for functions, _ in chosen} == {c.functions for c in CALLS}
    assert {format for _, format in chosen} >= set(FORMATS[2])
    for ndim, formats in FORMATS.items():
        names = {call.functions for call in CALLS if call.ndim == ndim}
        found = {format for functions, format in chosen if functions in names}
        assert len(found) == min(len(formats), len(names) + 1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*computed densely")
@pytest.mark.parametrize("call, format", derived())
def test_first_and_second_derivatives(call, format):
    W, leaves = leaves_of(call, format)

    def run(values, *given):
        return flat(call.run(W.with_values(values), *given))

    if run(*leaves).requires_grad:
        assert torch.autograd.gradcheck(run, leaves, fast_mode=True)
        assert torch.autograd.gradgradcheck(run, leaves, fast_mode=True)


@pytest.mark.parametrize(
    "call",
    [call for call in CALLS if "dense`" not in call.functions],
    ids=lambda call: call.functions,
)
def test_nothing_is_made_dense_on_the_way(call, monkeypatch):
    """Neither forward nor backward of what the table answers."""
    W, leaves = leaves_of(call, "csr")
    made = []
    monkeypatch.setattr(
        spt.SparseTensor, "to_dense", lambda self, *_: made.append(self.shape)
    )
    if "everything else" in call.functions:
        with pytest.raises(WouldDensifyError), spt.strict():
            call.run(W, *leaves[1:])
        return
    with spt.strict():
        got = flat(call.run(W.with_values(leaves[0]), *leaves[1:]))
        if got.requires_grad:
            (gradient, *_) = torch.autograd.grad(got.sum(), leaves)
            assert gradient.shape == (W.nnz,)
    assert not made
