"""The memory that results and workspaces take at least, checked before compiling.

What extents say is known before anything runs: dense levels of a result, offsets of the
rows of a sparse one, workspaces. What stored entries take is not, and is found out when
they are counted.
"""

from collections.abc import Mapping, Sequence

from sparray._kernels.available import available_bytes
from sparray._kernels.runtime import num_threads
from sparray._kernels.sizes import byte_text
from sparray.compiler import names
from sparray.compiler.cin.nodes import Forall, Workspace
from sparray.compiler.index_notation.places import target_place, word_place
from sparray.compiler.index_notation.tokenizer import marked
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.kernel_facts.workspaces import LISTED
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.compiler.problem import TensorSpec
from sparray.compiler.scheduler.decision import Decision
from sparray.compiler.scheduler.loop_tree import workspace_sizes
from sparray.compiler.scheduler.steps import KernelStep, Plan
from sparray.compiler.scheduler.user_names import UserNames
from sparray.errors import KernelMemoryError
from sparray.formats.format import Format
from sparray.formats.level import Preparable

__all__ = ["check_kernel", "check_plan", "check_result", "fits", "least_bytes"]

_SMALL = 2**20
"""Bytes that always fit."""


def least_bytes(spec: TensorSpec, shape: Sequence[int]) -> int:
    """Return the bytes that an array takes whatever it stores.

    Those of the values of dense levels, or of the offsets below them.
    """
    positions = 1
    extents = spec.format.level_extents(shape)
    for level, extent in zip(spec.format.levels, extents, strict=True):
        if level.full or isinstance(level, Preparable):
            positions *= extent
        elif "pos" in level.roles:
            return (positions + 1) * numpy_dtype(spec.index_dtype).itemsize
        else:
            return 0
    return positions * numpy_dtype(spec.dtype).itemsize


def check_plan(plan: Plan, users: UserNames, sizes: Mapping[str, int]) -> None:
    """Raise an error if something that a plan makes would not fit in memory.

    Parameters
    ----------
    plan : Plan
        Of the expression.
    users : UserNames
        The expression, for messages.
    sizes : mapping of str to int
        Extents of the indices of the plan's problem, and of its windows.

    Raises
    ------
    KernelMemoryError
        With the expression, and the result or the workspace's index marked.
    """
    shapes = {
        access.tensor: [sizes[index] for index in access.indices]
        for access in accesses(plan.problem.assignment.value)
    }
    target = plan.problem.assignment.target
    check_result(plan.problem.output, [sizes[i] for i in target.indices], users)
    for step in plan.steps:
        if not isinstance(step, KernelStep):
            shapes[step.result] = shapes[step.source]
            continue
        problem = step.decision.problem
        known = dict(sizes)
        read = dict(zip((n for n, _ in problem.operands), step.operands, strict=True))
        for access in problem.reads:
            # A conversion has indices of its own.
            known.update(zip(access.indices, shapes[read[access.tensor]], strict=True))
        made = [known[index] for index in problem.assignment.target.indices]
        shapes[step.result] = made
        if step.result != names.OUTPUT:
            _refuse(
                least_bytes(problem.output, made),
                f"{_described(step.result, problem.output, made)}, which is computed "
                "first,",
                users.text,
                target_place(users.text),
            )
        check_kernel(step.decision, users, known)


def check_result(spec: TensorSpec, shape: Sequence[int], users: UserNames) -> None:
    """Raise an error if a result of a format and shape would not fit in memory."""
    name = f" {users.tensors[names.OUTPUT]}" if "=" in users.text else ""
    what = _described(f"the result{name}", spec, shape)
    _refuse(least_bytes(spec, shape), what, users.text, target_place(users.text))


def check_kernel(
    decision: Decision, users: UserNames, sizes: Mapping[str, int]
) -> None:
    """Raise an error if the workspaces of a kernel would not fit in memory."""
    found = workspace_sizes(decision, sizes)
    statement = decision.statement
    parallel = isinstance(statement, Forall) and statement.parallel
    threads = num_threads() if parallel else 1
    for size in found:
        indices = [users.index(index) for index in size.workspace.indices]
        place = word_place(users.text, indices[-1]) if indices else 0
        what = _workspace_text(size.workspace, indices, threads)
        _refuse(size.n_bytes * threads, what, users.text, place)


def fits(decision: Decision, sizes: Mapping[str, int]) -> bool:
    """Tell whether a kernel's result and workspaces fit in memory."""
    problem = decision.problem
    shape = [sizes[index] for index in problem.assignment.target.indices]
    found = sum(size.n_bytes for size in workspace_sizes(decision, sizes))
    found = found * num_threads() + least_bytes(problem.output, shape)
    return found <= _SMALL or found <= available_bytes()


def _workspace_text(workspace: Workspace, indices: list[str], threads: int) -> str:
    kind = workspace.kind if workspace.kind in LISTED else "dense"
    each = f" for each of {threads} threads" if threads > 1 else ""
    where = f" over {' '.join(indices)}" if indices else ""
    return f"a {kind} workspace{where} of {workspace.dtype}{each}"


def _described(name: str, spec: TensorSpec, shape: Sequence[int]) -> str:
    kind = _kind(spec.format)
    return f"{name} of shape {tuple(shape)}, {kind} {spec.dtype},"


def _kind(format: Format) -> str:
    return "dense" if format.is_dense else str(format)


def _refuse(n_bytes: int, what: str, text: str, place: int) -> None:
    if n_bytes <= _SMALL:
        return
    free = available_bytes()
    if n_bytes <= free:
        return
    message = (
        f"expected {what} to fit in memory, of which {byte_text(free)} are available, "
        f"got {byte_text(n_bytes)}"
    )
    raise KernelMemoryError(marked(text, place, message))
