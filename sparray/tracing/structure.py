"""Nested tuples, lists and dicts taken apart and put together again."""

import inspect
from collections.abc import AsyncIterator, Hashable, Iterator, Sequence
from typing import Any

from sparray.errors import TraceError

__all__ = ["flatten", "refuse_hidden", "unflatten"]


def flatten(value: Any) -> tuple[list[Any], Hashable]:
    """Return the leaves of a nested value in order, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Hashable:
    # Subclasses, as named tuples are, may be built in another way: leaves.
    if type(value) in (tuple, list):
        return type(value), tuple([_flatten(one, leaves) for one in value])
    if type(value) is dict:
        return dict, tuple([(key, _flatten(x, leaves)) for key, x in value.items()])
    leaves.append(value)
    return None


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """Return the nested value of a structure with given leaves."""
    return _unflatten(structure, iter(leaves))


def _unflatten(structure: Any, leaves: Iterator[Any]) -> Any:
    if structure is None:
        return next(leaves)
    kind, parts = structure
    if kind is dict:
        return {key: _unflatten(part, leaves) for key, part in parts}
    return kind(_unflatten(part, leaves) for part in parts)


def refuse_hidden(leaf: Any, lazy: type) -> None:
    """Refuse what a traced function returned if lazy arrays are, or may be, inside.

    Parameters
    ----------
    leaf : object
        Part of the result that is no tuple, list or dict.
    lazy : type
        Of lazy arrays.

    Raises
    ------
    TraceError
        If it runs later, as a generator does, or holds a lazy array.
    """
    kind = type(leaf).__name__
    if isinstance(leaf, Iterator | AsyncIterator) or inspect.isawaitable(leaf):
        if inspect.iscoroutine(leaf) or inspect.isgenerator(leaf):
            leaf.close()
        raise TraceError(
            f"result: expected arrays in tuples, lists and dicts, got a {kind}, whose "
            "code has not run yet"
        )
    if isinstance(leaf, tuple | list | set | frozenset):
        inside = list(leaf)
    elif isinstance(leaf, dict):
        inside = list(leaf.values())
    else:
        inside = (
            []
            if isinstance(leaf, type)
            else list(getattr(leaf, "__dict__", {}).values())
        )
    if not isinstance(leaf, lazy) and any(isinstance(x, lazy) for x in inside):
        raise TraceError(
            f"result: expected arrays in tuples, lists and dicts, got a {kind} with an "
            "array that is not computed yet"
        )
