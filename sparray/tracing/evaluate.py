"""Compute lazy arrays, and say how."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sparray.evaluation.program_steps import ProgramOptions
from sparray.evaluation.programs import evaluate_program
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.functions.einsum import Operand
from sparray.functions.explained_program import explain_program
from sparray.functions.explanation import Explanation
from sparray.results import wrap_result
from sparray.sparse_array import SparseArray
from sparray.tracing.build import Built, build
from sparray.tracing.lazy_array import LazyArray

__all__ = ["Evaluation", "computed", "evaluation", "explained", "program_text"]

Wanted = str | Format | None


@dataclass
class Evaluation:
    """A program that is ready to run, any number of times.

    Attributes
    ----------
    built : Built
        The program and what it reads.
    formats : tuple of Format or None
        Of each result.
    missing : {"zero", "fill"}
        As for `sparray.einsum`.
    """

    built: Built
    formats: tuple[Format | None, ...]
    missing: str = "zero"

    @cached_property
    def wanted(self) -> dict[str, Format]:
        """The formats that were asked for, by name."""
        pairs = zip(self.built.names, self.formats, strict=True)
        return {name: format for name, format in pairs if format is not None}

    @property
    def text(self) -> str:
        """The statements that are evaluated."""
        program = self.built.program
        return "" if program is None else program.text

    def run(self, arguments: Sequence[Operand]) -> list[Operand]:
        """Return the results for the arguments of a traced function."""
        program = self.built.program
        if program is None:
            return []
        made = evaluate_program(
            program,
            self.arrays(arguments),
            self.wanted,
            ProgramOptions(self.missing),
        )
        results = dict(zip(program.outputs, made, strict=True))
        return [wrap_result(results[name], SparseArray) for name in self.built.names]

    def arrays(self, arguments: Sequence[Operand]) -> dict[str, Any]:
        """Return each operand of the program by its name."""
        given = (
            arguments[source.slot] if source.value is None else source.value
            for source in self.built.sources
        )
        return dict(zip(self.built.operands, given, strict=True))

    def explain(self, arguments: Sequence[Operand], source: bool) -> Explanation:
        """Say how each step is computed; see `explain_program`."""
        program = self.built.program
        if program is None:
            return Explanation.joined((), source)
        return explain_program(
            program,
            self.arrays(arguments),
            self.wanted,
            source=source,
            options=ProgramOptions(self.missing),
        )


def evaluation(
    views: Sequence[LazyArray], formats: Sequence[Wanted], missing: str = "zero"
) -> Evaluation:
    """Return what computes lazy arrays."""
    made = tuple(
        None if format is None else as_format(format, view.ndim)
        for view, format in zip(views, formats, strict=True)
    )
    return Evaluation(build([view._view for view in views]), made, missing)


def computed(views: Sequence[LazyArray], formats: Sequence[Wanted]) -> list[Operand]:
    """Return lazy arrays as arrays, what they share computed once."""
    return evaluation(views, formats).run(())


def explained(views: Sequence[LazyArray], formats: Sequence[Wanted]) -> Explanation:
    """Say how lazy arrays are computed."""
    return evaluation(views, formats).explain((), False)


def program_text(views: Sequence[LazyArray]) -> str:
    """Return the statements that compute lazy arrays."""
    program = build([view._view for view in views]).program
    return "" if program is None else program.text
