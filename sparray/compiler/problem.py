"""What the compiler is asked: an assignment and what each tensor in it is."""

from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from sparray.compiler import names
from sparray.compiler.absence import Absence, Fill, fill_of
from sparray.compiler.identity import cached_by_identity
from sparray.compiler.index_notation.nodes import Access, Assignment, Expr, Literal
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.formats.format import Format
from sparray.records import dataclass

__all__ = ["Problem", "Temporary", "TensorSpec", "absence_of", "result_spec"]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """The facts about one tensor that a kernel is specialised to.

    Attributes
    ----------
    format : Format
        Levels and their order.
    dtype : str
        NumPy name of the values' dtype.
    index_dtype : str
        ``"int32"`` or ``"int64"``: the dtype of every ``pos`` and ``crd``.
    fill : Fill
        What every entry is that is not stored.
    pattern : str or None
        The operand whose levels these are: the same coordinates in the same positions.
        None for a tensor with levels of its own.
    of_row : bool
        Whether it is held for one row at a time, and so is another one in the next.
    """

    format: Format
    dtype: str
    index_dtype: str = "int64"
    fill: Fill = field(default_factory=Fill)
    pattern: str | None = None
    of_row: bool = False


@dataclass(frozen=True, slots=True)
class Temporary:
    """A part of a problem that is made before the rest of its row is.

    Attributes
    ----------
    assignment : Assignment
        What it is, along the outermost loop: no index of that is in a target that is
        held for one row at a time, unless it has an operand's pattern.
    spec : TensorSpec
        Of the target.
    """

    assignment: Assignment
    spec: TensorSpec


@dataclass(frozen=True, slots=True)
class Problem:
    """A canonical assignment in which every access has an operand of its own.

    Attributes
    ----------
    assignment : Assignment
        Target ``out``; indices and operands renamed canonically.
    operands : tuple of (str, TensorSpec)
        In the order in which a kernel receives them.
    output : TensorSpec
        What the result is.
    prune : bool
        True if a sparse result stores only values that are not zero: dense data is
        converted. Otherwise the pattern follows from the operands' patterns alone.
    temporaries : tuple of Temporary
        What the assignment reads besides operands, in the order in which it is made.
    """

    assignment: Assignment
    operands: tuple[tuple[str, TensorSpec], ...]
    output: TensorSpec
    prune: bool = False
    temporaries: tuple[Temporary, ...] = ()

    @property
    @cached_by_identity(1024)
    def specs(self) -> Mapping[str, TensorSpec]:
        """Every tensor's spec by name, the result's and the temporaries' too."""
        return _specs(self.operands, self.temporaries, self.output)

    @property
    def values(self) -> tuple[Expr, ...]:
        """What is computed: each temporary's right side, then the result's."""
        made = [t.assignment.value for t in self.temporaries]
        return (*made, self.assignment.value)

    @property
    def reads(self) -> tuple[Access, ...]:
        """Every distinct access of the right sides, in order of first appearance."""
        return tuple(dict.fromkeys(a for v in self.values for a in accesses(v)))

    @property
    @cached_by_identity(1024)
    def absence(self) -> Absence:
        """What the operands are where they store nothing.

        So are temporaries that have an operand's pattern; others are always there.
        """
        return _absence(self.operands, self.temporaries)

    @property
    def constant(self) -> Expr | None:
        """What the result is where no operand stores anything.

        None if that is no constant; then every entry of the result is stored.
        """
        return self.absence.constant(self.assignment.value)

    @property
    def has_known_fill(self) -> bool:
        """True if the result's fill value depends neither on scalars nor on extents."""
        return isinstance(self.constant, Literal)

    def describe(self) -> str:
        """Return a deterministic text that identifies the problem (a cache key)."""
        lines = [print_assignment(t.assignment) for t in self.temporaries]
        lines.append(print_assignment(self.assignment))
        for name, spec in (*self.operands, (names.OUTPUT, self.output)):
            lines.append(_describe(name, spec))
        for made in self.temporaries:
            lines.append(_describe(made.assignment.target.tensor, made.spec))
        if self.prune:
            lines.append("store values that are not zero")
        return "\n".join(lines)


@cached_by_identity(1024)
def _specs(
    operands: tuple[tuple[str, TensorSpec], ...],
    temporaries: "tuple[Temporary, ...]",
    output: TensorSpec,
) -> Mapping[str, TensorSpec]:
    made = {t.assignment.target.tensor: t.spec for t in temporaries}
    return MappingProxyType({**dict(operands), **made, names.OUTPUT: output})


@cached_by_identity(1024)
def _absence(
    operands: tuple[tuple[str, TensorSpec], ...],
    temporaries: "tuple[Temporary, ...]",
) -> Absence:
    made = [(t.assignment.target.tensor, t.spec) for t in temporaries]
    return absence_of((*operands, *made))


def result_spec(
    value: Expr, operands: tuple[tuple[str, TensorSpec], ...], given: TensorSpec
) -> TensorSpec:
    """Return a result's spec with the fill value that its expression has.

    It is the expression at the operands' fill values, in the result's dtype, and 0
    for a result all of whose entries are stored. One that depends on scalars is known
    only when the kernel runs; until then it is said to be 1, since a kernel that copies
    the result may rely on a fill value of 0, and on no other.
    """
    constant = absence_of(operands).constant(value)
    if constant is None:
        return given
    dtype = numpy_dtype(given.dtype)
    known = constant.value if isinstance(constant, Literal) else 1
    return replace(given, fill=fill_of(np.asarray(known).astype(dtype)[()]))


def absence_of(operands: tuple[tuple[str, TensorSpec], ...]) -> Absence:
    """Return what operands are where they store nothing.

    A sum that was computed first is no scalar that is given: it may be a sum of
    nothing. So a result's pattern is the same whether its sums are computed first or
    inside.
    """
    scalars = (
        name
        for name, spec in operands
        if spec.format.ndim == 0 and not spec.of_row and names.is_operand(name)
    )
    return _one_absence(
        tuple((name, spec.dtype) for name, spec in operands),
        tuple((n, spec.fill) for n, spec in operands if not spec.format.is_dense),
        frozenset(scalars),
        tuple((n, spec.pattern) for n, spec in operands if spec.pattern is not None),
    )


@lru_cache(maxsize=256)
def _one_absence(
    dtypes: tuple[tuple[str, str], ...],
    fills: tuple[tuple[str, Fill], ...],
    scalars: frozenset[str],
    patterns: tuple[tuple[str, str], ...],
) -> Absence:
    """Return the same object for the same content.

    The scheduler looks at many formats of one expression. What follows from the algebra
    alone is found once for all of them.
    """
    return Absence(dict(dtypes), dict(fills), scalars, dict(patterns))


def _describe(name: str, spec: TensorSpec) -> str:
    line = f"{name}: {spec.format} {spec.dtype} {spec.index_dtype}"
    if spec.pattern is not None:
        line += f" with the pattern of {spec.pattern}"
    return line if spec.fill.is_zero else f"{line} fill {spec.fill}"
