"""Random problems: expressions, formats, dtypes and arrays, from a seeded generator.

One function of `numpy.random.Generator` makes a whole problem, so that a problem is
named by its seed; Hypothesis draws seeds, fixed suites count them.
"""

from itertools import permutations
from typing import Any

import numpy as np
from oracle_check import Question

from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.convert import array, from_buffers, from_coords
from sparray.formats import Compressed, Dense, Format, Permuted, Singleton
from sparray.formats.level import Arrangeable
from sparray.formats.named import named_format
from sparray.formats.packing import count_positions, pack_coordinates
from sparray.sparse_array import SparseArray

__all__ = [
    "EVERY_DTYPE",
    "EXTENTS",
    "arranged_array",
    "random_array",
    "random_format",
    "random_question",
    "widened",
]

LETTERS = "ijkl"
EXTENTS = (0, 1, 1, 2, 2, 3, 3, 4, 5)
DTYPES = ("float32", "float64", "int32", "int64", "bool", "complex128")
WEIGHTS = (0.2, 0.4, 0.1, 0.1, 0.1, 0.1)
EVERY_DTYPE = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
MOST_ELEMENTS = 400


def random_format(
    rng: np.random.Generator, ndim: int, *, output: bool = False
) -> Format:
    """Return a format of a number of dimensions; all named ones, and mixtures."""
    order = tuple(rng.permutation(ndim).tolist())
    if rng.random() < 0.5:
        order = tuple(range(ndim))
    kind = rng.integers(0, 13)
    if kind >= 10:
        return named_format(str(rng.choice(_parts_and_slots(ndim))), ndim)
    if ndim == 0 or kind == 0:
        return Format([Dense()] * ndim, order)
    if kind <= 2:
        return Format([Compressed()] * ndim, order)
    if kind <= 5:
        dense = int(rng.integers(0, ndim))
        return Format([Dense()] * dense + [Compressed()] * (ndim - dense), order)
    if kind <= 7:
        return Format(_list_levels(ndim, bool(rng.random() < 0.8)), order)
    if kind == 8 and not output:
        return Format(_list_levels(ndim, True, ordered=False), order)
    levels: list[Any] = [Dense() if rng.random() < 0.4 else Compressed() for _ in order]
    if kind == 9 and ndim >= 2 and rng.random() < 0.5:
        levels[-2:] = [Compressed(unique=False), Singleton()]
    return Format(levels, order)


def _parts_and_slots(ndim: int) -> list[str]:
    """Return the named formats whose levels store parts of dimensions, or slots."""
    names = {0: ["dense"], 1: ["bitmap", "dense"]}.get(ndim)
    if names is None:
        names = ["bcsr(2, 3)", "bcsr(2, 2)", "ell", "bitmap"]
    if ndim == 2:
        names += ["bcsc(1, 2)", "bcsc(3, 2)", "dia", "dia"]
    return names


def unordered_format(rng: np.random.Generator, ndim: int) -> Format:
    """Return a format that is unordered, somewhere or throughout, but no list."""
    if ndim >= 2 and rng.random() < 0.5:
        # As results they would have to fit: `arranged_array` makes operands that do.
        names = ["nmg(1, 2, 1)", "nmg(2, 3, 1)", "nmg(1, 3, 2)"]
        return named_format(str(rng.choice(names)), ndim)
    last = Permuted() if rng.random() < 0.4 else Compressed(ordered=False)
    outer: list[Any] = [Dense(), Permuted()]
    if not isinstance(last, Permuted):
        outer = [Dense(), Compressed()]
    levels = [outer[rng.integers(0, 2)]] * (ndim - 1)
    return Format([*levels, last], rng.permutation(ndim).tolist())


def _list_levels(ndim: int, unique: bool, ordered: bool = True) -> list[Any]:
    """Return the levels of a coordinate list."""
    last = [Singleton(unique=unique, ordered=ordered)]
    if ndim == 1:
        return [Compressed(unique=unique, ordered=ordered)]
    middle = [Singleton(unique=False, ordered=ordered)] * (ndim - 2)
    return [Compressed(unique=False, ordered=ordered), *middle, *last]


def random_values(rng: np.random.Generator, n: int, dtype: str) -> np.ndarray:
    """Return small numbers whose sums and products are exact; some are zero."""
    small = rng.integers(-3, 4, n)
    if dtype.startswith("complex"):
        return (small + 1j * rng.integers(-3, 4, n)).astype(dtype)
    if dtype == "bool":
        return small > 0
    return small.astype(numpy_dtype(dtype))


def random_array(
    rng: np.random.Generator, shape: tuple[int, ...], format: Format, dtype: str
) -> SparseArray | np.ndarray:
    """Return an array; dense formats mostly as NumPy arrays in odd layouts."""
    size = int(np.prod(shape))
    if format.is_dense:
        dense = random_values(rng, size, dtype).reshape(shape)
        return _odd_layout(rng, dense) if rng.random() < 0.7 else array(dense, format)
    if any(isinstance(level, Arrangeable) for level in format.levels):
        made = arranged_array(rng, shape, format, dtype)
        return widened(made) if rng.random() < 0.3 else made
    density = rng.choice([0.0, 0.2, 0.5, 1.0])
    chosen = np.flatnonzero(rng.random(size) < density)
    if len(shape) and shape[0] > 1 and rng.random() < 0.3:
        # Leading or trailing slices with nothing in them.
        middle = np.unravel_index(chosen, shape)[0]
        chosen = chosen[middle == rng.integers(0, shape[0])]
    if not format.unique and len(chosen):
        chosen = np.concatenate([chosen, rng.choice(chosen, rng.integers(0, 4))])
    rng.shuffle(chosen)
    coords = np.array(np.unravel_index(chosen, shape)).reshape(len(shape), -1)
    values = random_values(rng, len(chosen), dtype)
    keep = "sum" if format.unique else "keep"
    made = from_coords(coords, values, shape, format, duplicates=keep, dtype=dtype)
    if not format.is_sorted:
        made = _shuffled(rng, made)
    return widened(made) if rng.random() < 0.3 else made


def arranged_array(
    rng: np.random.Generator, shape: tuple[int, ...], format: Format, dtype: str
) -> SparseArray:
    """Return an array whose fibres are arranged at random; half its values are zero."""
    none = np.empty((len(shape), 0), np.int64)
    levels, values = pack_coordinates(
        format, shape, none, np.empty(0, numpy_dtype(dtype))
    )
    extents = format.level_extents(shape)
    for level, extent, buffers in zip(format.levels, extents, levels, strict=True):
        if isinstance(level, Arrangeable) and len(buffers["crd"]):
            table = buffers["crd"].reshape(-1, extent)
            buffers["crd"] = rng.permuted(table, axis=1).reshape(-1)
    n_values = count_positions(format, shape, levels)
    values = random_values(rng, n_values, dtype)
    values[rng.random(n_values) < 0.5] = 0
    return from_buffers(format, shape, levels, values)


def _shuffled(rng: np.random.Generator, made: SparseArray) -> SparseArray:
    """Put the entries of a coordinate list, or of the last level, in another order."""
    order = rng.permutation(len(made.values))
    changed = made._levels
    if made.format.levels[-1].unique and not made.format.levels[-1].branchless:
        # Below unique levels each fibre for itself.
        fibres = np.repeat(
            np.arange(len(made._levels[-1]["pos"]) - 1),
            np.diff(made._levels[-1]["pos"]),
        )
        order = order[np.argsort(fibres[order], kind="stable")]
        changed = made._levels[-1:]
    levels = [*made._levels[: len(made._levels) - len(changed)]]
    levels += [
        {role: b[order] if role == "crd" else b for role, b in level.items()}
        for level in changed
    ]
    return from_buffers(made.format, made.shape, levels, made.values[order])


def widened(made: SparseArray) -> SparseArray:
    """Return the array with int64 index buffers."""
    levels = [
        {
            role: b.astype(np.int64) if b.dtype == np.int32 else b
            for role, b in level.items()
        }
        for level in made._levels
    ]
    return from_buffers(made.format, made.shape, levels, made.values)


def _odd_layout(rng: np.random.Generator, dense: np.ndarray) -> np.ndarray:
    kind = rng.integers(0, 6)
    if kind == 0 and dense.ndim:
        return np.asfortranarray(dense)
    if kind == 1 and dense.ndim:
        return np.repeat(dense, 2, axis=0)[::2]
    if kind == 2 and dense.dtype.itemsize > 1:
        return dense.astype(dense.dtype.newbyteorder(">"))
    if kind == 3:
        dense = dense.copy()
        dense.flags.writeable = False
    return dense


class _Maker:
    """One random expression in the making."""

    def __init__(
        self,
        rng: np.random.Generator,
        dtypes: tuple[str, ...],
        weights: tuple[float, ...] | None,
        unordered: np.random.Generator | None,
    ) -> None:
        self.rng = rng
        self.unordered = unordered
        self.dtypes = dtypes
        self.extents = {i: int(rng.choice(EXTENTS)) for i in LETTERS}
        if rng.random() < 0.5:
            self.extents = {i: max(1, n) for i, n in self.extents.items()}
        if rng.random() < 0.2:
            self.extents["i"] = self.extents["j"]
        self.dtype = str(rng.choice(dtypes, p=weights))
        self.names: list[str] = []
        self.shapes: dict[str, tuple[str, ...]] = {}

    def access(self, indices: tuple[str, ...]) -> str:
        for name, known in self.shapes.items():
            same = [self.extents[a] for a in known] == [
                self.extents[a] for a in indices
            ]
            if same and self.rng.random() < 0.25:
                return f"{name}[{','.join(indices)}]" if indices else name
        name = "PQRSTUVW"[len(self.names)]
        self.names.append(name)
        self.shapes[name] = indices
        return f"{name}[{','.join(indices)}]" if indices else name

    def some_indices(self, among: str) -> tuple[str, ...]:
        n = int(self.rng.choice([0, 1, 2, 2, 2, 3], p=[0.08, 0.3, 0.2, 0.2, 0.1, 0.12]))
        chosen = self.rng.permutation(list(among))[: min(n, len(among))]
        while np.prod([self.extents[i] for i in chosen], initial=1) > MOST_ELEMENTS:
            chosen = chosen[:-1]
        return tuple(map(str, chosen))

    def factor(self, depth: int, among: str) -> str:
        kind = self.rng.random()
        if kind < 0.08:
            return str(self.rng.choice(["2", "3", "0.5", "1", "0", "-1"]))
        if kind < 0.2 and depth:
            inner = self.sum_of_products(depth - 1, among)
            return f"({inner})" if self.rng.random() < 0.6 else f"abs({inner})"
        if kind < 0.26:
            return f"relu({self.access(self.some_indices(among))})"
        if len(self.names) >= 4:
            name = str(self.rng.choice(self.names))
            return self.access_again(name)
        return self.access(self.some_indices(among))

    def access_again(self, name: str) -> str:
        indices = self.shapes[name]
        return f"{name}[{','.join(indices)}]" if indices else name

    def product(self, depth: int, among: str) -> str:
        n = int(self.rng.choice([1, 2, 3], p=[0.45, 0.4, 0.15]))
        return " * ".join(self.factor(depth, among) for _ in range(n))

    def sum_of_products(self, depth: int, among: str) -> str:
        n = int(self.rng.choice([1, 2, 3], p=[0.55, 0.35, 0.1]))
        text = self.product(depth, among)
        for _ in range(n - 1):
            text += f" {self.rng.choice(['+', '-'])} {self.product(depth, among)}"
        return text

    def operands(self) -> tuple[Any, ...]:
        made = []
        for name in self.names:
            indices = self.shapes[name]
            format = random_format(self.rng, len(indices))
            if self.unordered is not None and indices and self.unordered.random() < 0.4:
                format = unordered_format(self.unordered, len(indices))
            dtype = self.dtype
            if self.rng.random() < 0.15:
                dtype = str(self.rng.choice(self.dtypes))
            shape = tuple(self.extents[i] for i in indices)
            made.append(random_array(self.rng, shape, format, dtype))
        return tuple(made)


def random_question(
    seed: int, *, every_dtype: bool = False, unordered: bool = False
) -> Question:
    """Return the problem of a seed.

    Of every dtype, or of the common ones, whose problems stay what they were: some
    seeds are written down. With some operands in no order, if asked for.
    """
    rng = np.random.default_rng(seed)
    loose = np.random.default_rng([seed, 2]) if unordered else None
    maker = (
        _Maker(rng, EVERY_DTYPE, None, loose)
        if every_dtype
        else _Maker(rng, DTYPES, WEIGHTS, loose)
    )
    text, kept = _einsum(maker) if rng.random() < 0.4 else _assignment(maker)
    format = None
    if rng.random() < 0.6:
        format = random_format(rng, kept, output=True)
    width = int(rng.choice([16, 32, 64]))
    operands, assumed = maker.operands(), bool(rng.random() < 0.5)
    # Drawn apart, so that problems found before are still those of their seeds.
    apart = np.random.default_rng([seed, 1])
    if apart.random() < 0.5:
        operands = tuple(_filled(apart, operand) for operand in operands)
    missing = "fill" if apart.random() < 0.2 else "zero"
    if apart.random() < 0.15:
        text = _reduced(text, str(apart.choice(["min", "max", "prod", "any", "all"])))
    return Question(text, operands, format, assumed, width, missing)


def _reduced(text: str, word: str) -> str:
    """Return an assignment that reduces by another operator than addition."""
    target, _, value = text.partition(" = ")
    kept = "".join(_indices_of(target))
    summed = [i for i in LETTERS if i in "".join(_indices_of(value)) and i not in kept]
    if not value or not summed:
        return text
    indices = ", ".join(summed)
    reduced = indices if len(summed) == 1 else f"({indices})"
    return f"{target} = {word}({reduced}, {value})"


def _filled(
    rng: np.random.Generator, operand: SparseArray | np.ndarray
) -> SparseArray | np.ndarray:
    """Return an array with another fill value, for some."""
    if isinstance(operand, np.ndarray) or rng.random() < 0.5:
        return operand
    if operand.format.is_dense:
        return operand
    kind = operand.dtype.kind
    fills = {"b": [True], "i": [1, -2]}.get(kind, [1, 1, -2, -2, np.inf, np.nan])
    fill = operand.dtype.type(rng.choice(fills))
    if operand.format.is_full and not np.isfinite(fill):
        # All entries are stored: infinite numbers, whose sums may be reassociated.
        return operand
    return SparseArray._from_trusted(
        operand.format, operand.shape, operand._levels, operand.values, fill
    )


def _einsum(maker: _Maker) -> tuple[str, int]:
    rng = maker.rng
    n = int(rng.choice([1, 2, 3, 4], p=[0.2, 0.5, 0.2, 0.1]))
    terms = []
    for number in range(n):
        indices = maker.some_indices(LETTERS)
        maker.names.append(f"t{number}")
        maker.shapes[f"t{number}"] = indices
        terms.append("".join(indices))
    occurring = sorted(set("".join(terms)))
    kept = [i for i in rng.permutation(occurring).tolist() if rng.random() < 0.6]
    kept = kept[:3]
    return f"{','.join(terms)}->{''.join(kept)}", len(kept)


def _assignment(maker: _Maker) -> tuple[str, int]:
    rng = maker.rng
    value = maker.sum_of_products(1, LETTERS)
    occurring = sorted({i for indices in maker.shapes.values() for i in indices})
    # Only indices that still occur in the text: shapes may be of accesses reused.
    occurring = [i for i in occurring if i in "".join(_indices_of(value))]
    kept = [i for i in rng.permutation(occurring).tolist() if rng.random() < 0.6][:3]
    target = f"Y[{','.join(kept)}]" if kept else "Y"
    return f"{target} = {value}", len(kept)


def _indices_of(text: str) -> list[str]:
    found = []
    for part in text.split("[")[1:]:
        found += part.partition("]")[0].split(",")
    return found


def orders(ndim: int) -> list[tuple[int, ...]]:
    """Return every order of levels."""
    return list(permutations(range(ndim)))
