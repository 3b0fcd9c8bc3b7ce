"""Compile several statements for formats, before there is any operand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sparray.compiler.index_notation.program import Program
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.kernel_facts.gather_spec import GatherSpec
from sparray.compiler.kernel_facts.sort_spec import SortSpec
from sparray.compiler.pipeline import KernelSpec
from sparray.compiler.problem import TensorSpec
from sparray.compiler.scheduler.statistics import assumed_sizes
from sparray.dispatch import Given, check_memory, evaluate_expression
from sparray.errors import ExpressionError, InternalError
from sparray.evaluation.execution import PlanRunner
from sparray.evaluation.planning import Described, operand_spec
from sparray.evaluation.program_plan import Group, plan_program
from sparray.evaluation.program_steps import ProgramOptions, program_steps
from sparray.evaluation.programs import GroupRunner, check_shapes
from sparray.evaluation.readings import over_semiring
from sparray.evaluation.stored import Stored, stored_operand
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.functions.einsum import Operand, as_mask, as_operand
from sparray.functions.explanation import cython_source
from sparray.functions.kernel_texts import KernelTexts
from sparray.records import dataclass
from sparray.results import wrap_result
from sparray.sparse_array import SparseArray

__all__ = ["PlannedProgram", "ProgramKernel", "group_kernels", "planned_program"]

Fit = Callable[[Any, TensorSpec], Given]


@dataclass(frozen=True)
class ProgramKernel(KernelTexts):
    """Several compiled statements, for operands of given formats and one dtype.

    Attributes
    ----------
    program : Program
        What it computes.
    operands : mapping of str to Described
        What it was compiled for.
    formats : mapping of str to Format
        Of results and temporaries, where they were asked for.
    parts : tuple of Part
        The statements that are computed together, in order.
    fit : callable
        Makes an operand what it was compiled for.
    options : ProgramOptions
        What was asked of the statements.
    """

    program: Program
    operands: Mapping[str, Described]
    formats: Mapping[str, Format]
    parts: "tuple[Part, ...]"
    fit: Fit
    options: ProgramOptions

    def __call__(
        self, *operands: Any, mask: Any = None
    ) -> Operand | tuple[Operand, ...]:
        """Compute the results for operands of the compiled formats and dtypes.

        They are given in the order in which the program reads them first.
        """
        names = self.program.operands
        if len(operands) != len(names):
            raise ExpressionError(
                f"{self.program.text}: expected {len(names)} operands "
                f"({', '.join(names)}), got {len(operands)}"
            )
        if (mask is None) != (self.options.mask_tensor is None):
            what = "no mask" if self.options.mask_tensor is None else "a mask"
            raise ExpressionError(
                f"{self.program.text}: expected {what}, got "
                f"{'none' if mask is None else 'one'}"
            )
        arrays = self._arrays(operands, mask)
        check_shapes(self.program, arrays)
        for part in self.parts:
            part.run(arrays, self.formats)
        made = [arrays[name] for name in self.program.outputs]
        results = tuple(
            wrap_result(one, SparseArray) for one in made if isinstance(one, Stored)
        )
        return results[0] if len(results) == 1 else results

    def _arrays(self, operands: Sequence[Any], mask: Any) -> dict[str, Given]:
        """Return operands as the kernels take them, by name."""
        names, semiring = self.program.operands, self.options.semiring
        given = [
            self.fit(as_operand(name, value), self.operands[name].spec)
            for name, value in zip(names, operands, strict=True)
        ]
        if semiring is not None:
            given = over_semiring(self.program.text, semiring, names, given)
        arrays = dict(zip(names, given, strict=True))
        if self.options.mask_tensor is not None:
            arrays[self.options.mask_tensor] = as_mask(mask)
        return arrays

    @property
    def _specs(self) -> Sequence[KernelSpec]:
        return [spec for part in self.parts for spec in part.specs]

    @property
    def source(self) -> str:
        """The Cython source of each of its kernels."""
        return "\n".join(map(cython_source, self._specs))

    @property
    def index_notation(self) -> str:
        """The statements, one per line."""
        return self.program.text


class Part:
    """Statements that are computed together; compiled when it is made."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.joined: GroupRunner | None = None
        self.plan: PlanRunner | None = None
        if group.kernel is not None:
            self.joined = GroupRunner(group, (), ())
            if self.joined.kernel is None:
                raise InternalError("expected a kernel for joined statements")
            self.joined.kernel.runner  # noqa: B018
        elif group.plan is not None:
            self.plan = PlanRunner(group.plan)

    @property
    def specs(self) -> Sequence[KernelSpec]:
        """Its kernels."""
        if self.group.kernel is not None:
            return [self.group.kernel]
        kernels = () if self.group.plan is None else self.group.plan.kernels
        return [spec for spec in kernels if spec is not None]

    def run(self, arrays: dict[str, Given], formats: Mapping[str, Format]) -> None:
        """Put the part's result among the arrays."""
        if self.joined is not None:
            self.joined.run(arrays, formats)
            return
        (step,) = self.group.steps
        expression = step.expression
        given = [arrays[name] for name in expression.tensors]
        stored = [*map(stored_operand, given)]
        specs = {name: operand_spec(stored[n]) for name, n in expression.operands}
        if self.plan is None or specs != dict(self.plan.compiled.plan.problem.operands):
            format = formats.get(step.target)
            arrays[step.target] = evaluate_expression(expression, given, format)
            return
        sizes = expression.extents(stored)
        check_memory(expression, self.plan.compiled, sizes)
        extents = dict(zip(expression.sizes, sizes, strict=True))
        named = {name: stored[n] for name, n in expression.operands}
        arrays[step.target] = self.plan.run(named, extents)


@dataclass(frozen=True, slots=True)
class PlannedProgram:
    """All that a `ProgramKernel` is made of, before anything is compiled.

    Attributes
    ----------
    program, operands, formats, options
        As for `ProgramKernel`.
    groups : tuple of Group
        The statements that are computed together, in order.
    """

    program: Program
    operands: Mapping[str, Described]
    formats: Mapping[str, Format]
    options: ProgramOptions
    groups: tuple[Group, ...]

    @property
    def kernels(self) -> Iterator[KernelSpec | SortSpec | GatherSpec]:
        """Every kernel that is needed, those that sort included."""
        for group in self.groups:
            yield from group_kernels(group)

    def compile(self, fit: Fit) -> ProgramKernel:
        """Compile every kernel; ``fit`` makes operands what they were planned for."""
        parts = tuple(map(Part, self.groups))
        return ProgramKernel(
            self.program, self.operands, self.formats, parts, fit, self.options
        )


def group_kernels(group: Group) -> Iterator[KernelSpec | SortSpec | GatherSpec]:
    """Yield every kernel of a group, those that sort included."""
    if group.kernel is not None:
        yield group.kernel
    elif group.plan is not None:
        yield from group.plan.all_kernels


def planned_program(
    program: Program,
    formats: Mapping[str, str | Format],
    spec_of: Callable[[str | Format | None, int], TensorSpec],
    options: ProgramOptions,
    mask: TensorSpec | None = None,
) -> PlannedProgram:
    """Plan a program for operands of given formats.

    Parameters
    ----------
    program : Program
        Verified.
    formats : mapping of str to str or Format
        Of operands, dense where not given; of results and temporaries, inferred.
    spec_of : callable
        Returns an operand's spec for a format and a number of dimensions.
    options : ProgramOptions
        What is asked of the statements.
    mask : TensorSpec, optional
        What the mask is.

    Raises
    ------
    ExpressionError
        If a format is of no tensor of the program.
    """
    made = {s.target.tensor: len(s.target.indices) for s in program.statements}
    read = {
        a.tensor: len(a.indices) for s in program.statements for a in accesses(s.value)
    }
    ndims = {**read, **made}
    unknown = [name for name in formats if name not in ndims]
    if unknown:
        raise ExpressionError(
            f"{program.text}: expected formats of {', '.join(ndims)}, got "
            f"{', '.join(unknown)}"
        )
    described = {}
    for name in program.operands:
        spec = spec_of(formats.get(name), ndims[name])
        shape, positions = assumed_sizes(spec)
        described[name] = Described(spec, shape, positions)
    if mask is not None and options.mask_tensor is not None:
        described[options.mask_tensor] = Described(mask, *assumed_sizes(mask))
    wanted = {
        name: as_format(formats[name], ndim)
        for name, ndim in made.items()
        if name in formats
    }
    steps = program_steps(program, tuple(wanted), options)
    groups = plan_program(steps, program.outputs, described, wanted, {})
    return PlannedProgram(program, described, wanted, options, groups)
