"""Nested tuples, lists and dicts taken apart and put together again."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

__all__ = ["flatten", "unflatten"]


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
