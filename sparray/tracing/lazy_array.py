"""An array that is computed later: operations on it build an expression."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.errors import DTypeError, SettingError, ShapeError, TraceAttributeError
from sparray.tracing import operations
from sparray.tracing.arguments import (
    as_array,
    filled_keys,
    is_full,
    refuse_options,
    torch_words,
)
from sparray.tracing.graph import Source, View
from sparray.tracing.in_place import changed, share
from sparray.tracing.python_operators import NO_VALUES, install
from sparray.tracing.refusal import refusal

if TYPE_CHECKING:
    from sparray.formats.format import Format
    from sparray.functions.einsum import Operand
    from sparray.functions.explanation import Explanation

__all__ = ["LazyArray", "as_view", "lazy", "tracing"]

# `active`: the sets that note whether traced code asked for an extent, innermost last;
# `exact`: whether that code means `missing="fill"`.
tracing = threading.local()


class LazyArray:
    """An array that is computed when `compute` is called.

    Python's operators, NumPy's functions and sparray's build an expression of it, in
    index notation; nothing is computed. An operation that sparray does not know of, or
    that depends on values, raises a `TraceError`. `lazy` makes one; functions that
    `fuse` traces get them as arguments.

    Attributes
    ----------
    shape, ndim, size, dtype
        As of arrays.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")
    >>> C = sp.lazy(A, "A") * 2 + 1
    >>> C
    LazyArray of shape (2, 2), float64:
    out[i,j] = A[i,j] * 2 + 1
    >>> C.compute().todense()
    array([[1., 5.],
           [7., 1.]])
    """

    __slots__ = ("_view",)

    __array_priority__ = 2000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, view: View) -> None:
        self._view = view

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        note_shape()
        return self._view.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the elements."""
        return self._view.tensor.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._view.dims)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def T(self) -> "LazyArray":  # noqa: N802
        """The array with its dimensions in reverse order."""
        return self.transpose()

    @property
    def mT(self) -> "LazyArray":  # noqa: N802
        """The array with its last two dimensions exchanged."""
        if self.ndim < 2:
            raise ShapeError(f"mT: expected 2 dimensions or more, got {self.ndim}")
        order = list(range(self.ndim))
        order[-2:] = reversed(order[-2:])
        return self.transpose(*order)

    @property
    def real(self) -> "LazyArray":
        """The real part of each element."""
        share(self._view)
        return self._apply("real")

    @property
    def imag(self) -> "LazyArray":
        """The imaginary part of each element."""
        return self._apply("imag")

    def compute(self, *, format: "str | Format | None" = None) -> "Operand":
        """Return the array.

        Parameters
        ----------
        format : str or Format, optional
            Of the result; inferred by default.
        """
        from sparray.tracing.evaluate import computed

        (made,) = computed([self], [format])
        return made

    def explain(self, *, format: "str | Format | None" = None) -> "Explanation":
        """Say how the array would be computed, as `sparray.explain` does."""
        from sparray.tracing.evaluate import explained

        return explained([self], [format])

    def transpose(self, *axes: Any) -> "LazyArray":
        """Return the array with its dimensions in another order."""
        if len(axes) == 1 and not isinstance(axes[0], int):
            axes = tuple(range(self.ndim))[::-1] if axes[0] is None else tuple(axes[0])
        order = axes or tuple(range(self.ndim))[::-1]
        order = tuple(self._axis(axis) for axis in order)
        if sorted(order) != list(range(self.ndim)):
            raise ShapeError(
                f"transpose: expected each of {self.ndim} axes once, got {axes}"
            )
        share(self._view)
        return LazyArray(operations.transpose(self._view, order))

    def astype(self, dtype: npt.DTypeLike) -> "LazyArray":
        """Return the array in a wider dtype."""
        wanted = np.dtype(dtype)
        if wanted != self.dtype and not np.can_cast(self.dtype, wanted, "safe"):
            raise refusal(
                f"astype({wanted})",
                f"expected a dtype that holds each value of {self.dtype}; convert the "
                "array before it is traced, or the result",
            )
        return LazyArray(operations.cast(self._view, wanted))

    def dot(self, other: Any) -> "LazyArray":
        """Return the matrix product, or that with a number."""
        view = as_view(other)
        if isinstance(view, View) and view.dims and self._view.dims:
            if len(view.dims) > 2:
                raise refusal("dot", "expected up to 2 dimensions; use @ for stacks")
            return LazyArray(operations.matmul(self._view, view))
        return self._apply("mul", other)

    def conj(self) -> "LazyArray":
        """Return the complex conjugate of each element."""
        return self._apply("conj")

    def squeeze(self, axis: int | Sequence[int] | None = None) -> "LazyArray":
        """Return the array without dimensions of extent 1."""
        shape = self.shape
        axes = self._axes(axis) if axis is not None else range(self.ndim)
        found = [n for n in axes if shape[n] == 1]
        if axis is not None and len(found) < len(axes):
            raise ShapeError(f"squeeze: expected axes of extent 1, got shape {shape}")
        share(self._view)
        return LazyArray(operations.squeeze(self._view, found))

    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        **options: Any,
    ) -> "LazyArray":
        """Return the sum over axes, in NumPy's dtype."""
        axis, keepdims = torch_words(options, axis, keepdims)
        refuse_options("sum", out=out, **options)
        return self._added("add", np.add, axis, dtype, keepdims)

    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        **options: Any,
    ) -> "LazyArray":
        """Return the product over axes, in NumPy's dtype."""
        axis, keepdims = torch_words(options, axis, keepdims)
        refuse_options("prod", out=out, **options)
        return self._added("mul", np.multiply, axis, dtype, keepdims)

    def mean(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        **options: Any,
    ) -> "LazyArray":
        """Return the mean over axes."""
        axis, keepdims = torch_words(options, axis, keepdims)
        refuse_options("mean", out=out, **options)
        if dtype is None and self.dtype.kind in "biu":
            dtype = np.float64
        total = self._added("add", np.add, axis, dtype, keepdims)
        shape, axes = self.shape, self._axes(axis)
        count = int(np.prod([shape[n] for n in axes], dtype=object))
        return total._apply("div", count)

    def max(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, **options: Any
    ) -> "LazyArray":
        """Return the largest element along axes."""
        refuse_options("max", out=out, **options)
        return self._extreme("max", axis, keepdims)

    def min(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, **options: Any
    ) -> "LazyArray":
        """Return the smallest element along axes."""
        refuse_options("min", out=out, **options)
        return self._extreme("min", axis, keepdims)

    def any(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, **options: Any
    ) -> "LazyArray":
        """Tell whether an element along axes is not zero."""
        axis, keepdims = torch_words(options, axis, keepdims)
        refuse_options("any", out=out, **options)
        return self._truth()._reduce("or", axis, keepdims)

    def all(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, **options: Any
    ) -> "LazyArray":
        """Tell whether no element along axes is zero."""
        axis, keepdims = torch_words(options, axis, keepdims)
        refuse_options("all", out=out, **options)
        return self._truth()._reduce("and", axis, keepdims)

    def __getitem__(self, key: Any) -> "LazyArray":
        """Return elements by integers and slices, and new dimensions for None."""
        keys = filled_keys(key, self.ndim)
        share(self._view)
        taken = [k for k in keys if k is not None]
        view = self._view
        if not all(map(is_full, taken)):
            # What extents the result has depends on those that there are.
            note_shape()
            view = operations.take(view, taken)
        left = [k for k in keys if not isinstance(k, int)]
        places = [n for n, k in enumerate(left) if k is None]
        share(view)
        return LazyArray(operations.expand(view, places))

    def __matmul__(self, other: Any) -> Any:
        return _matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _matmul(other, self)

    def __imatmul__(self, other: Any) -> Any:
        return _changed(self, _matmul(self, other), "@=")

    def __len__(self) -> int:
        if not self.ndim:
            raise refusal("len", "expected an array of 1 dimension or more, got none")
        return self.shape[0]

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise refusal("np.asarray", NO_VALUES)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise refusal("[...] =", "expected code that changes no array in place")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        from sparray.tracing.torch_functions import torch_method

        method = torch_method(self, name)
        if method is not None:
            return method
        # Only an AttributeError is what `hasattr` and NumPy understand.
        why = "expected an operation that can be traced"
        raise refusal(f".{name}", why, TraceAttributeError)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_view":
            raise refusal(f".{name} =", "expected code that changes no array")
        object.__setattr__(self, name, value)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        from sparray.tracing.numpy_functions import call_ufunc

        return call_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: Any
    ) -> Any:
        from sparray.tracing.numpy_functions import call_function

        return call_function(function, args, kwargs)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        from sparray.tracing.torch_functions import call_torch

        return call_torch(function, args, kwargs or {})

    def __sparray_function__(self, name: str, *args: Any, **kwargs: Any) -> Any:
        from sparray.tracing.numpy_functions import call_sparray

        return call_sparray(name, args, kwargs)

    def __repr__(self) -> str:
        from sparray.tracing.evaluate import program_text

        shape = self._view.shape
        return f"LazyArray of shape {shape}, {self.dtype}:\n{program_text([self])}"

    def _apply(self, op: str, *others: Any) -> "LazyArray":
        made = applied(op, self, *others)
        if made is NotImplemented:
            kinds = ", ".join(type(x).__name__ for x in others)
            raise refusal(op, f"expected arrays and numbers, got {kinds}")
        return made  # type: ignore[no-any-return]

    def _reduce(
        self,
        op: str,
        axis: Any,
        keepdims: bool,
        dtype: np.dtype[Any] | None = None,
    ) -> "LazyArray":
        axes = self._axes(axis)
        return LazyArray(operations.reduce(op, self._view, axes, keepdims, dtype))

    def _added(
        self, op: str, ufunc: Any, axis: Any, dtype: Any, keepdims: bool
    ) -> "LazyArray":
        wide = ufunc.reduce(np.ones(1, self.dtype), dtype=dtype).dtype
        if not np.can_cast(self.dtype, wide, "safe"):
            raise refusal(
                f"dtype={wide}",
                f"expected a dtype that holds each value of {self.dtype}",
            )
        return self._reduce(op, axis, keepdims, wide)

    def _extreme(self, op: str, axis: Any, keepdims: bool) -> "LazyArray":
        if self.dtype.kind == "c":
            raise DTypeError(f"{op}: expected numbers in an order, got {self.dtype}")
        axes = self._axes(axis)
        if any(self._view.shape[n] == 0 for n in axes):
            raise ShapeError(f"{op}: expected an element along {axis}, got none")
        return self._reduce(op, axis, keepdims)

    def _truth(self) -> "LazyArray":
        return self if self.dtype == np.bool_ else self._apply("ne", 0)

    def _axis(self, axis: Any) -> int:
        if not isinstance(axis, int | np.integer) or not -self.ndim <= axis < self.ndim:
            raise ShapeError(
                f"axis: expected one from {-self.ndim} to {self.ndim - 1}, got {axis!r}"
            )
        return int(axis) % self.ndim

    def _axes(self, axis: Any) -> list[int]:
        if axis is None:
            return list(range(self.ndim))
        given = axis if isinstance(axis, tuple | list) else (axis,)
        axes = [self._axis(one) for one in given]
        if len(set(axes)) < len(axes):
            raise ShapeError(f"axis: expected each axis once, got {axis}")
        return axes


def note_shape() -> None:
    """Note that traced code depends on the shapes of its arguments."""
    for noted in getattr(tracing, "active", ()):
        noted.add("shape")


def lazy(array: Any, name: str = "") -> LazyArray:
    """Return an array as one that is computed later.

    Parameters
    ----------
    array : SparseArray, ndarray, SciPy array, nested lists or number
        Its buffers are shared, and read when the result is computed.
    name : str
        What expressions call it.

    Raises
    ------
    SettingError
        If the name is no string.

    Examples
    --------
    >>> import numpy as np
    >>> import sparray as sp
    >>> A = sp.array(np.eye(3), format="csr")
    >>> B = sp.lazy(A) @ np.ones((3, 2))
    >>> B.compute(format="csr").nnz
    6
    """
    if isinstance(array, LazyArray):
        return array
    if not isinstance(name, str):
        raise SettingError(f"lazy: expected a str as name, got {name!r}")
    operand = as_array("array", array)
    source = Source(
        tuple(operand.shape), operand.dtype, operand, hint=name if name else "x"
    )
    return LazyArray(View(source, tuple(range(len(source.shape)))))


def as_view(value: Any) -> View | operations.Number | None:
    """Return an operand as a view or a number; None for what is no array."""
    if isinstance(value, LazyArray):
        return value._view
    if operations.is_number(value):
        return value  # type: ignore[no-any-return]
    if value is None or isinstance(value, str | bytes | dict | set):
        return None
    if isinstance(value, list | tuple) and any(isinstance(x, LazyArray) for x in value):
        return None
    try:
        return lazy(value)._view
    except (DTypeError, ShapeError):
        return None


def applied(op: str, *operands: Any) -> Any:
    """Apply an operator of the table; NotImplemented if an operand is no array."""
    views = [as_view(x) for x in operands]
    given = [view for view in views if view is not None]
    if len(given) < len(views):
        return NotImplemented
    exact = getattr(tracing, "exact", False)
    return LazyArray(operations.apply(op, *given, exact=exact))


def _matmul(left: Any, right: Any) -> Any:
    a, b = as_view(left), as_view(right)
    if not isinstance(a, View) or not isinstance(b, View):
        return NotImplemented
    return LazyArray(operations.matmul(a, b))


def _changed(array: LazyArray, made: Any, symbol: str) -> Any:
    """Return an array that was changed in place, or another one.

    Lazy arrays outside of traced code, and numbers, are never changed.
    """
    traced = getattr(tracing, "active", ())
    if made is NotImplemented or not traced or not array._view.dims:
        return made
    return changed(array, made, symbol)


install(LazyArray, applied, _changed)
