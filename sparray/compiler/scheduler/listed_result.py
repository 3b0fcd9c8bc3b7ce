"""Put the entries of a result that were collected in a list in order."""

from collections.abc import Callable, Iterator

from sparray.compiler.problem import TensorSpec
from sparray.compiler.scheduler.reasons import Reason
from sparray.compiler.scheduler.steps import (
    GatherStep,
    SortStep,
    gather_step,
    sort_step,
)
from sparray.compiler.scheduler.temporaries import coordinate_list, sorted_spec

__all__ = ["ordering_steps"]


def ordering_steps(
    source: str, spec: TensorSpec, table: bool, fresh: Callable[[], str]
) -> Iterator[tuple[GatherStep | SortStep, Reason]]:
    """Yield the steps that sort a list, each with its reason.

    Parameters
    ----------
    source : str
        The list.
    spec : TensorSpec
        What it is.
    table : bool
        Whether what is repeated is added up in a hash table first.
    fresh : callable
        Gives the name of a new temporary.
    """
    if table:
        gathered = coordinate_list(spec, unique=True)
        step = gather_step(source, fresh(), spec, gathered)
        yield (
            step,
            Reason(
                "add up the result's entries in a hash table",
                "far fewer coordinates differ than there are products",
            ),
        )
        source, spec = step.result, gathered
    yield (
        sort_step(source, fresh(), spec, sorted_spec(spec)),
        Reason(
            "sort the result's entries",
            "no loop order makes them in the order of its levels",
        ),
    )
