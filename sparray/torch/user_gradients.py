"""One differentiable function for every operator that brings its own gradient."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sparray.errors import ShapeError
from sparray.torch.following import onto
from sparray.torch.gradient_formats import anchor_of
from sparray.torch.pattern import Pattern
from sparray.torch.tensor import SparseTensor, dense_of, values_of

__all__ = ["evaluate"]


class _Call:
    """A call whose tensors were taken out, so that autograd sees them."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.names = list(kwargs)
        self.given = [*args, *kwargs.values()]
        self.places = [n for n, x in enumerate(self.given) if isinstance(x, Tensor)]
        self.patterns = [_pattern(self.given[n]) for n in self.places]
        self.result: Pattern | None = None
        # Sparse ones whose gradient is wanted densely as well, each with a second leaf.
        self.anchored = [n for n in self.places if _anchor(self.given[n]) is not None]

    def leaves(self) -> list[Any]:
        """Return what autograd sees: tensors, values of sparse ones, and anchors."""
        tensors = [self.given[n] for n in self.places]
        anchors = [_anchor(self.given[n]) for n in self.anchored]
        return [*map(values_of, tensors), *anchors]

    def filled(self, leaves: Any) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments with other leaves."""
        given = list(self.given)
        # Anchors stand behind them.
        for n, pattern, leaf in zip(self.places, self.patterns, leaves, strict=False):
            given[n] = leaf if pattern is None else SparseTensor(pattern, leaf)
        count = len(given) - len(self.names)
        kwargs = dict(zip(self.names, given[count:], strict=True))
        return given[:count], kwargs


def _anchor(x: Any) -> Tensor | None:
    return anchor_of(x) if isinstance(x, SparseTensor) else None


def _pattern(x: Any) -> Pattern | None:
    return x.pattern if isinstance(x, SparseTensor) else None


def evaluate(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function whose gradient is given, as a part of the graph.

    Parameters
    ----------
    forward : callable
        Returns one tensor, dense or sparse.
    backward : callable
        Takes the gradient of the result, then the arguments; returns their gradients.
    args, kwargs
        Of the call.
    """
    call = _Call(args, kwargs)
    made: Any = _Evaluate.apply(  # type: ignore[no-untyped-call]
        forward, backward, call, *call.leaves()
    )
    return made if call.result is None else SparseTensor(call.result, made)


class _Evaluate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, forward: Any, backward: Any, call: _Call, *leaves: Any
    ) -> Any:
        args, kwargs = call.filled(leaves)
        made = forward(*args, **kwargs)
        ctx.save_for_backward(*leaves)
        ctx.backward_of, ctx.call = backward, call
        if isinstance(made, SparseTensor):
            call.result = made.pattern
            return made.values()
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        call: _Call = ctx.call
        args, kwargs = call.filled(ctx.saved_tensors)
        (grad,) = grads
        if call.result is not None:
            grad = SparseTensor(call.result, grad)
        found = ctx.backward_of(grad, *args, **kwargs)
        found = found if isinstance(found, tuple | list) else (found,)
        if len(found) > len(call.given):
            raise ShapeError(
                f"backward: expected a gradient for each of {len(call.given)} "
                f"arguments at most, got {len(found)}"
            )
        found = [*found, *[None] * (len(call.given) - len(found))]
        of_leaves = [
            _of_leaf(found[n], pattern, leaf)
            for n, pattern, leaf in zip(
                call.places, call.patterns, ctx.saved_tensors, strict=False
            )
        ]
        of_anchors = [_of_anchor(found[n], call.given[n]) for n in call.anchored]
        return None, None, None, *of_leaves, *of_anchors


def _of_leaf(grad: Any, pattern: Pattern | None, leaf: Tensor) -> Any:
    if grad is None or pattern is None:
        return dense_of(grad)
    if isinstance(grad, SparseTensor) or grad.shape != leaf.shape:
        if tuple(grad.shape) != tuple(pattern.shape):
            raise ShapeError(
                f"backward: expected a gradient of shape {tuple(pattern.shape)}, or "
                f"one value for each of {len(leaf)} stored entries, got shape "
                f"{tuple(grad.shape)}"
            )
        return onto(grad, pattern).values()
    return grad


def _of_anchor(grad: Any, argument: SparseTensor) -> Any:
    """Return a gradient of a sparse argument as one of every element."""
    if isinstance(grad, Tensor) and grad.shape != argument.shape:
        grad = SparseTensor(argument.pattern, grad)
    return dense_of(grad)
