"""In which format the gradient of a sparse tensor is: its ``grad_format``.

By default a gradient has the tensor's own pattern, and autograd sees one leaf, the
values. A named format holds these same entries in another way, a sparsifier keeps some
of them. A dense gradient has elements where nothing is stored. It is that of a second
leaf, the *anchor*: zeros of the tensor's shape that take no memory, of which every
compiled backward computes the gradient as that of the whole tensor.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from sparray.errors import UnsupportedError
from sparray.formats.format import Format
from sparray.formats.named import as_format, format_text
from sparray.records import dataclass

if TYPE_CHECKING:
    from sparray.torch.pattern import Pattern
    from sparray.torch.tensor import SparseTensor

__all__ = [
    "GradientRule",
    "anchor_of",
    "as_rule",
    "attach",
    "carry",
    "grad_leaf",
    "refuse_anchored",
    "shown",
    "unwatch",
    "watch",
    "watched_gradient",
]


@dataclass(frozen=True, slots=True)
class GradientRule:
    """In which format a gradient is, and what is kept of it.

    Attributes
    ----------
    format : Format or None
        None for that of the tensor.
    sparsifier : Sparsifier or None
        Chooses among the stored entries, or among all elements if the format is dense.
    watched : bool
        Whether the dense gradient is computed beside the one that is asked for: for
        who regrows entries, and not for ``grad``.
    """

    format: Format | None
    sparsifier: Any = None
    watched: bool = False

    @property
    def is_dense(self) -> bool:
        """Whether there is a gradient where the tensor stores nothing."""
        return self.format is not None and self.format.is_dense

    @property
    def asked(self) -> "GradientRule | None":
        """What was asked for, whoever else watches."""
        plain = replace(self, watched=False) if self.watched else self
        return None if plain == GradientRule(None) else plain

    def __str__(self) -> str:
        format = None if self.format is None else format_text(self.format)
        if self.sparsifier is None:
            return str(format)
        chosen = repr(self.sparsifier)
        return chosen if format is None else f"{chosen} in {format}"


def as_rule(wanted: Any, pattern: "Pattern") -> GradientRule | None:
    """Return what a ``grad_format`` means for a tensor of a pattern.

    Parameters
    ----------
    wanted : str, Format, Sparsifier, Sparse, GradientRule or None
        A sparsifier alone keeps some of the entries in the tensor's own format.
    pattern : Pattern
        Of the tensor.

    Raises
    ------
    FormatError
        If it names no format.
    PatternError
        If the format cannot hold the tensor's entries.
    """
    if wanted is None or isinstance(wanted, GradientRule):
        return wanted
    sparsifier: Any = None
    format: str | Format | None
    if isinstance(wanted, str | Format):
        format = wanted
    else:
        # A Sparse has both; a sparsifier has a way to keep.
        sparsifier = getattr(wanted, "sparsifier", wanted)
        format = getattr(wanted, "format", None)
        if not hasattr(sparsifier, "keep"):
            raise UnsupportedError(
                "grad_format: expected None, a format such as 'dense' or 'csc', a "
                f"sparsifier or a Sparse, got {wanted!r}"
            )
    made: Format | None = None
    if format is not None:
        made = as_format(format, len(pattern.shape))
    if made == pattern.format:
        made = None
    if made is not None and not made.is_dense and sparsifier is None:
        pattern.converted(made)
    return None if made is sparsifier is None else GradientRule(made, sparsifier)


def anchor_of(tensor: "SparseTensor") -> torch.Tensor | None:
    """Return the leaf whose gradient is the dense one of a tensor, if it has one."""
    rule = tensor._rule
    if rule is None or not tensor._stored.requires_grad:
        return None
    if not (rule.is_dense or rule.watched):
        return None
    if tensor._anchor is None and (
        tensor._stored.is_leaf or tensor._stored.retains_grad
    ):
        # One element in memory, whatever the shape.
        zero = torch.zeros((), dtype=tensor._stored.dtype).expand(tensor.shape)
        tensor._anchor = zero.requires_grad_()
        if rule.sparsifier is not None and rule.is_dense:
            tensor._anchor.register_hook(_Chosen(rule.sparsifier))  # type: ignore[no-untyped-call]
    return tensor._anchor


def grad_leaf(tensor: "SparseTensor") -> torch.Tensor:
    """Return the tensor whose gradient is that of a sparse tensor."""
    rule = tensor._rule
    if rule is None or not rule.is_dense:
        return tensor._stored
    anchor = anchor_of(tensor)
    return tensor._stored if anchor is None else anchor


def watch(tensor: "SparseTensor") -> None:
    """Compute the dense gradient of a tensor, too, from now on.

    Its ``grad`` stays what it is. Nothing that was accumulated counts.
    """
    rule = tensor._rule or GradientRule(None)
    if rule.is_dense and rule.sparsifier is None:
        return
    tensor._rule, tensor._anchor = replace(rule, watched=True), None


def unwatch(tensor: "SparseTensor") -> None:
    """Compute the dense gradient of a tensor no longer, but if it is asked for."""
    rule = tensor._rule
    if rule is not None and rule.watched:
        tensor._rule, tensor._anchor = rule.asked, None


def watched_gradient(tensor: Any) -> torch.Tensor | None:
    """Return the dense gradient of a tensor that is watched, or is to have one."""
    anchor = getattr(tensor, "_anchor", None)
    return None if anchor is None else anchor.grad


def shown(tensor: "SparseTensor", raw: torch.Tensor) -> torch.Tensor:
    """Return the gradient of `grad_leaf` in the tensor's ``grad_format``."""
    from sparray.torch.tensor import SparseTensor  # it takes rules

    rule = tensor._rule
    if rule is not None and rule.is_dense and raw.shape == tensor.shape:
        return raw
    made = SparseTensor(tensor._pattern, raw)
    if rule is None or rule.format is None or rule.is_dense:
        return made
    if rule.sparsifier is None:
        return made.to_format(rule.format)
    from sparray.torch.sparsifiers.keep_nonzero import KeepNonzero  # it takes tensors

    return KeepNonzero()(made, rule.format)


class _Chosen:
    """A hook that sets what a sparsifier does not keep of a gradient to 0."""

    # It is attached again where a tensor is restored: torch need not warn.
    __torch_unserializable__ = True

    def __init__(self, sparsifier: Any, pattern: "Pattern | None" = None) -> None:
        self.sparsifier, self.pattern = sparsifier, pattern

    def __call__(self, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient with zeros."""
        from sparray.torch.tensor import SparseTensor  # it takes rules

        with torch.no_grad():
            if self.pattern is None:
                mask = self.sparsifier.keep(grad.detach())
            else:
                given = SparseTensor(self.pattern, grad.detach())
                mask = self.sparsifier.keep_stored(given)
        return grad.masked_fill(~mask, 0)


def attach(tensor: "SparseTensor") -> None:
    """Let the rule's sparsifier see gradients of the values, once for each values."""
    rule, values = tensor._rule, tensor._stored
    if rule is None or rule.sparsifier is None or rule.is_dense:
        return
    if tensor._hooked is not None and tensor._hooked[0] is values:
        return
    if values.requires_grad:
        hook = _Chosen(rule.sparsifier, tensor._pattern)
        tensor._hooked = values, values.register_hook(hook)  # type: ignore[no-untyped-call]


def carry(
    source: "SparseTensor",
    made: "SparseTensor",
    change: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> "SparseTensor":
    """Return a tensor made of another one, with its rule, and its anchor in the graph.

    Parameters
    ----------
    source, made : SparseTensor
        ``made`` is ``source`` in other words: a copy, a transposition.
    change : callable, optional
        What makes the anchor of ``made`` of that of ``source``; the same by default.
    """
    rule = source._rule
    if rule is None:
        return made
    made._rule = rule
    if rule.is_dense or rule.watched:
        if made._stored.requires_grad and torch.is_grad_enabled():
            anchor = anchor_of(source)
            if anchor is not None and made._stored is not source._stored:
                anchor = anchor.view_as(anchor)
            made._anchor = (
                anchor if change is None or anchor is None else change(anchor)
            )
    elif made.shape != source.shape:
        made._rule = None
    return made


def refuse_anchored(what: str, *tensors: Any) -> None:
    """Raise if a gradient would be lost where a tensor stores nothing.

    Raises
    ------
    UnsupportedError
        If one has a dense gradient, and the graph is recorded.
    """
    if not torch.is_grad_enabled():
        return
    for tensor in tensors:
        if getattr(tensor, "_rule", None) is not None and anchor_of(tensor) is not None:
            raise UnsupportedError(
                f"{what}: expected a tensor whose gradient has its pattern, or a dense "
                "result, got grad_format 'dense' and a sparse result, which has no "
                "gradient where nothing is stored; use W.to_dense(), or W.values() for "
                "the gradient of stored entries"
            )
