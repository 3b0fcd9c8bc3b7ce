"""Compile the kernels of many expressions ahead of time, on every core."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sparray._kernels.kernel_source import KernelSource
from sparray._kernels.progress import Progress
from sparray._kernels.runtime import has_kernel, load_kernel
from sparray._kernels.together import compiler_threads, run_together
from sparray.compiler.kernel_facts.gather_spec import GatherSpec
from sparray.compiler.kernel_facts.sort_spec import SortSpec
from sparray.compiler.pipeline import CompiledPlan, KernelSpec
from sparray.errors import ExpressionError
from sparray.evaluation.program_texts import is_program
from sparray.evaluation.programs import check_shapes, group_runners
from sparray.formats.format import Format
from sparray.functions.compile import plan_kernel, plan_program_kernel
from sparray.functions.compile_program import group_kernels
from sparray.functions.explain import planned_road
from sparray.functions.operands import stated
from sparray.functions.program_arguments import stated_program
from sparray.records import dataclass

__all__ = ["Precompiled", "precompile"]

_DELAY_S = 2.0
_EXPECTED = (
    "exprs: expected pairs of an expression and its operands (a list, or a mapping of "
    "names) or formats"
)
_OPTIONS = ("format", "missing", "schedule", "semiring", "mask", "complement")
_SETTINGS = ("dtype", "index_dtype", *_OPTIONS[2:])


@dataclass(frozen=True, slots=True)
class Precompiled:
    """What one expression needed.

    Attributes
    ----------
    expression : str
        As it was given.
    schedules : tuple of str
        Of each of its kernels.
    n_compiled : int
        How many of its kernels were compiled now; the others were found, or belong to
        an expression before it.
    """

    expression: str
    schedules: tuple[str, ...]
    n_compiled: int


def precompile(
    exprs: Iterable[tuple[str, Mapping[str, Any] | Sequence[Any]]],
) -> tuple[Precompiled, ...]:
    """Compile what expressions will need, so that their first call need not wait.

    Parameters
    ----------
    exprs : iterable of (str, mapping) or (str, sequence)
        Each an expression with what it is for: the keyword arguments of `compile`
        (formats by name, ``dtype``, ``index_dtype``, ...); those of `compute`, operands
        by name; or a list of the operands of `einsum`. It may have several statements.

    Returns
    -------
    tuple of Precompiled
        One for each expression.

    Raises
    ------
    ExpressionError
        If an item is no such pair, or its expression cannot be read or does not fit.
        Nothing is compiled then.

    Notes
    -----
    Kernels that are missing are compiled on every core, each once, and kept in the
    cache on disk; a bar is shown where tqdm is installed and it takes more than 2
    seconds. With operands, the kernels are those that computing with operands of such
    formats, dtypes and sizes will use. With formats alone they are scheduled for
    assumed sizes, as
    `compile` does: other kernels may be chosen when the operands are known. So may they
    be for a program's statements that read what others make.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")
    >>> made = sp.precompile(
    ...     [
    ...         ("ij,j->i", [A, [1.0, 1.0]]),
    ...         ("y[i] = A[i,j] * x[j]", {"A": "csr", "dtype": "float32"}),
    ...     ]
    ... )
    >>> [len(one.schedules) for one in made]
    [1, 1]
    """
    plans = [
        (expression, tuple(_kernels(expression, given)))
        for expression, given in _pairs(exprs)
    ]
    needed: dict[str, KernelSpec | SortSpec | GatherSpec] = {}
    first: dict[str, int] = {}
    for number, (_, kernels) in enumerate(plans):
        for spec in kernels:
            needed.setdefault(spec.key, spec)
            first.setdefault(spec.key, number)
    missing = [key for key in needed if not has_kernel(key)]
    tasks = [partial(_load, needed[key]) for key in missing]
    with Progress(len(tasks), "compiling", "kernel", _DELAY_S) as progress:
        made = run_together(tasks, compiler_threads(), progress.update)
    compiled = [key for key, done in zip(missing, made, strict=True) if done]
    return tuple(
        Precompiled(
            expression,
            tuple(k.decision.schedule for k in kernels if isinstance(k, KernelSpec)),
            sum(first[key] == number for key in compiled),
        )
        for number, (expression, kernels) in enumerate(plans)
    )


def _load(spec: KernelSpec | SortSpec | GatherSpec) -> bool:
    """Compile a kernel; False if this machine has no compiler."""

    def make() -> KernelSource:
        return KernelSource(spec.key, spec.functions, spec.header)

    return load_kernel(spec.key, make) is not None


def _pairs(exprs: Iterable[Any]) -> list[tuple[str, Any]]:
    if isinstance(exprs, str) or not isinstance(exprs, Iterable):
        raise ExpressionError(f"{_EXPECTED}, got {exprs!r}")
    pairs = []
    for item in exprs:
        if (
            not isinstance(item, tuple)
            or len(item) != 2
            or not isinstance(item[0], str)
            or not isinstance(item[1], Mapping | list | tuple)
        ):
            raise ExpressionError(f"{_EXPECTED}, got {item!r}")
        pairs.append(item)
    return pairs


def _kernels(
    expression: str, given: Any
) -> Iterable[KernelSpec | SortSpec | GatherSpec]:
    """Return every kernel that an expression, or a program, needs."""
    if not isinstance(given, Mapping):
        return _operands_plan(expression, given, {}).all_kernels
    named = {name: value for name, value in given.items() if name not in _OPTIONS}
    several = is_program(expression) or "outputs" in named
    if any(_is_operand(name, value) for name, value in named.items()):
        if several:
            return _program_kernels(expression, dict(given))
        return _operands_plan(expression, (), dict(given)).all_kernels
    settings = dict(given)
    options = {name: settings.pop(name) for name in _SETTINGS if name in settings}
    if several:
        planned = plan_program_kernel(expression, **options, formats=settings)
        return planned.kernels
    return plan_kernel(expression, **options, formats=settings).steps.all_kernels


def _program_kernels(
    text: str, named: dict[str, Any]
) -> Iterator[KernelSpec | SortSpec | GatherSpec]:
    options = {
        name: named.pop(name) for name in (*_OPTIONS, "outputs") if name in named
    }
    stated = stated_program(text, named, **options)
    check_shapes(stated.program, stated.arrays)
    for runner in group_runners(
        stated.program, stated.arrays, stated.formats, stated.options
    ):
        yield from group_kernels(runner.group)


def _is_operand(name: str, value: Any) -> bool:
    """Tell whether a value is an operand, and neither a format nor a dtype."""
    return name not in ("dtype", "index_dtype") and not isinstance(value, str | Format)


def _operands_plan(
    expression: str, operands: Sequence[Any], named: dict[str, Any]
) -> CompiledPlan:
    options = {name: named.pop(name) for name in _OPTIONS if name in named}
    parsed, given, wanted = stated(expression, operands, named, **options)
    return planned_road(parsed, given, wanted)[-1]
