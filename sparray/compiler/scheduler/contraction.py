"""In which order the factors of a product of many are multiplied, two at a time."""

from collections.abc import Callable, Mapping, Sequence
from math import expm1, inf, prod

from sparray.compiler.index_notation.affine import is_affine
from sparray.compiler.index_notation.nodes import Access, Apply, Expr, Reduce
from sparray.compiler.loop_ir.dtypes import dtype_kind
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.statistics import Statistics
from sparray.records import dataclass

__all__ = ["contraction_factors", "contraction_path", "occupied"]

_Indices = frozenset[str]


def contraction_factors(problem: Problem) -> tuple[Access, ...]:
    """Return the factors of a sum of a product, if it may be computed in pairs.

    Returns
    -------
    tuple of Access
        Empty for anything but a sum over a product of at least three operands, for
        fill values other than 0, and for numbers that would wrap around in another
        dtype where they are multiplied in another order.
    """
    value = problem.assignment.value
    if not isinstance(value, Reduce) or value.op != "add":
        return ()
    found = _factors(value.operand)
    if found is None or len(found) < 3 or len(set(found)) < len(found):
        return ()
    for access in found:
        repeated = len(set(access.indices)) < len(access.indices)
        if repeated or any(map(is_affine, access.indices)):
            return ()
    specs = [problem.specs[access.tensor] for access in found]
    dtypes = {spec.dtype for spec in specs}
    inexact = all(dtype_kind(dtype) in "fc" for dtype in dtypes)
    if any(not spec.fill.is_zero for spec in specs) or not (
        inexact or len(dtypes) == 1
    ):
        return ()
    return found


def _factors(expr: Expr) -> tuple[Access, ...] | None:
    if isinstance(expr, Access):
        return (expr,)
    if not isinstance(expr, Apply) or expr.op != "mul":
        return None
    parts = [_factors(operand) for operand in expr.operands]
    left, right = parts
    return None if left is None or right is None else (*left, *right)


def contraction_path(
    factors: Sequence[Access], problem: Problem, statistics: Statistics
) -> list[tuple[int, ...]]:
    """Return which factors are multiplied, pair by pair, as opt_einsum gives paths.

    Parameters
    ----------
    factors : sequence of Access
        At least three.
    problem : Problem
        What they are factors of.
    statistics : Statistics
        Extents and numbers of entries.

    Returns
    -------
    list of tuple of int
        Places of two factors, which are taken away; their product is put at the end.
        Empty where opt_einsum is not installed.

    Notes
    -----
    opt_einsum's greedy search, by four measures of stored entries: the products that a
    pair has, the entries that these make, by how many these are more than those of the
    pair, and how few those of the pair are not, which goes on with what was made. The
    path with the fewest products is taken. Two operands with ``a`` and ``b`` entries
    that share indices of ``n`` values have about ``a * b / n``.
    """
    try:
        from opt_einsum.paths import greedy  # type: ignore[import-untyped]
    except ImportError:
        # An installation from before it was required: one kernel computes it all.
        return []
    sizes = {
        index: max(1, int(statistics.extent(index)))
        for access in factors
        for index in access.indices
    }
    output = frozenset(problem.assignment.target.indices)
    inputs = [frozenset(access.indices) for access in factors]
    stored = {
        key: _entries(access, problem, statistics)
        for key, access in zip(inputs, factors, strict=True)
    }
    found = []
    for measure in (_products, _grown, _made, _chained):
        sparsity = _Sparsity(sizes, dict(stored), measure)
        path = greedy(inputs, output, sizes, cost_fn=sparsity.cost)
        found.append((sparsity.total(path, inputs, output), path))
    _, cheapest = min(found, key=lambda pair: pair[0])
    return [tuple(step) for step in cheapest]


def _entries(access: Access, problem: Problem, statistics: Statistics) -> float:
    if problem.specs[access.tensor].format.is_dense or not access.indices:
        return float(prod(statistics.extent(i) for i in access.indices))
    return float(statistics.positions[access.tensor][-1])


def _products(products: float, made: float, taken: float) -> float:
    return products


def _grown(products: float, made: float, taken: float) -> float:
    return made - taken


def _made(products: float, made: float, taken: float) -> float:
    return made


def _chained(products: float, made: float, taken: float) -> float:
    return -taken


@dataclass(frozen=True, slots=True)
class _Sparsity:
    """Numbers of entries by indices, of operands and of products so far.

    ``measure`` is what the greedy search prefers little of.
    """

    sizes: Mapping[str, int]
    entries: dict[_Indices, float]
    measure: Callable[[float, float, float], float]

    def cost(
        self,
        size12: int,
        size1: int,
        size2: int,
        k12: _Indices,
        k1: _Indices,
        k2: _Indices,
    ) -> float:
        """Return the measure of a product, and note how many entries it has."""
        products = self._multiplied(k12, k1, k2)
        taken = self._of(k1) + self._of(k2)
        return self.measure(products, self._of(k12), taken)

    def total(
        self,
        path: Sequence[Sequence[int]],
        inputs: Sequence[_Indices],
        output: _Indices,
    ) -> float:
        """Return the number of multiplications of a whole path."""
        left, total = list(inputs), 0.0
        for step in path:
            pair = [left.pop(place) for place in sorted(step, reverse=True)]
            if len(pair) != 2:
                return inf
            k12 = (pair[0] | pair[1]) & output.union(*left)
            total += self._multiplied(k12, *pair)
            left.append(k12)
        return total

    def _multiplied(self, k12: _Indices, k1: _Indices, k2: _Indices) -> float:
        shared = prod(self.sizes[index] for index in k1 & k2)
        products = self._of(k1) * self._of(k2) / shared
        made = occupied(products, prod(self.sizes[index] for index in k12))
        self.entries[k12] = min(made, self.entries.get(k12, made))
        return products

    def _of(self, indices: _Indices) -> float:
        full = float(prod(self.sizes[index] for index in indices))
        return self.entries.get(indices, full)


def occupied(products: float, places: float) -> float:
    """Return how many of the places are taken, if products fall on any of them."""
    return -places * expm1(-products / places) if places else 0.0
