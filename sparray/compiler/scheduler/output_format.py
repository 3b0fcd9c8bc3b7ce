"""Infer the format of a result from the formats of the operands alone.

The data play no part, so the format of a result never surprises: it is decided by
what an expression can leave empty.
"""

from sparray.compiler.cin.concretize import merged_value, split_reductions
from sparray.compiler.index_notation.affine import bases
from sparray.compiler.index_notation.nodes import Access, Assignment, Expr
from sparray.compiler.index_notation.simplify import accesses, free_indices
from sparray.compiler.levels import level_index
from sparray.compiler.merge_lattice import has_work_without
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.temporaries import searched_operands
from sparray.compiler.scheduler.walks import walking
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.level import Level
from sparray.formats.named import named_format

__all__ = ["infer_format"]


def infer_format(
    assignment: Assignment, operands: tuple[tuple[str, TensorSpec], ...]
) -> Format:
    """Return the format of a result for which none was asked.

    Parameters
    ----------
    assignment : Assignment
        Canonical, every access its own operand.
    operands : tuple of (str, TensorSpec)
        The operands.

    Returns
    -------
    Format
        - dense, if every coordinate can have a value other than the fill, and some
          index occurs in dense operands only;
        - dense, for a sum that leaves at most one dimension sparse: ``A @ x``,
          ``A @ X``, MTTKRP;
        - the format of the sparse operands, if those with as many dimensions as the
          result agree on one, and it fits;
        - else a level per dimension: dense where every coordinate can occur,
          compressed from the first that need not on.
    """
    target = assignment.target
    ndim = len(target.indices)
    value, reductions = split_reductions(assignment.value)
    merged = merged_value(value, reductions)
    dense = named_format("dense", ndim)
    operands = searched_operands(assignment, operands)
    problem = Problem(assignment, operands, TensorSpec(dense, "float64"))
    if ndim == 0:
        return dense
    full = [_is_full(merged, index, problem) for index in target.indices]
    if reductions and len(_left_sparse(merged, target.indices, problem)) <= 1:
        return dense
    if all(full) and any(
        _is_dense_only(merged, index, problem) for index in target.indices
    ):
        return dense
    shared = _shared_format(merged, target, problem)
    if shared is not None:
        return shared
    levels: list[Level] = []
    for index, everywhere in zip(target.indices, full, strict=True):
        is_dense = everywhere and not _may_lack(merged, index, problem)
        above_dense = all(level.full for level in levels)
        levels.append(Dense() if is_dense and above_dense else Compressed())
    if all(level.full for level in levels):
        levels[-1] = Compressed()
    return Format(levels)


def _is_full(value: Expr, index: str, problem: Problem) -> bool:
    walked = walking(value, index, problem)
    fixed = [
        access
        for access in dict.fromkeys(accesses(value))
        if index in free_indices(access)
        and access not in walked
        and _has_constant(access, problem)
    ]
    return has_work_without(value, [*walked, *fixed], problem.absence)


def _has_constant(access: Access, problem: Problem) -> bool:
    """Tell whether a sparse operand is read at a constant, where it may hold nothing.

    As a dimension of extent 1 that is broadcast is.
    """
    format = problem.specs[access.tensor].format
    return any(
        not level.full and not bases(access.indices[part.dimension])
        for part, level in zip(format.expressions, format.levels, strict=True)
    )


def _may_lack(value: Expr, index: str, problem: Problem) -> bool:
    """Tell whether levels of an index, or of a part of it, may lack a coordinate.

    Located ones too, which no loop walks.
    """
    found = []
    for access in dict.fromkeys(accesses(value)):
        format = problem.specs[access.tensor].format
        if any(
            index in bases(access.indices[part.dimension]) and not level.full
            for part, level in zip(format.expressions, format.levels, strict=True)
        ):
            found.append(access)
    return bool(found) and not has_work_without(value, found, problem.absence)


def _is_dense_only(value: Expr, index: str, problem: Problem) -> bool:
    """Tell whether an index has every value whatever sparse operands store.

    Here a dense level of a sparse operand counts as sparse: a row of a CSR matrix
    may be empty. So does a dimension that is broadcast.
    """
    sparse = [
        access
        for access in dict.fromkeys(accesses(value))
        if (index in free_indices(access) or _has_constant(access, problem))
        and not problem.specs[access.tensor].format.is_dense
    ]
    return not sparse or has_work_without(value, sparse, problem.absence)


def _left_sparse(value: Expr, indices: tuple[str, ...], problem: Problem) -> list[str]:
    """Return the indices that a result may lack values of.

    A slice of a batch counts as there, whatever is in it.
    """
    batched = set()
    for access in accesses(value):
        spec = problem.specs[access.tensor]
        depths = range(spec.format.batch_ndim)
        batched |= {level_index(spec, access, depth) for depth in depths}
    return [
        index
        for index in indices
        if index not in batched and not _is_dense_only(value, index, problem)
    ]


def _shared_format(value: Expr, target: Access, problem: Problem) -> Format | None:
    found = []
    for access in accesses(value):
        format = problem.specs[access.tensor].format
        if format.is_dense:
            continue
        if len(access.indices) != len(target.indices):
            return None
        if set(access.indices) == set(target.indices):
            places = [access.indices.index(index) for index in target.indices]
            found.append(format.permuted(places))
        else:
            found.append(format)
    if len(set(found)) != 1:
        return None
    format = found[0]
    if len(found) > 1 and any(level.bounded for level in format.levels):
        # A level of n entries in m holds one operand's, not two operands' together.
        return None
    return format if format.is_walkable else None
