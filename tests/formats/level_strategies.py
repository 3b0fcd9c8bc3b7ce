"""Hypothesis strategies for levels and the fibres that they can hold."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from sparray.formats import LEVEL_TYPES, Grouped, Level, Structured

PARAMETERS = {
    "structured": [(2, 4), (1, 1), (3, 3), (1, 300)],
    "grouped": [(2, 4, 1), (1, 3, 2), (1, 1, 1), (3, 3, 2), (1, 300, 1)],
}
"""Arguments of the level types that need some."""


@dataclass(frozen=True)
class Fibres:
    """Entries of one level: sorted by parent and coordinate."""

    parents: np.ndarray
    coordinates: np.ndarray
    n_parents: int
    extent: int


def level_variants() -> list[Level]:
    """Every level type of the registry with every choice of its properties."""
    variants = []
    for level_type in LEVEL_TYPES.values():
        choices = [{}]
        for word in level_type.optional_properties:
            choices = [{**c, word: v} for c in choices for v in (True, False)]
        for arguments in PARAMETERS.get(level_type.name, [()]):
            variants += [level_type(*arguments, **choice) for choice in choices]
    return variants


@st.composite
def fibres(draw: st.DrawFn, level: Level) -> Fibres:
    """Fibres that a level can hold: one entry per parent if it is branchless."""
    n_parents = draw(st.integers(0, 5))
    extent = draw(st.integers(0, 6))
    most = 12
    if isinstance(level, Structured):
        extent, most = level.m, level.n
    if isinstance(level, Grouped):
        return _grouped_fibres(draw, level)
    if extent == 0 and level.branchless:
        n_parents = 0
    if level.branchless:
        parents = list(range(n_parents))
    elif n_parents and extent:
        parents = draw(st.lists(st.integers(0, n_parents - 1), max_size=12))
        parents = [p for n, p in enumerate(parents) if parents[:n].count(p) < most]
    else:
        parents = []
    coordinate = st.integers(0, max(extent - 1, 0))
    pairs = sorted((p, draw(coordinate)) for p in parents)
    if level.unique and not level.branchless:
        pairs = sorted(set(pairs))
    return Fibres(
        np.array([p for p, _ in pairs], dtype=np.int64),
        np.array([c for _, c in pairs], dtype=np.int64),
        n_parents,
        extent,
    )


def _grouped_fibres(draw: st.DrawFn, level: Grouped) -> Fibres:
    """Fibres of some coordinates of each parent's pattern."""
    n_parents = draw(st.integers(0, 2 * level.period + 1))
    parents = draw(st.lists(st.integers(0, max(n_parents - 1, 0)), max_size=12))
    pairs = set()
    for parent in parents if n_parents else []:
        pattern = level.patterns[parent % level.period // level.g]
        pairs.add((parent, draw(st.sampled_from(pattern))))
    table = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return Fibres(table[:, 0], table[:, 1], n_parents, level.m)
