"""The `accumulate` command: combine into the result, without a workspace."""

from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.nodes import Access, Assign, Stmt
from sparray.compiler.schedule.nest import take_apart
from sparray.errors import ScheduleError
from sparray.records import dataclass

__all__ = ["Accumulate"]


@dataclass(frozen=True, slots=True)
class Accumulate:
    """Drop a workspace that is only copied, and add into the result instead.

    **Rewrite**: ``∀i ((∀j out = w[j]) where (∀k ∀j w[j] += t))`` →
    ``∀i ∀k ∀j out += t``. The result must be zero before and accept updates.
    """

    def __str__(self) -> str:
        return "accumulate()"

    def apply(self, statement: Stmt) -> Stmt:
        """Return the statement without its workspace.

        Raises
        ------
        ScheduleError
            If there is no workspace, or the consumer does more than copy it.
        """
        nest = take_apart(statement)
        if nest is None:
            raise ScheduleError("accumulate: expected a statement with one workspace")
        if nest.value != Access(nest.workspace.name, nest.workspace.indices):
            raise ScheduleError(
                "accumulate: expected a consumer that copies the workspace, got "
                f"{nest.value}"
            )
        update = Assign(nest.target, nest.term, nest.op)
        return foralls((*nest.prefix, *nest.order), update)
