"""Whether a loop may run over an operand's positions, and such a loop in chunks."""

from collections.abc import Sequence

from sparray.compiler.cin.nodes import Forall, Stmt, Where
from sparray.compiler.cin.traversal import walk
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.kernel_facts.positions import has_positions, kept_loops, may_cut
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.schedule.collect import COLLECTED
from sparray.compiler.scheduler.assembly import Choice
from sparray.compiler.scheduler.shape import Shape
from sparray.compiler.scheduler.user_names import UserNames
from sparray.compiler.scheduler.walks import walked_at

__all__ = ["check_pos", "check_pos_in_chunks", "position_loop"]


def position_loop(statement: Stmt, index: str) -> Forall | None:
    """Return the loop of an index that runs over positions; None if there is none."""
    for loop in walk(statement):
        if isinstance(loop, Forall) and loop.index == index and loop.pos:
            return loop
    return None


def check_pos(
    statement: Stmt,
    index: str,
    tensor: str,
    shape: Shape,
    choice: Choice,
    problem: Problem,
    user: UserNames,
) -> str | None:
    """Return what was expected of a loop over positions; None if all is well.

    Parameters
    ----------
    statement : Stmt
        The statement so far.
    index, tensor : str
        The loop and the operand.
    shape, choice, problem : Shape, Choice, Problem
        What is computed, and how its result is assembled.
    user : UserNames
        For the message.
    """
    shown = user.tensors.get(tensor, tensor)
    loops = next(
        (
            (loop.index, *loop.fused)
            for loop in walk(statement)
            if isinstance(loop, Forall) and loop.index == index
        ),
        (index,),
    )
    read = [a for a in accesses(shape.merged) if a.tensor == tensor]
    if len(read) != 1:
        times = f"{len(read)} times"
        return f"{shown} to be read once where work is looked for, got {times}"
    (access,) = read
    if not has_positions(access, problem.specs[tensor], loops):
        said = " ".join(map(user.index, loops))
        return (
            f"a loop, fused from those over the outermost levels of {shown}, all with "
            f"coordinates, of which none is repeated; got one over {said}"
        )
    if not _decides(access, loops, shape, problem):
        return f"{shown} alone to say where there is work"
    if any(
        isinstance(part, Where)
        and part.workspace.kind in COLLECTED
        and not {*part.workspace.indices}.isdisjoint(loops)
        for part in walk(statement)
    ):
        said = " ".join(map(user.index, loops))
        return f"a loop of which no sums are listed, got one over {said}"
    inherits = choice.way is Assembly.INHERIT and choice.source == tensor
    if not inherits and choice.way is not Assembly.INSERT:
        return f"a dense result, or one with the pattern of {shown}"
    return None


def _decides(
    access: Access, loops: tuple[str, ...], shape: Shape, problem: Problem
) -> bool:
    """Tell whether loops walk one operand alone, and have work only where it is."""
    alone = (frozenset([access]),)
    met = [walked_at(shape.merged, loop, problem) for loop in loops]
    return met[-1][1] == alone and all(
        not walked or points == alone for walked, points in met
    )


def check_pos_in_chunks(
    loop: Forall, by: Sequence[str], problem: Problem
) -> str | None:
    """Return what was expected of a parallel loop over positions; None if all is well.

    Parameters
    ----------
    loop : Forall
        A loop over positions.
    by : sequence of str
        What chunks have equal numbers of, where that was said.
    problem : Problem
        What is computed.
    """
    if by:
        return "chunks of equal entries, as those of a loop over positions are"
    kept = kept_loops(loop)
    if not kept:
        return (
            "a result that has the outermost index of the fused loop, and no inner one "
            "without those around it"
        )
    if kept <= len(loop.fused) and not may_cut(
        problem.specs[loop.pos], kept, 1 + len(loop.fused)
    ):
        return "levels at whose positions chunks of the result's rows can begin"
    return None
