"""Formats of the temporaries that a plan makes."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sparray.compiler.index_notation.affine import is_affine
from sparray.compiler.index_notation.nodes import Access, Assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.problem import TensorSpec
from sparray.compiler.scheduler.format_facts import (
    can_assemble,
    can_search,
    slotted_leaf,
)
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.level import (
    CoordinateIterable,
    Level,
)
from sparray.formats.named import named_format
from sparray.formats.singleton import Singleton

__all__ = [
    "coordinate_list",
    "reordered",
    "searched_operands",
    "searched_spec",
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

    It is sparse where the result is: what the sum leaves empty is empty there too. It
    has no slices, which are cut from what is whole at the end.
    """
    if result.is_dense:
        return named_format("dense", ndim)
    whole = result.is_sorted and result.unique and not result.batch_ndim
    if result.ndim == ndim and whole:
        if slotted_leaf(result) is None:
            return result
    return named_format("csf", ndim)
