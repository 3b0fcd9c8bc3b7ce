"""Selections: which coordinate a window reads for each value of its indices.

The gradient of ``y[i] = x[2*i + k] * w[k]`` by ``x`` adds to the coordinates that were
read, which index notation has no target for. It is a sum over what a *selection* says::

    dx[p] = sum(i, k, s[p,i,k] * g[i] * w[k])

where ``s[p,i,k]`` is 1 where ``p = 2*i + k``, and nothing is stored elsewhere.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sparray.compiler import names
from sparray.compiler.index_notation.affine import affine, bases, is_affine
from sparray.compiler.index_notation.nodes import Access, Assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.errors import InternalError
from sparray.records import dataclass

__all__ = ["Selection", "selections"]


@dataclass(frozen=True, slots=True)
class Selection:
    """A tensor that is 1 where a coordinate is the one that a window reads.

    Attributes
    ----------
    name : str
        Of the tensor.
    access : Access
        What is read.
    axis : int
        The dimension with the window.
    """

    name: str
    access: Access
    axis: int

    @property
    def coordinate(self) -> str:
        """The window as it is written."""
        return self.access.indices[self.axis]

    @property
    def indices(self) -> tuple[str, ...]:
        """The indices that it is made of; the selection has a dimension for each."""
        return bases(self.coordinate)

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the selection's shape; ``sizes`` are those of `sizes_of`."""
        return (sizes[self.coordinate], *(sizes[index] for index in self.indices))

    def entries(self, sizes: Mapping[str, int]) -> npt.NDArray[np.int64]:
        """Return the coordinates of its entries: int64[ndim, n]."""
        made = affine(self.coordinate)
        if made is None:
            raise InternalError(f"expected a window, got {self.coordinate}")
        first = sizes[names.first(self.coordinate)]
        extents = [sizes[index] for index in self.indices]
        if not extents:
            return np.array([[first]])
        places = np.indices(extents, dtype=np.int64).reshape(len(extents), -1)
        steps = np.array([step for _, step in made.terms])
        return np.vstack([first + steps @ places, places])


def selections(assignment: Assignment, wrt: str, *taken: str) -> tuple[Selection, ...]:
    """Return a selection for each dimension of an operand that is read in a window.

    Parameters
    ----------
    assignment : Assignment
        What reads it.
    wrt : str
        The operand.
    *taken : str
        Names that no selection may have, besides those of the assignment.
    """
    read = accesses(assignment.value)
    used = {access.tensor for access in read} | {assignment.target.tensor, *taken}
    found: list[Selection] = []
    for access in read:
        if access.tensor != wrt:
            continue
        for axis, coordinate in enumerate(access.indices):
            if is_affine(coordinate):
                name = f"window{len(found) + 1}"
                while name in used:
                    name += "_"
                found.append(Selection(name, access, axis))
    return tuple(found)
