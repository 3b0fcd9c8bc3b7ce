"""Merge lattices: which operands must be present for a loop to have work.

At one loop some operands are walked (their level is iterated), others are located.
A *point* is a set of walked operands that are all present at a coordinate; a loop
over the coordinates has work where the present operands are exactly those of a
point. The empty point means that there is work at every coordinate.

The points follow from the expression's algebra alone: absent operands are replaced
by their fill values and the expression is simplified with the identities and
annihilators of the operator table; there is no work where a constant is left. So
``*`` gives intersections, ``+`` unions, and any other operator what its algebra says,
without a case for its name.

Source: Kjolstad et al. 2017, "The tensor algebra compiler", section 5 (lattices of
unions and intersections); Henry et al. 2021, section 4 (general operators).
"""

from collections.abc import Sequence
from itertools import combinations

from sparray.compiler.absence import Absence
from sparray.compiler.identity import cached_by_identity
from sparray.compiler.index_notation.nodes import Access, Expr
from sparray.compiler.index_notation.simplify import accesses
from sparray.errors import UnsupportedError

__all__ = ["Lattice", "has_work_without", "lattice"]

Lattice = tuple[frozenset[Access], ...]
"""The points, larger ones first."""

_MOST_WALKED = 12


def lattice(
    expr: Expr,
    walked: Sequence[Access],
    absence: Absence,
    *,
    writes_constants: bool = False,
) -> Lattice:
    """Return the points at which an expression has work.

    Parameters
    ----------
    expr : Expr
        What the body of the loop computes in the end.
    walked : sequence of Access
        The operands that this loop walks.
    absence : Absence
        What operands are where they store nothing.
    writes_constants : bool
        Whether there is work even where the expression is a constant.

    Returns
    -------
    tuple of frozenset of Access
        Points, larger ones first; ties in the order of ``walked``.

    Raises
    ------
    UnsupportedError
        If more operands meet in one loop than subsets can be enumerated for.

    Notes
    -----
    A subset is a point only if the simplified expression still uses each of its
    operands: in ``a * b + c`` the set {a, c} leaves ``c`` alone and is no point. Of
    operands with one pattern the first stands for all.
    """
    known = _known(expr, absence)
    key = tuple(walked), writes_constants
    if key not in known:
        known[key] = _points(expr, walked, absence, writes_constants)
    return known[key]


@cached_by_identity(1024)
def _known(
    expr: Expr, absence: Absence
) -> dict[tuple[tuple[Access, ...], bool], Lattice]:
    """Return where the lattices of an expression are kept, by what loops walk."""
    return {}


def has_work_without(expr: Expr, walked: Sequence[Access], absence: Absence) -> bool:
    """Tell whether there is work where none of some operands has an entry.

    That is whether the empty set is a point, of any number of operands.
    """
    return not absence.is_constant(absence.without(expr, walked))


def _points(
    expr: Expr, walked: Sequence[Access], absence: Absence, writes_constants: bool
) -> Lattice:
    leaders = absence.leaders(dict.fromkeys((*walked, *accesses(expr))))
    walked = list(dict.fromkeys(leaders[access] for access in walked))
    if len(walked) > _MOST_WALKED:
        raise UnsupportedError(
            f"expected at most {_MOST_WALKED} sparse operands to meet in one loop, "
            f"got {len(walked)}; split the expression with temporaries"
        )
    points = []
    for size in range(len(walked), -1, -1):
        for present in combinations(walked, size):
            missing = [a for a in walked if a not in present]
            rest = absence.without(expr, missing)
            if absence.is_constant(rest) and not writes_constants:
                continue
            used = {leaders[a] for a in accesses(rest) if a in leaders} & set(walked)
            if used == set(present):
                points.append(frozenset(present))
    return tuple(points)
