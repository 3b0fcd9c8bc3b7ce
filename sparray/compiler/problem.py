"""What the compiler is asked: an assignment and what each tensor in it is."""

from collections.abc import Mapping
from dataclasses import dataclass

from sparray.compiler import names
from sparray.compiler.index_notation.nodes import Assignment
from sparray.compiler.index_notation.printer import print_assignment
from sparray.formats.format import Format

__all__ = ["Problem", "TensorSpec"]


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
    """

    format: Format
    dtype: str
    index_dtype: str = "int64"


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

    def describe(self) -> str:
        """Return a deterministic text that identifies the problem (a cache key)."""
        lines = [print_assignment(self.assignment)]
        for name, spec in (*self.operands, (names.OUTPUT, self.output)):
            lines.append(f"{name}: {spec.format} {spec.dtype} {spec.index_dtype}")
        if self.prune:
            lines.append("store values that are not zero")
        return "\n".join(lines)
