"""Remember what functions of nodes returned, by the nodes' identity.

Nodes are immutable, but equality is no key for them: the literals 1, 1.0 and True are
equal, and differ in dtype; and its hash would visit the whole tree.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["cached_by_identity"]

P = ParamSpec("P")
R = TypeVar("R")


def cached_by_identity(size: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that keeps the results of a function of nodes.

    Parameters
    ----------
    size : int
        How many are kept, with their arguments: the latest ones.

    Notes
    -----
    The function's arguments and its results must be such that nothing changes them.
    Calls with arguments by name are not remembered.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        # Arguments that are kept stay alive, so nothing else can have their identity.
        kept: OrderedDict[tuple[int, ...], tuple[R, tuple[Any, ...]]] = OrderedDict()

        @wraps(function)
        def cached(*given: P.args, **named: P.kwargs) -> R:
            if named:
                return function(*given, **named)
            key = tuple(map(id, given))
            found = kept.get(key)
            if found is not None:
                return found[0]
            made = function(*given, **named)
            kept[key] = made, given
            if len(kept) > size:
                # The oldest alone: to free all at once takes longer than many a plan.
                with suppress(KeyError):
                    kept.popitem(last=False)
            return made

        return cached

    return decorate
