"""What the compiler is asked: an assignment and what each tensor in it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sparray.compiler import names
from sparray.compiler.absence import Absence, Fill, fill_of
from sparray.compiler.index_notation.nodes import Assignment, Expr, Literal
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.formats.format import Format

__all__ = ["Problem", "TensorSpec", "result_spec"]


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
    """

    format: Format
    dtype: str
    index_dtype: str = "int64"
    fill: Fill = field(default_factory=Fill)


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
    """

    assignment: Assignment
    operands: tuple[tuple[str, TensorSpec], ...]
    output: TensorSpec
    prune: bool = False

    @property
    def specs(self) -> Mapping[str, TensorSpec]:
        """Every tensor's spec by name, the result's too."""
        return {**dict(self.operands), names.OUTPUT: self.output}

    @property
    def absence(self) -> Absence:
        """What the operands are where they store nothing."""
        return _absence(self.operands)

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
        lines = [print_assignment(self.assignment)]
        for name, spec in (*self.operands, (names.OUTPUT, self.output)):
            line = f"{name}: {spec.format} {spec.dtype} {spec.index_dtype}"
            lines.append(line if spec.fill.is_zero else f"{line} fill {spec.fill}")
        if self.prune:
            lines.append("store values that are not zero")
        return "\n".join(lines)


def result_spec(
    value: Expr, operands: tuple[tuple[str, TensorSpec], ...], given: TensorSpec
) -> TensorSpec:
    """Return a result's spec with the fill value that its expression has.

    It is the expression at the operands' fill values, in the result's dtype, and 0
    for a result all of whose entries are stored. One that depends on scalars is known
    only when the kernel runs; no kernel's code depends on its result's fill value.
    """
    constant = _absence(operands).constant(value)
    if not isinstance(constant, Literal):
        return given
    fill = np.asarray(constant.value).astype(numpy_dtype(given.dtype))
    return replace(given, fill=fill_of(fill[()]))


def _absence(operands: tuple[tuple[str, TensorSpec], ...]) -> Absence:
    return Absence(
        {name: spec.dtype for name, spec in operands},
        {name: spec.fill for name, spec in operands if not spec.format.is_dense},
        frozenset(name for name, spec in operands if spec.format.ndim == 0),
    )
