"""One call for each row of the table of operators, and how each is computed."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.nn import functional

import sparray.torch as spt
from sparray.dispatch import forget_plans
from sparray.errors import FormatError, WouldDensifyError
from sparray.torch.autograd import recorded

__all__ = ["CALLS", "FORMATS", "Call", "interpreted", "mode", "operands", "sparse"]

FORMATS = {
    2: (
        "csr csc coo dcsr dcsc ell dia bitmap bcsr(2,2) bcsc(2,2) nm(2,4) nmg(1,2,2)"
    ).split(),
    3: (
        "csr coo csf ell bitmap bcsr(2,2) nm(2,4) nmg(1,2,2) batched_csr batched_csc "
        "batched_bcsr(2,2) batched_bcsc(2,2)"
    ).split(),
    4: "csr coo csf ell bitmap bcsr(2,2) nm(2,4)".split(),
}
"""Every named format by the number of dimensions; of two dimensions csf is dcsr."""

SHAPES = {2: (4, 8), 3: (2, 4, 8), 4: (2, 2, 2, 4)}


@dataclass(frozen=True)
class Call:
    """A call of a torch function with a sparse tensor.

    Attributes
    ----------
    functions : str
        What the row says.
    run : callable
        Takes the sparse tensor and dense operands.
    shapes : tuple
        Of the dense operands.
    ndim : int
        Of the sparse tensor.
    reference : callable or None
        The same on dense tensors, given where entries are stored as a first argument;
        None where it is the same function.
    """

    functions: str
    run: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...] = ()
    ndim: int = 2
    reference: Callable[..., Any] | None = None


def _softmax(stored, x, dim=1):
    made = torch.softmax(torch.where(stored, x, -torch.inf), dim)
    return torch.where(stored.any(dim, keepdim=True), made, 0)


def _log_softmax(stored, x):
    made = torch.log_softmax(torch.where(stored, x, -torch.inf), 1)
    return torch.where(stored, made, 0)


def _sampled(stored, x, a, b):
    return torch.where(stored, 2 * x + 3 * (a @ b), 0)


def _attention(stored, x, q, k, v):
    bias = torch.where(stored, x, -torch.inf)
    return functional.scaled_dot_product_attention(q, k, v, bias)


def _reduced(stored, x, y):
    products, there = x[:, :, None] * y, stored[:, :, None]
    total = torch.where(there, products, 0).sum(1)
    made = total / there.sum(1).clamp(min=1)
    most = torch.where(there, products, -torch.inf).amax(1)
    least = torch.where(there, products, torch.inf).amin(1)
    return made + torch.where(there.any(1), most + least, 0)


_MASK = torch.tensor([True, False, True, True, False, True, False, True])
_ROWS = torch.tensor([3, 0, 1, 1, 2])

CALLS = [
    Call("`to_dense`", lambda W: W.to_dense()),
    Call("`mm`, `matmul`, `@`", lambda W, x: W @ x, ((8, 3),)),
    Call("`mm` of dense and sparse", lambda W, x: x @ W, ((3, 4),)),
    Call("`mv`", torch.mv, ((8,),)),
    Call("`matmul` of a batch", lambda W, x: W @ x, ((2, 8, 3),)),
    Call("`bmm`", torch.bmm, ((2, 8, 3),), 3),
    Call(
        "`addmm`, `sparse.addmm`", lambda W, b, x: torch.addmm(b, W, x), ((3,), (8, 3))
    ),
    Call("`addmv`", lambda W, b, x: torch.addmv(b, W, x), ((4,), (8,))),
    Call(
        "`baddbmm`", lambda W, b, x: torch.baddbmm(b, W, x), ((2, 4, 3), (2, 8, 3)), 3
    ),
    Call("`einsum`", lambda W, x: torch.einsum("ij,kj->ki", W, x), ((3, 8),)),
    Call(
        "`einsum` with `...`",
        lambda W, x: torch.einsum("...j,...kj->...k", W, x),
        ((4, 3, 8),),
    ),
    Call("`tensordot`", lambda W, x: torch.tensordot(W, x, ([0], [1])), ((3, 4),)),
    Call("`linear`", lambda W, x, b: functional.linear(x, W, b), ((3, 8), (4,))),
    Call("`linear` of a sparse input", lambda W, w: functional.linear(W, w), ((3, 8),)),
    Call(
        "`conv1d`",
        lambda W, x: functional.conv1d(x, W, stride=2, padding=1),
        ((1, 4, 8),),
        3,
    ),
    Call(
        "`conv2d`",
        lambda W, x: functional.conv2d(x, W, stride=(1, 2)),
        ((1, 2, 3, 6),),
        4,
    ),
    Call(
        "`conv2d` in groups",
        lambda W, x: functional.conv2d(x, W, groups=2),
        ((1, 4, 2, 5),),
        4,
    ),
    Call(
        "`conv1d` of a sparse input",
        lambda W, w: functional.conv1d(W, w, stride=2, padding=1),
        ((3, 4, 3),),
        3,
    ),
    Call(
        "`conv2d` of a sparse input",
        lambda W, w: functional.conv2d(W, w, padding=(0, 1), groups=2),
        ((2, 1, 2, 3),),
        4,
    ),
    Call("`embedding`", lambda W: functional.embedding(_ROWS, W)),
    Call(
        "`embedding_bag`",
        lambda W: functional.embedding_bag(_ROWS, W, torch.tensor([0, 3])),
    ),
    Call(
        "`sparse.sampled_addmm`",
        lambda W, a, b: torch.sparse.sampled_addmm(W, a, b, beta=2, alpha=3),
        ((4, 3), (3, 8)),
        reference=_sampled,
    ),
    Call(
        "`scaled_dot_product_attention` with a mask",
        lambda W, q, k, v: functional.scaled_dot_product_attention(
            q, k, v, spt.SparseTensor(W.pattern, W.values(), -torch.inf)
        ),
        ((2, 4, 2), (2, 8, 2), (2, 8, 1)),
        reference=_attention,
    ),
    Call(
        "`scaled_dot_product_attention` with a mask of each",
        lambda W, q, k, v: functional.scaled_dot_product_attention(
            q, k, v, spt.SparseTensor(W.pattern, W.values(), -torch.inf)
        ),
        ((2, 4, 2), (2, 8, 2), (2, 8, 1)),
        3,
        reference=_attention,
    ),
    Call(
        "`sparse.mm` with `mean`, `amax`, `amin`",
        lambda W, x: (
            torch.sparse.mm(W, x, "mean")
            + torch.sparse.mm(W, x, "amax")
            + torch.sparse.mm(W, x, "amin")
        ),
        ((8, 3),),
        reference=_reduced,
    ),
    Call(
        "`softmax`, `sparse.softmax`",
        lambda W: torch.sparse.softmax(W, 1),
        reference=_softmax,
    ),
    Call(
        "`log_softmax`, `sparse.log_softmax`",
        lambda W: torch.sparse.log_softmax(W, 1),
        reference=_log_softmax,
    ),
    Call("`+`, `add`, `-`, `sub`", lambda W, x: W + x, ((4, 8),)),
    Call("`+` of a row", lambda W, x: x - W, ((8,),)),
    Call("`*`, `mul`", lambda W, x: W * x, ((4, 8),)),
    Call("`*` of a column", lambda W, x: x * W, ((4, 1),)),
    Call("`/`, `div`", lambda W, x: W / (x * x + 1), ((4, 1),)),
    Call("`+`, `-`, `*` of one pattern", lambda W: W * W + W.exp().sub(1)),
    Call("`@` of two sparse", lambda W: W @ W.t()),
    Call("`*` and `/` by numbers, `neg`", lambda W: -(2 * W / 3)),
    Call(
        "`relu`, `abs`, `tanh`, `sin`, `square`, … (keep 0)",
        lambda W: torch.relu(W).tanh() + abs(W),
    ),
    Call(
        "`exp`, `cos`, `sigmoid`, `softplus`, … (fill value)",
        lambda W: torch.sigmoid(W),
    ),
    Call("`==`, `<`, `isnan`, … (no gradient)", lambda W: W > 0.5),
    Call("`dropout`", lambda W: functional.dropout(W, 0.5, training=False)),
    Call("`sum`, `sparse.sum`", lambda W: W.sum(0)),
    Call("`sum` of everything", lambda W: W.sum()),
    Call("`mean`", lambda W: W.mean(1, keepdim=True)),
    Call("`amax`", lambda W: torch.amax(W, 1)),
    Call("`amin`", lambda W: torch.amin(W, 0)),
    Call("`max`, `min` of everything", lambda W: W.max() - W.min()),
    Call("`max`, `min` of a dimension", lambda W: W.max(1).values - W.min(1).values),
    Call("`argmax`, `argmin`", lambda W: torch.argmax(W, 0) + W.argmin(0)),
    Call(
        "`maximum`, `minimum` with a dense tensor",
        lambda W, x: torch.maximum(W, x) - torch.minimum(W, x[0]),
        ((4, 8),),
    ),
    Call("`==`, `<`, … with a dense tensor", lambda W, x: W < x, ((4, 8),)),
    Call("`norm`, `linalg.vector_norm`, `linalg.norm`", lambda W: torch.norm(W, dim=1)),
    Call("`where`", lambda W, x: torch.where(_MASK, W, x), ((4, 8),)),
    Call("`where`, `masked_fill` by 0", lambda W: torch.masked_fill(W, _MASK, 0)),
    Call("`masked_fill` by another value", lambda W: torch.masked_fill(W, _MASK, 2.5)),
    Call("`t`, `T`, `transpose`, `permute`, `movedim`", lambda W: W.t()),
    Call(
        "`reshape`, `view`, `flatten`, `squeeze`, `unsqueeze`",
        lambda W: W.reshape(2, -1),
    ),
    Call("slices, `select`, `narrow`, `split`, `unbind`", lambda W: W[1:, ::3]),
    Call("`W[list]`, `index_select`", lambda W: torch.index_select(W, 0, _ROWS)),
    Call("`cat`, `hstack`, `vstack`", lambda W: torch.cat([W, W * 2], 1)),
    Call("`cat` of sparse and dense", lambda W, x: torch.cat([W, x]), ((2, 8),)),
    Call("`stack`", lambda W: torch.stack([W, W * 2])),
    Call("`flip`, `roll`", lambda W: torch.roll(W, 1, 0)),
    Call("`tril`, `triu`, `diagonal`", lambda W: torch.tril(W)),
    Call("`expand`, `broadcast_to`", lambda W: W.expand(2, 4, 8)),
    Call("`clone`, `to`, `double`", lambda W: W.clone().double()),
    Call("everything else, as `cumsum`", lambda W: torch.cumsum(W, 0)),
]


def sparse(call: Call, format: str) -> spt.SparseTensor:
    """Return a tensor with gaps that fits every format, with stored values not 0."""
    generator = torch.Generator().manual_seed(call.ndim)
    shape = SHAPES[call.ndim]
    x = torch.randn(*shape, generator=generator, dtype=torch.float64)
    x = spt.GroupedNM(1, 2, 2)(x.reshape(-1, shape[-1])).to_dense().reshape(shape)
    if not format.startswith("nm"):
        x[..., 1, 2:5] = 0
        x[..., -1, :] = 0
    tensor = spt.tensor(x, format)
    values = torch.randn(tensor.nnz, generator=generator, dtype=torch.float64)
    return tensor.with_values(values)


def operands(call: Call) -> list[Tensor]:
    """Return the dense operands."""
    generator = torch.Generator().manual_seed(7)
    return [
        torch.randn(*shape, generator=generator, dtype=torch.float64)
        for shape in call.shapes
    ]


def mode(call: Call, format: str) -> str:
    """Say how a call is computed: compiled, converted, dense, or of values alone."""
    W = sparse(call, format)
    with recorded() as evaluations, torch.no_grad(), spt.strict():
        try:
            call.run(W, *operands(call))
        except WouldDensifyError:
            return "dense"
    if evaluations.conversions:
        return "converted"
    return "compiled" if evaluations else "values"


def fits(call: Call, format: str) -> bool:
    """Whether a format is one for the dimensions of a call's tensor."""
    if format not in FORMATS[call.ndim]:
        return False
    try:
        sparse(call, format)
    except FormatError:
        return False
    return True


@contextmanager
def interpreted():
    """Run kernels by the interpreter of the loops that they are printed from.

    Everything is the same but for the C compiler: tiny problems take no time, and a
    table of a thousand kernels can be checked.
    """
    forget_plans()
    with mock.patch("sparray.evaluation.execution.load_kernel", lambda *_: None):
        yield
    forget_plans()
