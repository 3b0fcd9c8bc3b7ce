"""From a program and its operands to its results: the road of several statements.

A program's temporaries are put where they are read if that computes nothing twice; what
is left are statements that are evaluated one after the other, each as `dispatch` does,
and kept no longer than they are needed.
"""

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from sparray.dispatch import Given, evaluate_expression, given_key
from sparray.errors import ExpressionError
from sparray.evaluation.program_steps import (
    ProgramOptions,
    check_options,
    program_steps,
)
from sparray.evaluation.stored import Operand, Stored, stored_operand
from sparray.formats.format import Format
from sparray.formats.named import as_format

if TYPE_CHECKING:
    from sparray.compiler.index_notation.program import Program
    from sparray.compiler.pipeline import KernelSpec
    from sparray.compiler.problem import TensorSpec
    from sparray.evaluation.execution import Runner
    from sparray.evaluation.planning import Described
    from sparray.evaluation.program_plan import Group

__all__ = [
    "GroupRunner",
    "check_names",
    "check_shapes",
    "describe_operands",
    "evaluate_program",
    "group_runners",
    "output_formats",
    "parsed_program",
    "shared_levels",
]


_SMALL = 2**20
"""Product of all extents below which everything fits in memory."""


_USUAL = ProgramOptions()


def parsed_program(text: str, outputs: Sequence[str] | None = None) -> "Program":
    """Return the program of a text, parsed once."""
    if isinstance(outputs, str | None) or not isinstance(outputs, Iterable):
        return _parsed(text, outputs)
    return _parsed(text, tuple(outputs))


@lru_cache(maxsize=1024)
def _parsed(text: str, outputs: Sequence[str] | None) -> "Program":
    from sparray.compiler.index_notation.program_text import parse_program

    return parse_program(text, outputs)


def output_formats(
    program: "Program", format: str | Format | None
) -> dict[str, Format]:
    """Return the format that is asked for of a program's only result, by name."""
    if format is None:
        return {}
    if len(program.outputs) > 1:
        raise ExpressionError(
            "format: expected one result to have it, got "
            f"{len(program.outputs)} ({', '.join(program.outputs)})"
        )
    (name,) = program.outputs
    target = next(s.target for s in program.statements if s.target.tensor == name)
    return {name: as_format(format, len(target.indices))}


def evaluate_program(
    program: "Program",
    operands: Mapping[str, Given],
    formats: Mapping[str, Format] | None = None,
    options: ProgramOptions = _USUAL,
) -> tuple[Stored, ...]:
    """Compute a program.

    Parameters
    ----------
    program : Program
        What to compute; it need not be verified.
    operands : mapping of str to SparseArray, Stored or ndarray
        Each of ``program.operands``, by name, as statements read them; and the mask.
    formats : mapping of str to Format, optional
        Of results, and of temporaries that are to be arrays of their own; the others
        are inferred.
    options : ProgramOptions
        What is asked of the statements.

    Returns
    -------
    tuple of Stored
        The results in the order of ``program.outputs``.

    Raises
    ------
    ExpressionError, ShapeError
        If the program has no meaning, or the operands do not fit it.
    ScheduleError
        If a schedule does not fit its statement.
    """
    wanted = {} if formats is None else formats
    check_names(program, [name for name in operands if name != options.mask_tensor])
    check_shapes(program, operands)
    arrays = run_program(program, operands, wanted, options)
    results = [arrays[name] for name in program.outputs]
    return tuple(result for result in results if isinstance(result, Stored))


def check_shapes(program: "Program", operands: Mapping[str, Given]) -> None:
    """Raise an error unless the program has a meaning for operands of their shapes."""
    _check(program, tuple((name, operands[name].shape) for name in program.operands))


def run_program(
    program: "Program",
    operands: Mapping[str, Given],
    formats: Mapping[str, Format],
    options: ProgramOptions,
) -> dict[str, Given]:
    """Compute a program of operands that are known to fit; see `evaluate_program`.

    Returns
    -------
    dict of str to Given
        The results, and operands that were not released.
    """
    read = options.arrays(program)
    arrays: dict[str, Given] = {name: operands[name] for name in read}
    for runner in group_runners(program, arrays, formats, options):
        runner.run(arrays, formats)
        for name in runner.last:
            del arrays[name]
    return arrays


def check_names(program: "Program", given: Collection[str]) -> None:
    """Raise an error unless exactly the operands are given."""
    made = [s.target.tensor for s in program.statements if s.target.tensor in given]
    if made:
        raise ExpressionError(
            f"expected an operand, got {made[0]!r}, which the program assigns"
        )
    if set(given) != set(program.operands):
        from sparray.compiler.index_notation.places import operands_expected

        raise operands_expected(program.text, program.operands, given)


def describe_operands(
    names: Collection[str], operands: Mapping[str, Given]
) -> "dict[str, Described]":
    """Return what a plan needs to know of a program's operands."""
    from sparray.evaluation.planning import describe

    return {name: describe(stored_operand(operands[name])) for name in names}


def shared_levels(operands: Mapping[str, Given]) -> dict[str, int]:
    """Return a number for each operand whose levels another one has too.

    They are the same buffers, so that the same coordinates are in the same positions.
    """
    owners: dict[Hashable, list[str]] = {}
    for name, given in operands.items():
        if not isinstance(given, np.ndarray) and any(given._levels):
            key = given.format, given.shape, given._addresses[:-1]
            owners.setdefault(key, []).append(name)
    groups = [names for names in owners.values() if len(names) > 1]
    return {name: number for number, names in enumerate(groups) for name in names}


_known: dict[Hashable, "tuple[GroupRunner, ...]"] = {}


def group_runners(
    program: "Program",
    operands: Mapping[str, Given],
    formats: Mapping[str, Format],
    options: ProgramOptions = _USUAL,
) -> "tuple[GroupRunner, ...]":
    """Return what computes a program for operands, in order; planned once."""
    read = options.arrays(program)
    keys = [given_key(operands[name]) for name in read]
    shared = shared_levels({name: operands[name] for name in read})
    key = (program, options, tuple(formats.items()), tuple(shared.items()), *keys)
    found = _known.get(key)
    if found is None:
        from sparray.evaluation.program_plan import plan_program

        check_options(program, options)
        steps = program_steps(program, tuple(formats), options)
        described = describe_operands(read, operands)
        groups = plan_program(steps, program.outputs, described, formats, shared)
        seen, runners = set(program.outputs), list[GroupRunner]()
        for group in reversed(groups):
            runners.append(GroupRunner(group, seen, read))
            seen |= runners[-1].reads
        found = _known[key] = tuple(reversed(runners))
    return found


class GroupRunner:
    """Computes a group of statements, and knows which arrays it needs last.

    Parameters
    ----------
    group : Group
        What to compute.
    needed : collection of str
        Arrays that are needed after it.
    given : collection of str
        Arrays that are known to be what the group was planned for.
    """

    def __init__(
        self, group: "Group", needed: Collection[str], given: Collection[str]
    ) -> None:
        made = {step.target for step in group.steps}
        read = dict.fromkeys(n for s in group.steps for n in s.expression.tensors)
        self.group = group
        self.reads = {name for name in read if name not in made}
        self.last = tuple(name for name in self.reads if name not in needed)
        self.given = frozenset(given)

    def run(self, arrays: dict[str, Given], formats: Mapping[str, Format]) -> None:
        """Put the group's result among the arrays."""
        kernel = self.kernel
        if kernel is None:
            self._run_apart(arrays, formats)
            return
        given = [stored_operand(arrays[name]) for name in kernel.tensors]
        if not kernel.fits(given):
            self._run_apart(arrays, formats)
            return
        sizes = kernel.extents(given)
        if not kernel.fits_memory(sizes):
            self._run_apart(arrays, formats)
            return
        arrays[self.group.steps[-1].target] = kernel.runner.run(given, sizes)

    @cached_property
    def kernel(self) -> "_JoinedKernel | None":
        """The kernel of joined statements; its runner is made when it first runs."""
        spec = self.group.kernel
        if spec is None:
            return None
        problem, reads = spec.decision.problem, dict(self.group.operands)
        tensors = tuple(reads[name] for name, _ in problem.operands)
        places = {
            index: (number, axis)
            for number, (name, _) in enumerate(problem.operands)
            for access in problem.reads
            if access.tensor == name
            for axis, index in enumerate(access.indices)
        }
        specs = {
            number: replace(one, pattern=None)
            for number, (name, one) in enumerate(problem.operands)
            if reads[name] not in self.given
        }
        order, sources = spec.index_order, self.group.sources
        slots = () if sources else tuple(places[index] for index in order)
        return _JoinedKernel(spec, tensors, slots, specs, sources)

    def _run_apart(
        self, arrays: dict[str, Given], formats: Mapping[str, Format]
    ) -> None:
        for step in self.group.steps:
            given = [arrays[name] for name in step.expression.tensors]
            arrays[step.target] = evaluate_expression(
                step.expression, given, formats.get(step.target, step.format)
            )
        for step in self.group.steps[:-1]:
            del arrays[step.target]


@dataclass(eq=False)
class _JoinedKernel:
    """All that a call of joined statements needs.

    Attributes
    ----------
    spec : KernelSpec
        The kernel.
    tensors : tuple of str
        The array that each of its operands is.
    slots : tuple of (int, int)
        For each of its extents an operand, and the dimension that has it; none if
        something is read in windows.
    specs : mapping of int to TensorSpec
        What some operands have to be.
    sources : tuple of (str, str)
        What coordinates with a parameter were.
    fitting : sequence of int
        Extents of which all that it makes is known to fit in memory.
    """

    spec: "KernelSpec"
    tensors: tuple[str, ...]
    slots: tuple[tuple[int, int], ...]
    specs: "Mapping[int, TensorSpec]"
    sources: tuple[tuple[str, str], ...] = ()
    fitting: Sequence[int] = ()

    @cached_property
    def runner(self) -> "Runner":
        """What runs the kernel, compiled when it is first asked for."""
        from sparray.evaluation.execution import Runner

        return Runner(self.spec)

    def extents(self, given: Sequence[Operand]) -> list[int]:
        """Return what the kernel takes besides buffers, in its order."""
        if not self.sources:
            return [given[number].shape[axis] for number, axis in self.slots]
        from sparray.compiler.index_notation.extents import sizes_of

        problem = self.spec.decision.problem
        shapes = {
            name: one.shape
            for (name, _), one in zip(problem.operands, given, strict=True)
        }
        read = [(a, shapes[a.tensor]) for a in problem.reads if a.tensor in shapes]
        sizes = sizes_of(read, dict(self.sources))
        return [sizes[index] for index in self.spec.index_order]

    def fits_memory(self, extents: Sequence[int]) -> bool:
        """Tell whether what the kernel makes for such operands fits in memory."""
        if extents != self.fitting:
            if math.prod(max(1, extent) for extent in extents) > _SMALL:
                from sparray.evaluation.footprint import fits

                sizes = dict(zip(self.spec.index_order, extents, strict=True))
                if not fits(self.spec.decision, sizes):
                    return False
            self.fitting = extents
        return True

    def fits(self, given: Sequence[Operand]) -> bool:
        """Tell whether what was made before is what the kernel was planned for."""
        if not self.specs:
            return True
        from sparray.evaluation.planning import operand_spec

        return all(operand_spec(given[n]) == spec for n, spec in self.specs.items())


@lru_cache(maxsize=1024)
def _check(program: "Program", shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> None:
    from sparray.compiler.index_notation.program import verify_program

    verify_program(program, dict(shapes))
