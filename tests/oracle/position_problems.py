"""Random problems whose loops run over an operand's positions, by hand."""

import re

import numpy as np
from oracle_check import Question

from sparray.compiler.hand_schedule import Schedule
from sparray.convert import array
from sparray.formats import Compressed, Dense, Format, Singleton, as_format

__all__ = ["position_question"]

_TEXTS = {
    # The loops that the operand has, and the text; sums are added in place.
    "y[i] = A[i,j] * x[j]": "ij",
    "y[j] = A[i,j]": "ij",
    "s = A[i,j]": "ij",
    "C[i,k] = A[i,j] * B[j,k]": "ij",
    "C[i,j] = A[i,j] * x[j]": "ij",
    "C[j,i] = abs(A[i,j]) * x[i]": "ij",
    "C[i,j] = A[i,j] * (U[i,k] * V[k,j])": "ij",
    "C[i,j] = where(A[i,j], x[j], 0)": "ij",
    "y[i] = A[i,j,k] * x[k]": "ijk",
    "C[k,j] = A[i,j,k] * x[i]": "ijk",
    "C[i,l] = A[i,j,k] * U[j,l] * V[k,l]": "ijk",
    "D[i,j,k] = max(A[i,j,k], 0) * x[j]": "ijk",
}
_SUMS = re.compile(r"y|s|C\[i,k|C\[k,j|C\[i,l")


def position_question(seed: int) -> Question:
    """Return a problem with a schedule that has `pos`, which its formats allow."""
    rng = np.random.default_rng([seed, 6])
    text = str(rng.choice(list(_TEXTS)))
    loops = _TEXTS[text]
    extents = {i: int(rng.choice([0, 1, 2, 3, 5, 8])) for i in "ijkl"}
    format, fused = _format(rng, len(loops))
    given = {}
    for name, inside in re.findall(r"(\w)\[([\w,]+)\]", text.partition("=")[2]):
        shape = tuple(extents[i] for i in inside.split(","))
        dense = rng.integers(-3, 4, shape).astype(rng.choice(["float64", "int32"]))
        if name == "A":
            dense *= rng.random(shape) < rng.choice([0.2, 0.6, 1.0])
            given[name] = array(dense, format=format)
        else:
            given[name] = dense
    stored = [loops[dimension] for dimension in format.dimension_order]
    target = text.partition(" ")[0]
    wanted = as_format("dense", target.count(",") + 1) if "[" in target else None
    if f"[{','.join(loops)}]" in target and rng.random() < 0.5:
        # The result has the operand's pattern.
        wanted = format
    order = [*stored, *(i for i in "ijkl" if i in text and i not in loops)]
    schedule = Schedule().reorder(" ".join(order))
    if _SUMS.match(target):
        schedule = schedule.accumulate()
    for inner in stored[1:fused]:
        schedule = schedule.fuse(stored[0], inner)
    schedule = schedule.pos(stored[0], "A")
    if rng.random() < 0.5:
        schedule = schedule.split(stored[0], int(rng.choice([2, 3, 7])))
    kept = [index in target for index in stored[:fused]]
    if kept[0] and sorted(kept, reverse=True) == kept and rng.random() < 0.7:
        schedule = schedule.parallelize(stored[0])
    return Question(text, tuple(given.values()), wanted, schedule=schedule)


def _format(rng: np.random.Generator, ndim: int) -> tuple[Format, int]:
    """Return a format, and how many of its loops become one over positions."""
    order = tuple(rng.permutation(ndim).tolist())
    kind = rng.integers(3)
    if kind == 0:
        last = [Singleton(unique=False)] * (ndim - 2) + [Singleton()]
        return Format([Compressed(unique=False), *last], order), ndim
    first = Dense() if kind == 1 else Compressed()
    levels = [first, *[Compressed()] * (ndim - 1)]
    # A dense level has positions of its own only below a fused loop.
    return Format(levels, order), int(rng.integers(1 + (kind == 1), ndim + 1))
