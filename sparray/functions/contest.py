"""The ways to compute an expression for operands, each ready to run."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sparray._kernels.progress import Progress
from sparray._kernels.targets import host_target
from sparray._kernels.together import compiler_threads, run_together
from sparray.compiler.pipeline import compile_problem
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.plan import plan_ways
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.ways import Way
from sparray.dispatch import planned_call
from sparray.errors import UnsupportedError
from sparray.evaluation.expression import Expression
from sparray.evaluation.planning import operands_problem
from sparray.evaluation.readings import Given
from sparray.formats.format import Format
from sparray.records import dataclass

__all__ = ["Contender", "Contest"]

_DELAY_S = 2.0


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to compute the expression, compiled.

    Attributes
    ----------
    way : Way
        What was decided.
    schedule : str
        The commands, a line per kernel.
    run : callable
        Computes the result.
    """

    way: Way
    schedule: str
    run: Callable[[], Any]


class Contest:
    """Everything that could compute an expression for its operands.

    Parameters
    ----------
    expression : Expression
        What to compute.
    operands : sequence of SparseArray or ndarray
        What to compute it for.
    format : Format, optional
        Of the result.
    """

    def __init__(
        self,
        expression: Expression,
        operands: Sequence[Given],
        format: Format | None = None,
    ) -> None:
        self.expression, self.operands = expression, operands
        self.problem: Problem
        self.statistics: Statistics
        self.problem, self.statistics = operands_problem(expression, operands, format)
        self.vector_bytes = host_target().vector_bytes
        self.ways = plan_ways(self.problem, self.statistics, self.vector_bytes)

    def shortlist(self, most: int) -> list[Way]:
        """Return the most promising ways by estimate, the scheduler's choice first.

        Half of them are the cheapest of each loop nest and conversion, so that not all
        differ in details that the cost model knows little of.
        """
        nests: dict[int, int] = {}
        for number, way in enumerate(self.ways):
            nests.setdefault(id(way.option), number)
        chosen = [*nests.values()][: -(-most // 2)]
        others = [n for n in range(len(self.ways)) if n not in set(chosen)]
        chosen += others[: most - len(chosen)]
        return [self.ways[number] for number in sorted(chosen)]

    def contenders(self, ways: Sequence[Way]) -> list[Contender]:
        """Compile ways on every core; those that cannot be lowered are left out.

        With a bar, where tqdm is installed and it takes more than 2 seconds.
        """
        tasks = [partial(self._contender, way) for way in ways]
        with Progress(len(tasks), "compiling", "schedule", _DELAY_S) as progress:
            made = run_together(tasks, compiler_threads(), progress.update)
        return [contender for contender in made if contender is not None]

    def _contender(self, way: Way) -> Contender | None:
        try:
            compiled = compile_problem(
                self.problem, self.vector_bytes, self.statistics, way
            )
            call = planned_call(self.expression, compiled)
        except UnsupportedError:
            return None
        kernels = [spec for spec in compiled.kernels if spec is not None]
        schedule = "\n".join(spec.decision.schedule for spec in kernels)
        return Contender(way, schedule, partial(call, self.operands))
