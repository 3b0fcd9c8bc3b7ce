"""Methods of arrays that are functions of the namespace too."""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

__all__ = ["ArrayMethods"]


class ArrayMethods:
    """Mixin with the indexing of `SparseArray`, and methods after NumPy's and SciPy's.

    What computes them is imported when it is first needed: it makes SparseArrays.
    """

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        from sparray.functions.indexing.getitem import getitem

        return getitem(cast("SparseArray", self), index)

    def __setitem__(self, index: Any, value: Any) -> None:
        from sparray.functions.indexing.setitem import setitem

        setitem(cast("SparseArray", self), index, value)

    def take(self, indices: Any, axis: int | None = None) -> "SparseArray":
        """Return the slices at integers along an axis: see `sparray.take`."""
        from sparray.functions.indexing.take import take

        return take(cast("SparseArray", self), indices, axis=axis)

    def diagonal(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1
    ) -> "SparseArray":
        """Return a diagonal: see `sparray.diagonal`."""
        from sparray.functions.indexing.diagonals import diagonal

        return diagonal(cast("SparseArray", self), offset, axis1, axis2)
