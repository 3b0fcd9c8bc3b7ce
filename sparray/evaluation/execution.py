"""Run the steps of a plan on buffers: allocate results, call kernels, sort."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.address import address
from sparray._kernels.memory import empty, zeros
from sparray._kernels.runtime import (
    KernelSource,
    LoadedKernel,
    load_kernel,
    num_threads,
)
from sparray.compiler import names
from sparray.compiler.cin.nodes import Forall
from sparray.compiler.kernel_facts.appending import (
    append_groups,
    keeps_fibres_apart,
    keeps_leaf,
    located_prefix,
)
from sparray.compiler.kernel_facts.block_results import clears_blocks
from sparray.compiler.kernel_facts.chunks import chunks_of
from sparray.compiler.kernel_facts.entry_bound import EntryBound, entry_bound
from sparray.compiler.pipeline import CompiledPlan, KernelSpec
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.format_facts import slotted_leaf
from sparray.compiler.scheduler.kept_entries import keeps_entries
from sparray.compiler.scheduler.steps import GatherStep, KernelStep, SortStep, Step
from sparray.errors import InternalError, KernelMemoryError
from sparray.evaluation.filler import Filler
from sparray.evaluation.stored import IndexWidthError, Operand, Stored, buffers
from sparray.formats.packing import (
    LevelBuffers,
    prepare_levels,
)
from sparray.formats.slices import slice_lengths

if TYPE_CHECKING:
    from sparray.evaluation.one_pass import OnePass

# What only some plans need is imported where they need it: the first call is to be
# quick, and each module takes a third of a millisecond.

__all__ = ["PlanRunner", "Runner"]

_INT32_MAX = 2**31 - 1


class Runner:
    """Runs one kernel; made once per kernel and process.

    Parameters
    ----------
    spec : KernelSpec
        What to run. It is compiled, or found compiled, when the runner is made.
    """

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        decision = spec.decision
        self.problem = decision.problem
        self.output = decision.problem.output
        self.way = decision.assemble.way
        self.zeroed = decision.assemble.zeroed
        operands = [name for name, _ in self.problem.operands]
        source = decision.assemble.source
        if source is not None and source not in operands:
            # A temporary, whose levels are those of an operand.
            source = self.problem.specs[source].pattern
        self.source = operands.index(source) if source is not None else None
        self.dtype = np.dtype(self.output.dtype)
        statement = decision.statement
        self.parallel = isinstance(statement, Forall) and statement.parallel
        self.apart = isinstance(statement, Forall) and keeps_fibres_apart(
            statement.index, self.problem, self.way
        )
        self.slotted = slotted_leaf(self.output.format)
        self.clears_blocks = clears_blocks(self.problem)
        self.keeps_entries = keeps_entries(self.problem, self.way)
        self.keeps_leaf = keeps_leaf(self.problem, self.way)
        bound = entry_bound(self.problem, self.way, statement)
        self.one_pass = None if bound is None else _one_pass(bound, operands)
        self.filler = Filler(self.problem)
        self.no_levels: LevelBuffers = ({},) * self.output.format.ndim
        self.kernel: LoadedKernel | None = load_kernel(spec.key, self._make)
        order = spec.index_order
        self.slots = tuple(
            order.index(i) for i in self.problem.assignment.target.indices
        )

    def _make(self) -> KernelSource:
        return KernelSource(self.spec.key, self.spec.functions, self.spec.header)

    def run(
        self,
        operands: Sequence[Operand],
        extents: Sequence[int],
        *,
        owned: bool = False,
    ) -> Stored:
        """Compute the result.

        Parameters
        ----------
        operands : sequence of Operand
            In the problem's order, with the problem's formats and dtypes.
        extents : sequence of int
            Of each index in the kernel's order.
        owned : bool
            Whether the result may keep the operands' values: nothing else has them, or
            no one else gets the result.

        Returns
        -------
        Stored
            New buffers, or an operand's ``pos`` and ``crd`` for an inheriting result.

        Raises
        ------
        KernelMemoryError
            If a workspace or the result does not fit in memory.
        IndexWidthError
            If the result has more entries than its index dtype can count.
        """
        shape = tuple([extents[slot] for slot in self.slots])
        if self.way is Assembly.INSERT:
            size = 1
            for extent in shape:
                size *= extent
            fill = self.filler.fill(operands) if self.zeroed else 0
            values = self._allocate(size, fill, self.zeroed)
            self._call(names.FILL, operands, (values,), extents)
            return Stored(self.output.format, shape, self.no_levels, values)
        if self.way is Assembly.INHERIT and self.source is not None:
            source = operands[self.source]
            fill = self.filler.fill(operands)
            format = self.output.format
            # No kernel writes to slots that stand for no entry, but who has the
            # values sees them.
            filled = self.zeroed or format.hides
            values = self._allocate(len(source.values), fill, filled)
            self._call(names.FILL, operands, [values], extents)
            return Stored(format, shape, source._levels, values, fill)
        if self.way is Assembly.PLACE:
            return self._place(operands, extents, shape)
        if self.way is Assembly.ALLOT:
            return self._allot(operands, extents, shape)
        if self.one_pass is not None:
            threads = num_threads() if self.parallel else 1
            made = self.one_pass.allocate(operands, threads, self.output)
            self._call(names.FILL, operands, made, extents)
            fill = self.filler.fill(operands)
            return self.one_pass.result(made, self.output.format, shape, fill)
        return self._run_two_phases(operands, extents, shape, owned)

    def _place(
        self,
        operands: Sequence[Operand],
        extents: Sequence[int],
        shape: tuple[int, ...],
    ) -> Stored:
        """Make the levels with nothing stored, then insert every entry."""
        format = self.output.format
        levels, n_positions = prepare_levels(format, shape, self.output.index_dtype)
        # What is stored nowhere is never visible, unless it stands beside entries.
        fill = self.filler.fill(operands)
        values = self._allocate(n_positions, 0 if format.hides else fill, True)
        made = [buffer for level in levels for buffer in level.values()]
        self._call(names.FILL, operands, [*made, values], extents)
        return Stored(format, shape, levels, values, fill)

    def _allot(
        self,
        operands: Sequence[Operand],
        extents: Sequence[int],
        shape: tuple[int, ...],
    ) -> Stored:
        """Make the levels one after the other, then insert every entry."""
        from sparray.evaluation.allotting import Allotting

        format, fill = self.output.format, self.filler.fill(operands)
        nothing = 0 if format.hides else fill
        levels, values = Allotting(
            self.output,
            shape,
            lambda name, made: self._call(name, operands, made, extents),
            lambda size: self._allocate(size, nothing, True),
        ).run()
        return Stored(format, shape, levels, values, fill)

    def _allocate(self, size: int, fill: Any, filled: bool) -> npt.NDArray[Any]:
        if filled and fill == 0:
            return zeros(size, self.dtype)
        values = empty(size, self.dtype)
        if filled:
            values.fill(fill)
        return values

    def _run_two_phases(
        self,
        operands: Sequence[Operand],
        extents: Sequence[int],
        shape: tuple[int, ...],
        owned: bool,
    ) -> Stored:
        """Count, turn counts into offsets, allocate, fill."""
        format = self.output.format
        prefix = located_prefix(self.output)
        groups = append_groups(self.output)
        level_extents = format.level_extents(shape)
        units = _product(level_extents[:prefix])
        apart = not self.parallel or self.apart
        chunks = 1 if apart else chunks_of(self.way, prefix, num_threads())
        if self.way is Assembly.SCATTER:
            counts = [zeros(chunks * units, np.int64) for _ in groups]
        else:
            # Of each unit, after a zero; without a prefix, chunks are the units.
            counted = units if prefix else chunks
            counts = [zeros(counted + 1, np.int64) for _ in groups]
        self._call(names.COUNT, operands, counts, extents)
        if self.slotted is not None:
            return self._fill_slots(operands, extents, shape, counts[0], chunks)
        ends = [self._offsets(count, units, chunks) for count in counts]
        totals = [int(end[-1]) for end in ends]
        index_dtype = np.dtype(self.output.index_dtype)
        if index_dtype == np.int32 and max((*totals, *shape)) > _INT32_MAX:
            raise IndexWidthError
        if self.keeps_entries and totals[-1] == len(operands[0].values):
            return self._keep_entries(operands[0], ends[0], shape, owned)
        levels = self._append_levels(ends, units, index_dtype)
        fill = self.filler.fill(operands)
        if self.keeps_leaf:
            crd = operands[0]._levels[-1]["crd"]
            levels[-1]["crd"] = crd.astype(index_dtype, copy=False)
            values = operands[0].values if owned else operands[0].values.copy()
        else:
            # A block has room for what is not stored; without blocks all is written.
            below = level_extents[len(levels) :]
            padded = bool(below) and not self.clears_blocks
            values = self._allocate(totals[-1] * _product(below), fill, padded)
        levels += [{} for _ in level_extents[len(levels) :]]
        made = [buffer for level in levels for buffer in level.values()]
        self._call(names.FILL, operands, [*made, values, *counts], extents)
        return Stored(format, shape, tuple(levels), values, fill)

    def _append_levels(
        self,
        ends: Sequence[npt.NDArray[np.int64]],
        units: int,
        index_dtype: np.dtype[Any],
    ) -> list[dict[str, npt.NDArray[Any]]]:
        """Allocate the located prefix, which has no buffers, and what is appended.

        Not the innermost coordinates if they are an operand's.
        """
        prefix, groups = located_prefix(self.output), append_groups(self.output)
        levels: list[dict[str, npt.NDArray[Any]]] = [{} for _ in range(prefix)]
        parents = units
        for group, end in zip(groups, ends, strict=True):
            total = int(end[-1])
            for depth in group:
                buffers = {}
                if "pos" in self.output.format.levels[depth].roles:
                    if len(levels) > prefix:
                        buffers["pos"] = zeros(parents + 1, index_dtype)
                    elif prefix == 0:
                        buffers["pos"] = np.array([0, total], index_dtype)
                    else:
                        buffers["pos"] = end.astype(index_dtype)
                if not self.keeps_leaf or group != groups[-1]:
                    buffers["crd"] = empty(total, index_dtype)
                levels.append(buffers)
            parents = total
        return levels

    def _fill_slots(
        self,
        operands: Sequence[Operand],
        extents: Sequence[int],
        shape: tuple[int, ...],
        counts: npt.NDArray[np.int64],
        chunks: int,
    ) -> Stored:
        """Give every fibre its slots, then fill them."""
        format = self.output.format
        scatters = self.way is Assembly.SCATTER
        units = _product(format.level_extents(shape)[:-1])
        table = counts.reshape(chunks, units) if scatters else counts[np.newaxis, 1:]
        entries = table[0] if len(table) == 1 else table.sum(axis=0)
        if self.slotted is None:
            raise InternalError(f"expected a level with slots, got {format}")
        n_entries = int(entries.sum())
        allotted = self.slotted.allot(entries, self.output.index_dtype)
        if len(table) > 1:
            _begin_chunks(table, entries)
        elif not scatters:
            counts[:-1] = entries
        fill = self.filler.fill(operands)
        # What stands in a slot for no entry is never visible, or made up.
        made_up = 0 if format.hides else fill
        values = self._allocate(
            allotted.n_positions, made_up, n_entries < allotted.n_positions
        )
        made = [*allotted.buffers.values(), values, counts]
        self._call(names.FILL, operands, made, extents)
        levels = (*[{}] * (format.n_levels - 1), allotted.buffers)
        return Stored(format, shape, levels, values, fill)

    def _keep_entries(
        self,
        source: Operand,
        ends: npt.NDArray[np.int64],
        shape: tuple[int, ...],
        owned: bool,
    ) -> Stored:
        """Return a list's own entries below levels that say where fibres end."""
        index_dtype = self.output.index_dtype
        crd = source._levels[-1]["crd"].astype(index_dtype, copy=False)
        leaf = {"pos": ends.astype(index_dtype), "crd": crd}
        prefix: LevelBuffers = ({},) * located_prefix(self.output)
        values = source.values if owned else source.values.copy()
        made = (*prefix, leaf)
        return Stored(self.output.format, shape, made, values, source.fill_value)

    def _offsets(
        self, counts: npt.NDArray[np.int64], units: int, chunks: int
    ) -> npt.NDArray[np.int64]:
        """Turn counts into offsets, in place; return those of the units and the end."""
        if self.way is not Assembly.SCATTER:
            return np.cumsum(counts, out=counts)
        table = counts.reshape(chunks, units)
        ends = np.zeros(units + 1, np.int64)
        np.cumsum(table.sum(axis=0), out=ends[1:])
        _begin_chunks(table, ends[:-1])
        return ends

    def _call(
        self,
        name: str,
        operands: Sequence[Operand],
        made: Sequence[npt.NDArray[Any]],
        extents: Sequence[int],
    ) -> None:
        if self.kernel is None:
            self._interpret(name, operands, made, extents)
            return
        given: list[int] = []
        for operand in operands:
            given += operand._addresses
        for array in made:
            given.append(address(array))
        status = self.kernel.functions[name](*given, *extents, num_threads())
        if status:
            raise KernelMemoryError(
                "expected the kernel's workspace to fit in memory, got a failed "
                f"allocation in\n{self.problem.describe()}"
            )

    def _interpret(
        self,
        name: str,
        operands: Sequence[Operand],
        made: Sequence[npt.NDArray[Any]],
        extents: Sequence[int],
    ) -> None:
        from sparray.compiler.loop_ir.interpreter import run_named

        taken: list[Any] = []
        for operand in operands:
            taken += slice_lengths(
                operand.format, operand.shape, operand._levels, operand.values
            )
            taken += buffers(operand)
        given = [*taken, *made, *extents, num_threads()]
        run_named(self.spec.functions, name, given)


class PlanRunner:
    """Runs every step of a plan.

    Parameters
    ----------
    compiled : CompiledPlan
        Its kernels are compiled, or found compiled, when the runner is made.
    """

    def __init__(self, compiled: CompiledPlan) -> None:
        self.compiled = compiled
        self.steps: list[tuple[Step, Runner | None]] = [
            (step, runner)
            for step, runner in zip(
                compiled.plan.steps, _runners(compiled.kernels), strict=True
            )
        ]
        self.single = self.steps[0][1] if len(self.steps) == 1 else None
        self.is_compiled = all(
            runner is None or runner.kernel is not None for _, runner in self.steps
        )

    def run(
        self, operands: Mapping[str, Operand], extents: Mapping[str, int]
    ) -> Stored:
        """Compute the plan's result.

        Parameters
        ----------
        operands : mapping of str to Operand
            By name in the plan's problem.
        extents : mapping of str to int
            Of each index of the plan's problem.
        """
        arrays: dict[str, Operand] = dict(operands)
        # Temporaries whose values no operand has.
        made: set[str] = set()
        for step, runner in self.steps:
            if not isinstance(step, KernelStep):
                from sparray.evaluation.reforming import take_step

                source = arrays[step.source]
                arrays[step.result] = result = take_step(source, step)
                moved = result.values is not source.values
                is_list = isinstance(step, SortStep | GatherStep)
                if is_list and (moved or step.source in made):
                    made.add(step.result)
                continue
            if runner is None:
                raise InternalError("expected a kernel for each kernel step")
            given = [arrays[name] for name in step.operands]
            sizes = _extents(runner, given, extents)
            theirs = set(step.operands) <= made
            result = runner.run(
                given, sizes, owned=theirs or step.result != names.OUTPUT
            )
            arrays[step.result] = result
            if theirs or all(result.values is not g.values for g in given):
                made.add(step.result)
        last = arrays[names.OUTPUT]
        if not isinstance(last, Stored):
            raise InternalError("expected the plan's last step to make its result")
        return last


def _one_pass(bound: EntryBound, operands: Sequence[str]) -> "OnePass":
    from sparray.evaluation.one_pass import OnePass

    return OnePass(bound, operands)


def _runners(kernels: Sequence[KernelSpec | None]) -> list[Runner | None]:
    """Return a runner for each kernel, compiled on several threads if on any."""
    if sum(spec is not None for spec in kernels) < 2:
        return [None if spec is None else Runner(spec) for spec in kernels]
    from sparray._kernels.together import compiler_threads, run_together

    return run_together(
        [partial(_runner, spec) for spec in kernels], workers=compiler_threads()
    )


def _runner(spec: KernelSpec | None) -> Runner | None:
    return None if spec is None else Runner(spec)


def _extents(
    runner: Runner, operands: Sequence[Operand], outer: Mapping[str, int]
) -> list[int]:
    """Return the extents of a step's indices, from the shapes of its operands."""
    from sparray.compiler.index_notation.simplify import accesses

    found = dict(outer)
    shapes = {
        name: operand.shape
        for (name, _), operand in zip(runner.problem.operands, operands, strict=True)
    }
    for access in accesses(runner.problem.assignment.value):
        found.update(zip(access.indices, shapes[access.tensor], strict=True))
    return [found[index] for index in runner.spec.index_order]


def _begin_chunks(table: npt.NDArray[np.int64], begins: npt.NDArray[np.int64]) -> None:
    """Turn counts, of each chunk and fibre, into where they begin, in place.

    A chunk's entries of a fibre stand after those of the chunks before it.
    """
    table[1:] = np.cumsum(table[:-1], axis=0)
    table[0] = 0
    table += begins


def _product(extents: Sequence[int]) -> int:
    size = 1
    for extent in extents:
        size *= extent
    return size
