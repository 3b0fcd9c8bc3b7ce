"""Formats of the temporaries that a plan makes."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sparray.compiler.index_notation.affine import is_affine
from sparray.compiler.index_notation.nodes import Access, Assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.problem import TensorSpec
from sparray.formats.allotted import Allottable, MarkArranging, PlaceInsertable
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.level import (
    Appendable,
    CoordinateIterable,
    Insertable,
    Level,
    Locatable,
    PositionIterable,
    Preparable,
    Searchable,
)
from sparray.formats.named import named_format
from sparray.formats.singleton import Singleton
from sparray.formats.slotted import Slotted

__all__ = [
    "can_allot",
    "can_assemble",
    "can_place",
    "can_search",
    "coordinate_list",
    "has_blocks",
    "is_coordinate_list",
    "may_be_unwalkable",
    "reordered",
    "searched_operands",
    "searched_spec",
    "slotted_leaf",
    "takes_parts",
    "sorted_spec",
    "temporary_format",
    "without_blocks",
]


def coordinate_list(spec: TensorSpec, *, unique: bool) -> TensorSpec:
    """Return the spec of a list of coordinates in any order, by the same levels.

    ``unique`` says that no coordinates occur twice.
    """
    return replace(
        spec, format=_list_format(spec.format.dimension_order, False, unique)
    )


def sorted_spec(spec: TensorSpec) -> TensorSpec:
    """Return the spec of a list of coordinates once it is sorted."""
    unique = spec.format.unique
    return replace(spec, format=_list_format(spec.format.dimension_order, True, unique))


def _list_format(order: Sequence[int], ordered: bool, unique: bool) -> Format:
    ndim = len(order)
    levels: list[Level] = []
    for depth in range(ndim):
        last = depth == ndim - 1
        kind = Singleton if depth else Compressed
        levels.append(kind(unique=last and unique, ordered=ordered))
    return Format(levels, order)


def is_coordinate_list(format: Format) -> bool:
    """Tell whether every entry has one position, the same in every level.

    Each level has a dimension: lists of parts are no lists of coordinates.
    """
    if not format.is_plain:
        return False
    first, *rest = format.levels or (None,)
    if not isinstance(first, PositionIterable) or first.branchless:
        return False
    if not first.compact:
        # Its positions are slots, some of them for no entry.
        return False
    if any(not level.branchless for level in rest):
        return False
    return not rest or not first.unique


def can_assemble(format: Format) -> bool:
    """Tell whether kernels can make a format: full levels first, then appended ones.

    One that gives its fibres slots can only be the innermost level, below full ones.
    """
    full = [level.full for level in format.levels]
    return (
        format.is_plain
        and format.batch_ndim == 0
        and full == sorted(full, reverse=True)
        and all(
            isinstance(level, Insertable if level.full else Appendable)
            for level in format.levels
            if level is not slotted_leaf(format)
        )
    )


def takes_parts(format: Format) -> bool:
    """Tell whether kernels scatter entries, none of them zero, into parts of fibres.

    The innermost level gives slots to a block of a dimension; zeros need none there.
    """
    return not format.is_plain and slotted_leaf(format) is not None


def slotted_leaf(format: Format) -> Slotted | None:
    """Return the innermost level if it gives slots to fibres below full levels."""
    if format.n_levels < 2:
        return None
    *above, leaf = format.levels
    if isinstance(leaf, Slotted) and all(level.full for level in above):
        return leaf
    return None


def can_place(format: Format) -> bool:
    """Tell whether every level has room for all entries before any is known."""
    return format.batch_ndim == 0 and all(
        isinstance(level, Preparable) for level in format.levels
    )


def can_allot(format: Format) -> bool:
    """Tell whether every level has room, or gets it once its entries are counted.

    One that is arranged stands above the one that decides its order.
    """
    levels = format.levels
    for level, below in zip(levels, (*levels[1:], None), strict=True):
        if isinstance(level, PlaceInsertable) != isinstance(below, MarkArranging):
            return False
        if not isinstance(level, Preparable | Allottable | PlaceInsertable):
            if not isinstance(level, MarkArranging):
                return False
    return format.batch_ndim == 0 and not can_place(format)


def can_search(format: Format) -> bool:
    """Tell whether each level, once it is sorted, finds a coordinate that is known."""
    return format.is_plain and all(
        isinstance(level, Locatable | Searchable) for level in format.levels
    )


def searched_spec(access: Access, spec: TensorSpec) -> TensorSpec:
    """Return what an operand has to be so that its access can be followed.

    Levels that are read along a diagonal, or at coordinates that are not an index
    alone, are searched: for one that is known, or for where a window begins.
    """
    repeated = len(set(access.indices)) < len(access.indices)
    if not repeated and not any(map(is_affine, access.indices)):
        return spec
    if can_search(spec.format):
        return spec
    ndim = spec.format.ndim
    levels = named_format("csr" if ndim == 2 else "csf", ndim).levels
    return replace(spec, format=Format(levels, spec.format.dimension_order))


def searched_operands(
    assignment: Assignment, operands: Iterable[tuple[str, TensorSpec]]
) -> tuple[tuple[str, TensorSpec], ...]:
    """Return operands as they have to be so that every access can be followed."""
    read = {access.tensor: access for access in accesses(assignment.value)}
    return tuple(
        (name, searched_spec(read[name], spec) if name in read else spec)
        for name, spec in operands
    )


def has_blocks(format: Format) -> bool:
    """Tell whether a format stores blocks: one level is appended to, none other stores.

    A block may be a part of a row, a row, or a diagonal.
    """
    listed = [
        depth
        for depth, level in enumerate(format.levels)
        if level.roles or not isinstance(level, Preparable)
    ]
    if len(listed) != 1 or format.batch_ndim:
        return False
    appended = format.levels[listed[0]]
    return (
        listed[0] < format.n_levels - 1
        and isinstance(appended, Appendable)
        and not appended.branchless
        and appended.unique
        and appended.ordered
    )


def may_be_unwalkable(format: Format) -> bool:
    """Tell whether there may be no loops that visit each entry of a format.

    A level stores the difference of two dimensions, or repeats coordinates in no order
    above a level that does not list entries.
    """
    if any(len(part.dimensions) > 1 for part in format.expressions):
        return True
    loose = any(not level.ordered and not level.unique for level in format.levels)
    return loose and not is_coordinate_list(format)


def without_blocks(spec: TensorSpec) -> TensorSpec:
    """Return the spec of what a result with blocks is made of: rows of entries."""
    ndim = spec.format.ndim
    levels = [*[Dense()] * (ndim - 1), Compressed()]
    return replace(spec, format=Format(levels, spec.format.dimension_order))


def reordered(spec: TensorSpec, order: Sequence[int]) -> TensorSpec:
    """Return a spec with the dimensions in another order.

    The levels are the same, unless no conversion could make them, or not in bounds.
    """
    levels = spec.format.levels
    if not can_assemble(spec.format) or slotted_leaf(spec.format) is not None:
        # Along another dimension a single fibre may be long, and so may all slots.
        levels = _rows_of(spec.format)
    return replace(spec, format=Format(levels, tuple(order)))


def _rows_of(format: Format) -> tuple[Level, ...]:
    """Return levels that are dense where those of a format are, down to its rows.

    Below others there may be far more rows than memory has room for.
    """
    seen: set[int] = set()
    for part, level in zip(format.expressions, format.levels, strict=True):
        if len(part.dimensions) > 1:
            continue
        if not isinstance(level, CoordinateIterable):
            break
        seen.add(part.dimension)
    n_dense = min(len(seen), format.ndim - 1)
    return (*[Dense()] * n_dense, *[Compressed()] * (format.ndim - n_dense))


def temporary_format(result: Format, ndim: int) -> Format:
    """Return the format of a sum that becomes part of a result.

    It is sparse where the result is: what the sum leaves empty is empty there too.
    """
    if result.is_dense:
        return named_format("dense", ndim)
    if result.ndim == ndim and result.is_sorted and result.unique:
        if slotted_leaf(result) is None:
            return result
    return named_format("csf", ndim)
