"""Show sparsifiers what they ask to see, while a user runs the model."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn

from sparray.errors import PlanError
from sparray.torch.plan import Place
from sparray.torch.sparsifiers.sparsifier import Observed, Sparsifier
from sparray.torch.tensor import values_of

__all__ = ["observing", "run"]


def run(
    model: nn.Module,
    chosen: Sequence[tuple[Place, Sparsifier]],
    calibrate: Callable[[nn.Module], Any] | None,
) -> None:
    """Run a model so that those sparsifiers see it that must.

    Parameters
    ----------
    model : Module
        Given to ``calibrate``.
    chosen : sequence of (Place, Sparsifier)
        Each parameter, with a sparsifier of its own.
    calibrate : callable, optional
        Runs the model on data, and backward where gradients are observed: each time
        from gradients that are zero.

    Raises
    ------
    PlanError
        If a sparsifier must see something, and there is no ``calibrate``.
    """
    observers = [(place, s) for place, s in chosen if s.observes is not None]
    if not observers:
        return
    if calibrate is None:
        place, sparsifier = observers[0]
        what = sparsifier.observes.value if sparsifier.observes else ""
        raise PlanError(
            f"{place.name}: {sparsifier!r} chooses by {what}; expected calibrate=, a "
            "function that runs the model on data, got none"
        )
    with observing(observers):
        calibrate(model)


@contextmanager
def observing(observers: Sequence[tuple[Place, Sparsifier]]) -> Iterator[None]:
    """Feed sparsifiers inside the block, by hooks that are gone after it.

    Raises
    ------
    PlanError
        If one must see what hooks do not show.
    """
    with ExitStack() as stack:
        for place, sparsifier in observers:
            for handle in _hooks(place, sparsifier):
                stack.callback(handle.remove)
        yield


def _hooks(place: Place, sparsifier: Any) -> Iterator[Any]:
    if sparsifier.observes is Observed.INPUTS:
        for module, _ in place.owners:
            yield module.register_forward_pre_hook(
                lambda _, args: sparsifier.observe(args[0])
            )
    elif sparsifier.observes is Observed.GRADIENTS:
        parameter = place.parameter
        leaf: Any = values_of(parameter)
        yield leaf.register_post_accumulate_grad_hook(
            lambda _: sparsifier.observe(parameter)
        )
    else:
        raise PlanError(
            f"{place.name}: expected a sparsifier that chooses by what a run shows, "
            f"got {sparsifier!r}, which chooses by {sparsifier.observes.value}; "
            "call its observe, then the sparsifier itself"
        )
