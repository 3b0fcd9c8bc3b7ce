"""Nodes of index notation: what a user asks for, without any loop.

The whole grammar::

    Assignment ::= Access = Expr
    Expr       ::= Access | Literal | Apply(operator, Expr ...)
                 | Reduce(operator, indices, Expr)
    Access     ::= tensor [ coordinate , ... ]
    Coordinate ::= index | integer | index in slice | sum of integer * index

An index that the left side lacks is summed within its own additive term; the
parser makes those sums explicit as `Reduce` nodes, so later stages never guess.
Operators are names of `sparray.compiler.loop_ir.operators`.
"""

from typing import Any

from sparray.records import dataclass

__all__ = ["Access", "Apply", "Assignment", "Expr", "Literal", "Reduce"]


class Expr:
    """Base of expressions."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Access(Expr):
    """One element of a tensor: ``A[i,k]``; no indices for a scalar.

    A dimension has an index, or the text of a coordinate that is made of some
    (`sparray.compiler.index_notation.affine`); the target has indices only.
    """

    tensor: str
    indices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant: bool, int, float or complex."""

    value: Any


@dataclass(frozen=True, slots=True)
class Apply(Expr):
    """An operator applied to its operands."""

    op: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Reduce(Expr):
    """The operand combined over every value of the indices."""

    op: str
    indices: tuple[str, ...]
    operand: Expr


@dataclass(frozen=True, slots=True)
class Assignment:
    """``target = value`` for every value of the target's indices."""

    target: Access
    value: Expr
