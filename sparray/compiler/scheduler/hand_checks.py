"""What a command of a user's schedule demands of loops, formats and expression."""

from collections.abc import Sequence

from sparray.compiler import names
from sparray.compiler.cin.nodes import Forall, Stmt
from sparray.compiler.index_notation.affine import bases
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.kernel_facts.row_splits import splits_rows
from sparray.compiler.levels import level_index
from sparray.compiler.loop_ir.operators import operator
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.assembly import Choice
from sparray.compiler.scheduler.filters import filters
from sparray.compiler.scheduler.position_checks import (
    check_pos,
    check_pos_in_chunks,
    position_loop,
)
from sparray.compiler.scheduler.shape import Shape, late_indices, parallel_index
from sparray.compiler.scheduler.tiling import can_tile
from sparray.compiler.scheduler.user_names import UserNames
from sparray.compiler.scheduler.walks import walked_at
from sparray.compiler.scheduler.workspace_kinds import workspace_kinds
from sparray.formats.level import Locatable
from sparray.records import dataclass

__all__ = ["HandChecks"]

_LARGEST_TILE = 1024
_ONE_PHASE = (Assembly.INSERT, Assembly.INHERIT)
"""Ways in which nothing is counted first, so that tasks hold nothing of the result."""


@dataclass(frozen=True, slots=True)
class HandChecks:
    """The loops that a schedule has arrived at; what a command may do with them.

    Each method returns what it expected, in the user's names, or None if all is well.

    Attributes
    ----------
    order : tuple of str
        Every loop, outermost first.
    choice : Choice
        How the result is assembled.
    shape : Shape
        Of the problem, its split loops included.
    problem : Problem
        What is computed.
    names : UserNames
        For the messages.
    """

    order: tuple[str, ...]
    choice: Choice
    shape: Shape
    problem: Problem
    names: UserNames

    def accumulate(self) -> str | None:
        """Check that products may be added into the result."""
        shape, problem = self.shape, self.problem
        if len(shape.terms) != 1:
            return "one sum"
        if "memory" in workspace_kinds(self.order, self.choice, shape, problem):
            return None
        in_place = (
            self.choice.way is Assembly.INSERT
            and shape.copies
            and operator(shape.ops[0]).identity == 0
            and (problem.constant is None or problem.has_known_fill)
            and problem.output.fill.is_zero
        )
        if in_place:
            return None
        return (
            "a dense result that is a sum and nothing else, zero where nothing is added"
        )

    def collect(self, among: str = "") -> str | None:
        """Check that a workspace lists the coordinates of the sums."""
        shape, problem = self.shape, self.problem
        if "list" in workspace_kinds(self.order, self.choice, shape, problem):
            if not among or among in filters(self.order, shape, problem):
                return None
            return (
                "an operand outside of the sum, without an entry of which the result "
                f"has none, got {self.names.tensors.get(among, among)}"
            )
        return (
            "one sum, one loop of the result inside that of the sum, and a result that "
            "takes its coordinates in order"
        )

    def tile(self, index: str, sizes: tuple[int, ...]) -> str | None:
        """Check that sums of tiles fit vector registers."""
        late = late_indices(self.order, frozenset(self.shape.reduced))
        name = self.names.index(index)
        if any(size & (size - 1) or size > _LARGEST_TILE for size in sizes):
            got = " ".join(map(str, sizes))
            return f"powers of two up to {_LARGEST_TILE}, got {got}"
        if late != [index] or index != self.order[-1]:
            return (
                f"the loop over {name} innermost, inside that of the one sum, and no "
                "other loop of the result there"
            )
        contiguous = can_tile(index, self.shape.merged, self.problem)
        if self.choice.way is Assembly.INSERT and contiguous:
            return None
        return (
            f"{name} to be contiguous in a dense result and in every operand that has "
            "it, all of one dtype of floats, and arithmetic that vectors have"
        )

    def fuse(self, pair: Sequence[str]) -> str | None:
        """Check that two loops are counted, from 0 to their extents."""
        if self.choice.way is not Assembly.INSERT:
            return "a dense result"
        for access in accesses(self.shape.merged):
            spec = self.problem.specs[access.tensor]
            for depth, level in enumerate(spec.format.levels):
                # A window's coordinate has the loop that walks it as its base.
                stored = bases(level_index(spec, access, depth))
                if {*map(names.whole, stored)}.isdisjoint(map(names.whole, pair)):
                    continue
                if not isinstance(level, Locatable) or not level.full:
                    tensor = self.names.tensors.get(access.tensor, access.tensor)
                    return (
                        "loops over every value of their indices, got one over what "
                        f"{tensor} stores, with no pos to run over its positions"
                    )
        return None

    def pos(self, index: str, tensor: str, statement: Stmt) -> str | None:
        """Check that a loop may run over an operand's positions."""
        shape, choice = self.shape, self.choice
        given = shape, choice, self.problem, self.names
        return check_pos(statement, index, tensor, *given)

    def vectorize(self, index: str) -> str | None:
        """Check that terms may be added in another order."""
        if index in self.shape.reduced and set(self.shape.ops) != {"add"}:
            return "a sum, whose terms may be added in another order"
        return None

    def unroll(self, index: str) -> str | None:
        """Check that sums of several iterations would visit the same coordinates."""
        if index in self.shape.reduced:
            return None
        inner = self.order[-1]
        if walked_at(self.shape.merged, inner, self.problem)[0]:
            return (
                "a loop that reduces, or one around a sum over every coordinate, got "
                f"{self.names.index(index)} around entries along "
                f"{self.names.index(inner)}"
            )
        return None

    def parallelize(self, index: str, by: Sequence[str], statement: Stmt) -> str | None:
        """Check that chunks of the outermost loop write parts of their own."""
        name = self.names.index(index)
        if index != self.order[0]:
            outermost = self.names.index(self.order[0])
            return f"{outermost}, the outermost loop, got {name}"
        packed_outside = not isinstance(statement, Forall)
        if packed_outside and self.choice.way not in _ONE_PHASE:
            return (
                "a dense result, or one with the pattern of an operand, or nothing "
                "packed outside of the parallel loop"
            )
        possible = parallel_index(self.order, self.shape, self.choice, self.problem)
        if possible != index:
            return (
                "an outermost loop with one range, each step of which writes its own "
                f"part of the result; {name} is not such a loop"
            )
        over = position_loop(statement, index)
        if over is not None:
            return check_pos_in_chunks(over, by, self.problem)
        if "merge" in by and (
            self.choice.way is not Assembly.INSERT
            or splits_rows(statement, self.problem) is None
        ):
            return (
                "a sum over the entries of each row of one operand, whose rows are a "
                "dense level, and nothing else in the result, to split rows"
            )
        return None
