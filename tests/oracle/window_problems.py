"""Random problems with windows, constants, sums of indices and broadcasting.

A seed names a problem, as in `oracle_problems`.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from oracle_check import Question
from oracle_problems import random_array, random_format

from sparray.formats.named import named_format

__all__ = ["window_question"]

_DTYPES = ("float64", "float32", "int32", "bool")
_WEIGHTS = (0.6, 0.2, 0.1, 0.1)
_SHAPES = (
    "{a} * {b}",
    "{a} * {b}",
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b} + {c}",
    "({a} + {b}) * {c}",
    "{a}",
    "max({a}, {b})",
)


@dataclass
class _Maker:
    """What a problem has so far: the extent of each index, operands and their names."""

    rng: np.random.Generator
    extents: dict[str, int]
    operands: dict[str, Any] = field(default_factory=dict)

    def access(self) -> str:
        """Add an operand; return its access, every coordinate of it in its shape."""
        rng = self.rng
        ndim = int(rng.choice([1, 2, 2, 2, 3]))
        unused = list(rng.permutation(sorted(self.extents)))
        coordinates, shape = [], []
        for _ in range(ndim):
            text, extent = self.coordinate(unused)
            coordinates.append(text)
            shape.append(extent)
        name = f"T{len(self.operands)}"
        dtype = str(rng.choice(_DTYPES, p=_WEIGHTS))
        format = random_format(rng, ndim)
        if rng.random() < 0.2:
            format = named_format("dense", ndim)
        self.operands[name] = random_array(rng, tuple(shape), format, dtype)
        return f"{name}[{','.join(coordinates)}]"

    def coordinate(self, unused: list[str]) -> tuple[str, int]:
        """Return a coordinate, and an extent that it does not leave."""
        rng = self.rng
        if not unused or rng.random() < 0.15:
            at, extent = int(rng.integers(0, 3)), int(rng.integers(3, 5))
            return str(at if rng.random() < 0.7 else at - extent), extent
        index = str(unused.pop())
        n = self.extents[index]
        kind = rng.integers(0, 10)
        if kind < 4:
            return index, n
        if kind < 8:
            return self.window(index, n)
        first, step = int(rng.integers(0, 3)), int(rng.choice([1, 1, 2, -1, -2]))
        terms = [(index, n, step)]
        if unused and kind == 9:
            other = str(unused.pop())
            terms.append((other, self.extents[other], int(rng.choice([1, -1, 3]))))
        down = sum(-step * max(0, m - 1) for _, m, step in terms if step < 0)
        up = sum(step * max(0, m - 1) for _, m, step in terms if step > 0)
        first += down
        if len(terms) == 1 and step == 1 and first == 0:
            return index, n
        text = " + ".join(f"{step}*{i}" for i, _, step in terms if step > 0)
        text += "".join(f" - {-step}*{i}" for i, _, step in terms if step < 0)
        return f"{text} + {first}", first + up + 1 + int(rng.integers(0, 2))

    def window(self, index: str, n: int) -> tuple[str, int]:
        rng = self.rng
        step = int(rng.choice([1, 1, 1, 2, 3, -1, -2]))
        before, after = (int(x) for x in rng.integers(0, 3, 2))
        span = abs(step) * (n - 1) + 1 if n else 0
        extent = before + span + after
        if step > 0:
            stop = before + span
            end = str(stop) if after or rng.random() < 0.5 else ""
            return f"{index} in {before or ''}:{end}:{step}", extent
        first = before + span - 1
        if n == 0:
            return f"{index} in {before}:{before}:{step}", extent
        stop_text = str(before - 1) if before else ""
        return f"{index} in {first}:{stop_text}:{step}", extent


def window_question(seed: int) -> Question:
    """Return the problem of a seed."""
    rng = np.random.default_rng([seed, 7])
    while True:
        extents = {i: int(rng.choice([0, 1, 2, 3, 4, 5])) for i in "ijk"}
        if rng.random() < 0.9:
            extents = {i: max(1, n) for i, n in extents.items()}
        maker = _Maker(rng, extents)
        shape = str(rng.choice(_SHAPES))
        terms = {name: maker.access() for name in "abc" if "{" + name + "}" in shape}
        value = shape.format(**terms)
        used = [i for i in extents if any(_has(text, i) for text in terms.values())]
        kept = [i for i in used if rng.random() < 0.7]
        rng.shuffle(kept)
        target = f"C[{','.join(kept)}]" if kept else "C"
        if not _computable(terms):
            continue
        format = random_format(rng, len(kept)) if rng.random() < 0.6 else None
        if any(not any(_has(t, i) for i in kept) for t in terms.values()):
            # A sum of everything in a sparse result: wrong without windows as well.
            format = None
        text = f"{target} = {value}"
        operands = tuple(maker.operands[name] for name in maker.operands)
        return Question(text, operands, format, assumed=bool(rng.random() < 0.2))


def _has(access: str, index: str) -> bool:
    return index in access.partition("[")[2].replace(" in ", " ")


def _computable(terms: dict[str, str]) -> bool:
    """Tell whether more than sums give each index its extent."""
    for index in "ijk":
        plain = [t for t in terms.values() if _gives(t, index)]
        if any(_has(t, index) for t in terms.values()) and not plain:
            return False
    return True


def _gives(access: str, index: str) -> bool:
    inside = access.partition("[")[2].rstrip("]").split(",")
    return any(part == index or part.startswith(f"{index} in ") for part in inside)
