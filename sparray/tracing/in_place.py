"""Changes in place in traced code: performed on what the code made, else refused.

``h += b`` changes an array that the traced code computed: every name of it means the
new elements then, as in NumPy. An argument, or an array from around the function, would
have to change where its owner sees it, and a view would change what it is a view of:
those are refused, never left out.
"""

from typing import TYPE_CHECKING

from sparray.tracing.graph import Computed, View
from sparray.tracing.refusal import refusal

if TYPE_CHECKING:
    from sparray.tracing.lazy_array import LazyArray

__all__ = ["changed", "share"]


def share(view: View) -> None:
    """Note that there are several views of a tensor, which NumPy changes together."""
    if isinstance(view.tensor, Computed):
        view.tensor.shared = True


def changed(array: "LazyArray", made: "LazyArray", symbol: str) -> "LazyArray":
    """Return an array with other elements, the same object.

    Raises
    ------
    TraceError
        If others would see the change, or the result is no such array.
    """
    old, new = array._view, made._view
    if not isinstance(old.tensor, Computed):
        raise refusal(
            symbol,
            "expected code that leaves its arguments, and arrays from around it, as "
            f"they are: x = x {symbol[:-1]} ... makes a new array",
        )
    if old.tensor.shared:
        raise refusal(
            symbol,
            "expected an array without views, which would change too: "
            f"x = x {symbol[:-1]} ... makes a new array",
        )
    if new.shape != old.shape or new.tensor.dtype != old.tensor.dtype:
        raise refusal(
            symbol,
            f"expected a result of shape {old.shape} and dtype {old.tensor.dtype}, got "
            f"{new.shape} and {new.tensor.dtype}",
        )
    array._view = new
    return array
