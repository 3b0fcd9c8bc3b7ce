"""Show sparsifiers what they ask to see, while a user runs the model."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn

from sparray.errors import PlanError
from sparray.torch.gradient_formats import unwatch, watch, watched_gradient
from sparray.torch.plan import Place
from sparray.torch.sparsifiers.sparsifier import Observed, Sparsifier
from sparray.torch.tensor import SparseTensor, values_of

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
    observers = [
        (place, s)
        for place, s in chosen
        if s.observes is not None and not _fed(place, s)
    ]
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
        If one is to regrow a parameter that is dense, or saw no gradient.
    """
    growing = [(p, s) for p, s in observers if s.observes is Observed.GROWTH]
    with ExitStack() as stack:
        for place, _ in growing:
            stack.callback(_unwatch, place.parameter)
            _watch(place)
        for place, sparsifier in observers:
            for handle in _hooks(place, sparsifier):
                stack.callback(handle.remove)
        yield
        for place, sparsifier in growing:
            if not _fed(place, sparsifier):
                raise PlanError(
                    f"{place.name}: expected calibrate= to call backward, since "
                    f"{sparsifier!r} chooses by {Observed.GROWTH.value}, got none"
                )


def _fed(place: Place, sparsifier: Any) -> bool:
    """Show a sparsifier the dense gradient of a parameter, if there is one."""
    if sparsifier.observes is not Observed.GROWTH:
        return False
    gradient = watched_gradient(place.parameter)
    if gradient is None:
        return False
    sparsifier.forget()
    sparsifier.observe(gradient.detach())
    return True


def _watch(place: Place) -> None:
    if not isinstance(place.parameter, SparseTensor):
        raise PlanError(
            f"{place.name}: expected a parameter that is sparse, to exchange entries "
            "of, got a dense one; sparsify it first, as by RandomFraction"
        )
    watch(place.parameter)


def _unwatch(parameter: Any) -> None:
    if isinstance(parameter, SparseTensor):
        unwatch(parameter)


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
