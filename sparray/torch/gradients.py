"""From an expression to the expressions of its gradients, derived once and kept."""

from dataclasses import replace
from enum import Enum
from functools import lru_cache

from sparray.compiler.autodiff import gradient, masked_gradient
from sparray.compiler.index_notation.nodes import Access, Apply, Assignment, Literal
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.index_notation.traversal import accesses, substitute
from sparray.compiler.selection import Selection, selections
from sparray.errors import InternalError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.records import dataclass

__all__ = ["Gradient", "Ones", "Other", "Source", "gradient_of", "with_sources"]


class Other(Enum):
    """What a gradient reads besides the operands."""

    UPSTREAM = "upstream"
    MASK = "mask"


@dataclass(frozen=True, slots=True)
class Ones:
    """A vector of ones along an axis of the operand.

    It gives the gradient of a sum its extent.
    """

    axis: int


Source = int | Other | Ones | Selection


@dataclass(frozen=True, slots=True)
class Gradient:
    """The gradient of one operand, as an expression.

    Attributes
    ----------
    expression : Expression
        What computes it.
    sources : tuple
        For each of the expression's tensors: an operand's number, or what else it is.
    """

    expression: Expression
    sources: tuple[Source, ...]


@lru_cache(maxsize=4096)
def gradient_of(
    expression: Expression, number: int, is_sparse: bool, is_complex: bool
) -> Gradient | None:
    """Return the gradient of one operand of an expression.

    Parameters
    ----------
    expression : Expression
        Each operand is read by one access.
    number : int
        Of the operand.
    is_sparse : bool
        Whether the gradient is wanted at the operand's stored coordinates only.
    is_complex : bool
        Whether values are complex.

    Returns
    -------
    Gradient or None
        None if it is 0 everywhere.

    Raises
    ------
    UnsupportedError
        If the operand is read with a repeated index, or below a reduction other than a
        sum.
    """
    names = {n: name for name, n in expression.operands}
    if len(names) != len(expression.operands):
        raise InternalError(f"{expression.text}: expected one access for each operand")
    upstream, mask = Other.UPSTREAM.value, Other.MASK.value
    stated = with_sources(expression)
    given = (stated, names[number], upstream)
    if is_sparse:
        made = masked_gradient(*given, mask, is_complex=is_complex)
    else:
        made = gradient(*given, is_complex=is_complex)
    if isinstance(made.value, Literal):
        return None
    sources: dict[str, Source] = {name: n for n, name in names.items()}
    sources |= {upstream: Other.UPSTREAM, mask: Other.MASK}
    sources |= _selections(expression, stated, names[number], made)
    made, ones = _with_extents(made)
    sources |= ones
    derived = assignment_expression(print_assignment(made))
    return Gradient(derived, tuple(sources[name] for name in derived.tensors))


def with_sources(expression: Expression) -> Assignment:
    """Return an expression's assignment with windows as they are written."""
    assignment = expression.assignment
    written = {
        access: Access(
            access.tensor,
            tuple(expression.sources.get(i, i) for i in access.indices),
        )
        for access in accesses(assignment.value)
    }
    return Assignment(assignment.target, substitute(assignment.value, written))


def _selections(
    expression: Expression, stated: Assignment, name: str, made: Assignment
) -> dict[str, Selection]:
    """Return the selections that a gradient reads, of what sizes know as windows."""
    read = selections(stated, name, Other.UPSTREAM.value, made.target.tensor)
    known = selections(expression.assignment, name)
    return {
        one.name: replace(same, name=one.name)
        for one, same in zip(read, known, strict=True)
    }


def _with_extents(made: Assignment) -> tuple[Assignment, dict[str, Ones]]:
    """Multiply by ones along each index of the target that no operand has.

    A sum of indices says no more than how far one of them may go.
    """
    present = {i for access in accesses(made.value) for i in access.indices}
    value, ones = made.value, {}
    for axis, index in enumerate(made.target.indices):
        if index not in present:
            name = f"ones{axis}"
            value = Apply("mul", (value, Access(name, (index,))))
            ones[name] = Ones(axis)
    return Assignment(made.target, value), ones
