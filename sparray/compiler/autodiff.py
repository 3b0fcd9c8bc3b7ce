"""Gradients: index notation -> index notation of each operand's gradient.

Reverse mode on the expression tree: each subexpression receives a *seed*, the
derivative of the loss by it at every value of the indices around it, and hands its
operands theirs. A seed that reaches the operand in question is summed over the
indices which that access lacks. Where the operand is read in windows, a `Selection`
says which of its coordinates each value of the indices stands for.
"""

from collections.abc import Iterator, Mapping

from sparray.compiler.derivatives import Rules
from sparray.compiler.index_notation.affine import is_affine, rename_coordinate
from sparray.compiler.index_notation.canonical import index_name
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Expr,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.printer import print_access, print_assignment
from sparray.compiler.index_notation.simplify import simplify
from sparray.compiler.index_notation.traversal import (
    accesses,
    children,
    free_indices,
    replace_children,
    walk,
)
from sparray.compiler.index_notation.verify import verify
from sparray.compiler.selection import Selection, selections
from sparray.errors import ExpressionError, UnsupportedError
from sparray.records import dataclass

__all__ = ["gradient", "masked_gradient"]


def gradient(
    assignment: Assignment,
    wrt: str,
    upstream: str,
    *,
    is_complex: bool = False,
    extents: Mapping[str, int] | None = None,
) -> Assignment:
    """Return the statement that computes the gradient of one operand.

    Parameters
    ----------
    assignment : Assignment
        A verified statement.
    wrt : str
        The operand; every access to it contributes.
    upstream : str
        Name for the gradient of the statement's result, which has its indices.
    is_complex : bool
        Put in the conjugates that complex values need. The gradient is then
        ``dL/d(re) + 1j * dL/d(im)``, as in torch.
    extents : mapping of str to int, optional
        Extents of the statement's indices. Needed where an explicit sum repeats a
        term that lacks its index (``sum(j, A[i,j] + b[i])``).

    Returns
    -------
    Assignment
        The target is ``d<wrt>`` with the indices of the first access to ``wrt``, a new
        one for each window. It reads the `selections` of the operand, too. An
        index of the target may be absent on the right (the gradient of a sum is
        broadcast), and without any contribution the value is the literal 0.

    Raises
    ------
    ExpressionError
        If ``wrt`` is not read, ``upstream`` names a tensor of the statement, or
        ``extents`` is needed and not given.
    UnsupportedError
        If ``wrt`` is read with a repeated index, or below a reduction other than a
        sum.

    Notes
    -----
    Where ``max``, ``min``, ``relu`` and ``abs`` have no derivative, one subgradient
    is taken: the first operand's for a tie, 0 for ``relu`` and ``abs`` at 0.

    Examples
    --------
    >>> from sparray.compiler.index_notation.parser import parse_assignment
    >>> statement = parse_assignment("y[i] = A[i,j] * x[j]")
    >>> print_assignment(gradient(statement, "A", "g"))
    'dA[i,j] = g[i] * x[j]'
    >>> print_assignment(gradient(statement, "x", "g"))
    'dx[j] = sum(i, g[i] * A[i,j])'
    >>> statement = parse_assignment("y[i] = x[i + k] * w[k]")
    >>> print_assignment(gradient(statement, "x", "g"))
    'dx[j] = sum((i, k), g[i] * w[k] * window1[j,i,k])'
    """
    verify(assignment)
    read = [a for a in accesses(assignment.value) if a.tensor == wrt]
    _check(assignment, read, wrt, upstream)
    target = Access(
        _target_name(assignment, wrt, upstream), _target_indices(assignment, read[0])
    )
    chosen = selections(assignment, wrt, upstream, target.tensor)
    differentiation = _Differentiation(wrt, Rules(is_complex), extents or {}, chosen)
    seed = Access(upstream, assignment.target.indices)
    terms = [
        term.renamed(target.indices)
        for term in differentiation.terms(
            assignment.value, seed, assignment.target.indices
        )
    ]
    value: Expr = Literal(0) if not terms else terms[0]
    for term in terms[1:]:
        value = Apply("add", (value, term))
    result = Assignment(target, simplify(value))
    _check_extents(assignment, result)
    return result


def masked_gradient(
    assignment: Assignment,
    wrt: str,
    upstream: str,
    mask: str,
    *,
    is_complex: bool = False,
    extents: Mapping[str, int] | None = None,
) -> Assignment:
    """Return the gradient of one operand at its stored coordinates only.

    Parameters
    ----------
    assignment, wrt, upstream
        As for `gradient`.
    mask : str
        Name for the mask, a tensor that is 1 where ``wrt`` stores an entry.
    is_complex, extents
        As for `gradient`.

    Returns
    -------
    Assignment
        The gradient with the mask as the first factor of every term, inside its sum,
        so that a sampled product (SDDMM) appears as such.

    Raises
    ------
    ExpressionError, UnsupportedError
        As `gradient`; also if ``mask`` names a tensor of the statement.

    Examples
    --------
    >>> from sparray.compiler.index_notation.parser import parse_assignment
    >>> statement = parse_assignment("C[i,j] = A[i,k] * B[k,j]")
    >>> print_assignment(masked_gradient(statement, "A", "g", "M"))
    'dA[i,k] = sum(j, M[i,k] * g[i,j] * B[k,j])'
    """
    full = gradient(assignment, wrt, upstream, is_complex=is_complex, extents=extents)
    taken = {a.tensor for a in accesses(full.value)} | {assignment.target.tensor}
    if mask in taken | {full.target.tensor}:
        message = f"mask: expected a new name, got {mask!r}"
        raise ExpressionError(f"{message}, in {print_assignment(assignment)}")
    access = Access(mask, full.target.indices)
    return Assignment(full.target, _multiply_terms(access, full.value))


def _multiply_terms(mask: Access, expr: Expr) -> Expr:
    """Make the mask the first factor of each additive term."""
    if isinstance(expr, Literal) and expr.value == 0:
        return expr
    if isinstance(expr, Reduce) and expr.op == "add":
        return Reduce("add", expr.indices, _multiply_terms(mask, expr.operand))
    if isinstance(expr, Apply) and expr.op in ("add", "sub", "neg"):
        terms = tuple(_multiply_terms(mask, term) for term in expr.operands)
        return Apply(expr.op, terms)
    if isinstance(expr, Apply) and expr.op in ("mul", "div"):
        left, right = expr.operands
        return Apply(expr.op, (_multiply_first(mask, left), right))
    return Apply("mul", (mask, expr))


def _multiply_first(mask: Access, expr: Expr) -> Expr:
    if isinstance(expr, Apply) and expr.op in ("mul", "div"):
        left, right = expr.operands
        return Apply(expr.op, (_multiply_first(mask, left), right))
    return Apply("mul", (mask, expr))


@dataclass(frozen=True, slots=True)
class _Term:
    """A seed that reached an access, and the indices it is a function of."""

    access: Access
    seed: Expr
    active: tuple[str, ...]
    chosen: tuple[Selection, ...] = ()

    def renamed(self, target: tuple[str, ...]) -> Expr:
        """Return the contribution with the access's indices named as the target's."""
        summed = [i for i in self.active if i not in self.access.indices]
        names = {
            index: new
            for index, new in zip(self.access.indices, target, strict=True)
            if not is_affine(index)
        }
        kept = (i for i in summed if i not in target)
        fresh = _fresh_names({*target, *kept, *_bound(self.seed)})
        for index in summed:
            names[index] = index if index not in target else next(fresh)
        value = _rename(self.seed, names, fresh)
        for selection in self.chosen:
            of = tuple(names[index] for index in selection.indices)
            factor = Access(selection.name, (target[selection.axis], *of))
            value = Apply("mul", (value, factor))
        indices = tuple(names[index] for index in summed)
        return Reduce("add", indices, value) if indices else value


@dataclass(frozen=True, slots=True)
class _Differentiation:
    wrt: str
    rules: Rules
    extents: Mapping[str, int]
    chosen: tuple[Selection, ...] = ()

    def terms(self, expr: Expr, seed: Expr, active: tuple[str, ...]) -> Iterator[_Term]:
        """Yield the contribution of every occurrence of the operand below."""
        if isinstance(expr, Access) and expr.tensor == self.wrt:
            yield self.leaf(expr, seed, active)
        elif isinstance(expr, Reduce) and self.occurs(expr):
            if expr.op != "add":
                raise UnsupportedError(
                    f"gradient: expected a sum above {self.wrt!r}, got a reduction "
                    f"by {expr.op!r}"
                )
            yield from self.terms(expr.operand, seed, (*active, *expr.indices))
        elif isinstance(expr, Apply):
            for operand, rule in zip(
                expr.operands, self.rules.of(expr.op), strict=True
            ):
                if self.occurs(operand):
                    below = rule(seed, *expr.operands)
                    if below is not None:
                        yield from self.terms(operand, below, active)

    def occurs(self, expr: Expr) -> bool:
        return any(access.tensor == self.wrt for access in accesses(expr))

    def leaf(self, access: Access, seed: Expr, active: tuple[str, ...]) -> _Term:
        # A sum over an index that neither side has is a multiplication.
        here = {*free_indices(seed), *free_indices(access)}
        for index in active:
            if index not in here and index in self.extents:
                seed = Apply("mul", (seed, Literal(self.extents[index])))
                active = tuple(i for i in active if i != index)
        chosen = tuple(one for one in self.chosen if one.access == access)
        return _Term(access, seed, active, chosen)


def _rename(expr: Expr, names: Mapping[str, str], fresh: Iterator[str]) -> Expr:
    """Rename free indices, and bound ones that would clash with a new name."""
    if isinstance(expr, Access):
        indices = tuple(rename_coordinate(i, names) for i in expr.indices)
        return Access(expr.tensor, indices)
    if not isinstance(expr, Reduce):
        operands = tuple(_rename(child, names, fresh) for child in children(expr))
        return replace_children(expr, operands)
    taken = set(names.values())
    inner = {i: next(fresh) if i in taken else i for i in expr.indices}
    operand = _rename(expr.operand, {**names, **inner}, fresh)
    return Reduce(expr.op, tuple(inner.values()), operand)


def _bound(expr: Expr) -> set[str]:
    reduces = (node for node in walk(expr) if isinstance(node, Reduce))
    return {index for node in reduces for index in node.indices}


def _fresh_names(taken: set[str]) -> Iterator[str]:
    number = 0
    while True:
        name = index_name(number)
        if name not in taken:
            yield name
        number += 1


def _target_name(assignment: Assignment, wrt: str, upstream: str) -> str:
    taken = {a.tensor for a in accesses(assignment.value)} | {upstream}
    name = f"d{wrt}"
    while name in taken:
        name += "_"
    return name


def _target_indices(assignment: Assignment, access: Access) -> tuple[str, ...]:
    """Return the indices of the gradient: those of an access, new ones for windows."""
    taken = {i for a in accesses(assignment.value) for i in free_indices(a)}
    fresh = _fresh_names(taken | {*assignment.target.indices})
    return tuple(next(fresh) if is_affine(i) else i for i in access.indices)


def _check(assignment: Assignment, read: list[Access], wrt: str, upstream: str) -> None:
    text = print_assignment(assignment)
    if not read:
        message = f"wrt: expected an operand, got {wrt!r}, which is not read"
        raise ExpressionError(f"{message}, in {text}")
    if any(access.tensor == upstream for access in accesses(assignment.value)):
        message = f"upstream: expected a new name, got {upstream!r}"
        raise ExpressionError(f"{message}, in {text}")
    for access in read:
        if len(set(access.indices)) < len(access.indices):
            message = f"gradient through the diagonal {print_access(access)}"
            raise UnsupportedError(f"{message}, in {text}")


def _check_extents(assignment: Assignment, result: Assignment) -> None:
    occurring = {i for a in accesses(result.value) for i in free_indices(a)}
    for index in sorted(_bound(result.value) - occurring):
        message = f"gradient: the extent of index {index!r} is needed, pass extents"
        raise ExpressionError(f"{message}, in {print_assignment(assignment)}")
