"""The steps of a plan between its kernels: an array in another form."""

from sparray.compiler.scheduler.steps import CutStep, GatherStep, PackStep, SortStep
from sparray.evaluation.gathering import gather_list
from sparray.evaluation.sorting import sort_list
from sparray.evaluation.stored import Operand, Stored
from sparray.formats.packing import pack_coordinates, unpack_coordinates
from sparray.formats.slices import cut_slices

__all__ = ["take_step"]


def take_step(
    source: Operand, step: SortStep | GatherStep | PackStep | CutStep
) -> Stored:
    """Do what a step does with its array."""
    if isinstance(step, SortStep):
        return sort_list(source, step)
    if isinstance(step, GatherStep):
        return gather_list(source, step)
    return _reform(source, step)


def _reform(source: Operand, step: PackStep | CutStep) -> Stored:
    """Make a format's levels from those of another one, without a kernel."""
    spec, fill = step.spec, source.fill_value
    if isinstance(step, CutStep):
        levels, values = cut_slices(
            spec.format, source.shape, source._levels, source.values, fill
        )
        return Stored(spec.format, source.shape, levels, values, fill)
    coords, values = unpack_coordinates(
        source.format, source.shape, source._levels, source.values, fill
    )
    levels, packed = pack_coordinates(
        spec.format, source.shape, coords, values, fill, spec.index_dtype
    )
    return Stored(spec.format, source.shape, levels, packed, fill)
