"""Compute lazy arrays, and say how."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sparray.compiler.index_notation.inline import inline_temporaries
from sparray.compiler.index_notation.program import verify_program
from sparray.dispatch import evaluate_expression
from sparray.errors import InternalError
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.functions.einsum import Operand
from sparray.functions.explain import explain_expression
from sparray.functions.explanation import Explanation
from sparray.programs import ProgramStep, program_steps
from sparray.results import wrap_result
from sparray.sparse_array import SparseArray
from sparray.stored import Stored
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
    checked: set[tuple[tuple[int, ...], ...]] = field(default_factory=set)

    @cached_property
    def wanted(self) -> dict[str, Format]:
        """The formats that were asked for, by name."""
        pairs = zip(self.built.names, self.formats, strict=True)
        return {name: format for name, format in pairs if format is not None}

    @cached_property
    def steps(self) -> tuple[ProgramStep, ...]:
        """What is evaluated, one after the other."""
        program = self.built.program
        return () if program is None else program_steps(program, (), self.missing)

    @property
    def text(self) -> str:
        """The statements that are evaluated."""
        program = self.built.program
        return "" if program is None else inline_temporaries(program).text

    def run(self, arguments: Sequence[Operand]) -> list[Operand]:
        """Return the results for the arguments of a traced function."""
        arrays = self.arrays(arguments)
        wanted = self.wanted
        for step in self.steps:
            arrays[step.target] = _evaluated(step, arrays, wanted)
            for name in step.last:
                del arrays[name]
        return [_wrapped(arrays[name]) for name in self.built.names]

    def arrays(self, arguments: Sequence[Operand]) -> dict[str, Any]:
        """Return each operand of the program, having checked their shapes."""
        program = self.built.program
        if program is None:
            return {}
        given = [
            arguments[source.slot] if source.value is None else source.value
            for source in self.built.sources
        ]
        shapes = tuple(tuple(x.shape) for x in given)
        if shapes not in self.checked:
            found = dict(zip(self.built.operands, shapes, strict=True))
            verify_program(program, found)
            self.checked.add(shapes)
        return dict(zip(self.built.operands, given, strict=True))

    def explain(self, arguments: Sequence[Operand], source: bool) -> Explanation:
        """Say how each step is computed; all but the last are, to know their sizes."""
        arrays, wanted = self.arrays(arguments), self.wanted
        parts = []
        for number, step in enumerate(self.steps, 1):
            given = [arrays[name] for name in step.expression.tensors]
            format = wanted.get(step.target)
            parts.append(explain_expression(step.expression, given, format, source))
            if number < len(self.steps):
                arrays[step.target] = _evaluated(step, arrays, wanted)
        return Explanation.joined(parts, source)


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
    return "" if program is None else inline_temporaries(program).text


def _evaluated(
    step: ProgramStep, arrays: dict[str, Any], wanted: dict[str, Format]
) -> Stored:
    given = [arrays[name] for name in step.expression.tensors]
    return evaluate_expression(step.expression, given, wanted.get(step.target))


def _wrapped(result: Any) -> Operand:
    if not isinstance(result, Stored):
        raise InternalError("expected each result to be computed")
    return wrap_result(result, SparseArray)
