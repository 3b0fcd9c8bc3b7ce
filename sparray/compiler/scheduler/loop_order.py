"""Enumerate the loop orders that the operands' levels allow."""

from collections.abc import Collection, Iterator, Sequence

from sparray.compiler import names
from sparray.compiler.index_notation.affine import bases, is_affine
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.levels import is_walked, level_index, n_levels, walked_index
from sparray.compiler.problem import TensorSpec

__all__ = ["allowed_orders", "constraints", "first_reduction", "violated"]

_MOST_PERMUTED = 6


def constraints(
    access: Access, spec: TensorSpec, loops: Collection[str]
) -> frozenset[tuple[str, str]]:
    """Return the pairs of loops that an access needs in that order.

    A level that is walked must come after all levels above it; a level that is
    located can wait until its index is bound. A level's index that is no loop follows
    from the loops over its parts, or from that over the whole.
    """
    pairs: set[tuple[str, str]] = set()
    for depth in range(n_levels(spec)):
        if not is_walked(spec, access, depth):
            continue
        inner = walked_index(spec, access, depth)
        for above in range(depth):
            outer = level_index(spec, access, above)
            if inner is not None and outer != inner:
                pairs.update((loop, inner) for loop in _loops_of(outer, loops))
    return frozenset(pairs)


def _loops_of(index: str, loops: Collection[str]) -> list[str]:
    if index in loops:
        return [index]
    if is_affine(index):
        return [loop for base in bases(index) for loop in _loops_of(base, loops)]
    part = names.derived(index)
    if isinstance(part, names.Block):
        return _loops_of(part.base, loops)
    if isinstance(part, names.Diagonal):
        return [*_loops_of(part.column, loops), *_loops_of(part.row, loops)]
    found = []
    for loop in loops:
        whole = names.derived(loop)
        if isinstance(whole, names.Block) and whole.base == index:
            found.append(loop)
        elif isinstance(whole, names.Diagonal) and whole.column == index:
            found += [loop, whole.row]
    return found


def violated(order: Sequence[str], pairs: frozenset[tuple[str, str]]) -> bool:
    """Tell whether an order breaks a pair; no order keeps a loop before itself."""
    place = {index: n for n, index in enumerate(order)}
    return any(place[a] >= place[b] for a, b in pairs if a in place and b in place)


def first_reduction(order: Sequence[str], reduced: Collection[str]) -> int:
    """Return the place of the outermost reducing loop; past the end if none reduces."""
    return next((n for n, index in enumerate(order) if index in reduced), len(order))


def allowed_orders(
    indices: Sequence[str],
    pairs: frozenset[tuple[str, str]],
    preferred: Sequence[Sequence[str]],
) -> Iterator[tuple[str, ...]]:
    """Yield the orders of the indices that break no pair.

    All of them for few indices. For many, one per preferred order: its indices
    first come, first served as far as the pairs allow.
    """
    if len(indices) <= _MOST_PERMUTED:
        yield from _extended((), indices, pairs)
        return
    seen = set()
    for wish in preferred:
        # A level may store a part of an index whose loop is over all of it.
        known = [part if part in indices else names.whole(part) for part in wish]
        wanted = dict.fromkeys([*known, *indices])
        sorted_order = _topological([i for i in wanted if i in indices], pairs)
        if sorted_order is not None and sorted_order not in seen:
            seen.add(sorted_order)
            yield sorted_order


def _extended(
    order: tuple[str, ...], left: Sequence[str], pairs: frozenset[tuple[str, str]]
) -> Iterator[tuple[str, ...]]:
    """Yield the orders that begin in a given way, as `permutations` has them."""
    if not left:
        yield order
    for n, index in enumerate(left):
        if not any(inner == index and outer in left for outer, inner in pairs):
            yield from _extended((*order, index), [*left[:n], *left[n + 1 :]], pairs)


def _topological(
    wanted: Sequence[str], pairs: frozenset[tuple[str, str]]
) -> tuple[str, ...] | None:
    left, order = list(wanted), []
    while left:
        for index in left:
            if not any(b == index and a in left for a, b in pairs):
                break
        else:
            return None
        left.remove(index)
        order.append(index)
    return tuple(order)
