"""What an expression becomes where operands store nothing.

Everything that asks where a loop has work, whether an entry of the result is stored or
what the result's fill value is asks here: absent operands are replaced by their fill
values and the expression is simplified by the operators' algebra. Where no operand with
dimensions is left the expression has one value at all such coordinates: no work.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from sparray.compiler.identity import cached_by_identity
from sparray.compiler.index_notation.nodes import Access, Expr, Literal
from sparray.compiler.index_notation.simplify import (
    accesses,
    contains_reduce,
    is_identity,
    simplify_typed,
    substitute,
)
from sparray.compiler.index_notation.traversal import marks, with_stored
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.records import dataclass

__all__ = ["Absence", "Fill", "fill_of"]


@dataclass(frozen=True, slots=True)
class Fill:
    """A fill value that can be a part of keys: NaN is equal to itself, 1 is not True.

    Attributes
    ----------
    value : bool or int or float or complex
        A Python scalar.
    """

    value: Any = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fill) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return repr(self.value)

    @property
    def is_zero(self) -> bool:
        """True for every kind of zero: a fill value's sign is not kept."""
        return bool(self.value == 0)


_ZERO = Fill()


def fill_of(value: Any) -> Fill:
    """Return a NumPy or Python scalar as a fill value; every zero is the same one."""
    return _ZERO if value == 0 else Fill(np.asarray(value).item())


@dataclass(frozen=True, slots=True)
class Absence:
    """The dtype of every tensor, and its value where it stores nothing.

    Attributes
    ----------
    dtypes : mapping of str to str
        NumPy dtype names.
    fills : mapping of str to Fill
        Tensors without one are never absent.
    scalars : frozenset of str
        Tensors without dimensions, whose one value is stored.
    patterns : mapping of str to str
        Tensors that store what another one stores, and which: at the same indices both
        are absent or none is.
    """

    dtypes: Mapping[str, str]
    fills: Mapping[str, Fill]
    scalars: frozenset[str] = frozenset()
    patterns: Mapping[str, str] = field(default_factory=dict)

    def pattern(self, access: Access) -> tuple[str, tuple[str, ...]]:
        """Return what accesses have in common that are absent together."""
        return self.patterns.get(access.tensor, access.tensor), access.indices

    def leaders(self, found: Iterable[Access]) -> dict[Access, Access]:
        """Return for each access the first one that is absent where it is."""
        first: dict[tuple[str, tuple[str, ...]], Access] = {}
        return {a: first.setdefault(self.pattern(a), a) for a in found}

    def without(
        self,
        expr: Expr,
        missing: Iterable[Access],
        *,
        typed: bool = False,
        present: Collection[Access] = (),
    ) -> Expr:
        """Return an expression with some tensors absent, simplified.

        Parameters
        ----------
        expr : Expr
            An expression of index notation or a right-hand side of CIN.
        missing : iterable of Access
            The accesses that find no stored entry.
        typed : bool
            Whether even zeros have their tensor's dtype. Otherwise the zeros of
            tensors that all have one dtype are weak, so that more can be left out.
        present : collection of Access
            The accesses that are known to find one.
        """
        expr = with_stored(expr, present)
        typed = typed or len(set(self.dtypes.values())) > 1
        if self.patterns:
            gone = {self.pattern(access) for access in missing}
            missing = [a for a in accesses(expr) if self.pattern(a) in gone]
        fills = {access: self.literal(access.tensor, typed=typed) for access in missing}
        return simplify_typed(substitute(expr, fills), self.dtypes)

    def literal(self, tensor: str, *, typed: bool = True) -> Literal:
        """Return the value of a tensor where it is absent."""
        dtype = numpy_dtype(self.dtypes[tensor])
        fill = self.fills[tensor]
        if dtype.kind == "b":
            return Literal(bool(fill.value))
        if not typed and fill.is_zero and dtype.kind != "u":
            return Literal(0)
        return Literal(np.asarray(fill.value, dtype)[()])

    def is_constant(self, expr: Expr) -> bool:
        """Tell whether a simplified expression has one value at all coordinates.

        It reads literals and scalars then, and no reduction, whose value depends on
        how many terms it has.
        """
        return not contains_reduce(expr) and all(
            access.tensor in self.scalars for access in accesses(expr)
        )

    @cached_by_identity(1024)
    def constant(self, expr: Expr) -> Expr | None:
        """Return what an expression is where all that can be absent is.

        None if that is not constant. Where a mask says that nothing is computed counts
        as absent, too.
        """
        missing = [a for a in accesses(expr) if a.tensor in self.fills]
        rest = self.without(expr, missing, typed=True)
        if self.is_constant(rest):
            return rest
        present = marks(expr)
        if present:
            missing = [access for access in missing if access not in present]
            rest = self.without(expr, missing, typed=True, present=present)
        return rest if self.is_constant(rest) else None

    def leaves(self, target: str, op: str | None, value: Expr) -> bool:
        """Tell whether an assignment of a value leaves its target as it was at first.

        What is reduced by ``op`` starts from its identity; a result that is assigned,
        from its fill value, which is what any constant is equal to. But for a reduction
        of nothing: inside of a mask that is its identity, and outside something else.
        """
        if op is not None:
            return isinstance(value, Literal) and is_identity(op, value)
        if target not in self.fills or not self.is_constant(value):
            return False
        if isinstance(value, Literal) and isinstance(value.value, np.generic):
            fill = np.asarray(self.fills[target].value).astype(value.value.dtype)
            both_nan = fill != fill and value.value != value.value
            return bool(both_nan or fill == value.value)
        return True
