"""The sparse tensor: a pattern, and its values in torch's autograd graph."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self

import torch

from sparray.errors import ShapeError, UnsupportedError
from sparray.formats.format import Format
from sparray.formats.named import format_text
from sparray.sparse_array import SparseArray
from sparray.torch.autocasting import cast_operands
from sparray.torch.autograd import check_differentiable, check_operand
from sparray.torch.gradient_formats import (
    GradientRule,
    anchor_of,
    as_rule,
    attach,
    carry,
    grad_leaf,
    shown,
)
from sparray.torch.linking import link, unlink
from sparray.torch.pattern import Pattern, as_numpy
from sparray.torch.rebuilding import parts_of_fill, rebuild_tensor
from sparray.torch.table import OPERATORS, TABLE

__all__ = ["SparseTensor", "check_differentiable", "dense_of", "values_of"]


class SparseTensor(torch.Tensor):
    """A tensor that stores some of its entries, in the way its format says.

    Made by `sparray.torch.tensor`, `as_tensor` and `from_buffers`.

    Parameters
    ----------
    pattern : Pattern
        Which entries are stored; it never changes, and is shared.
    values : torch.Tensor, dtype[n]
        One value for each stored entry. They are the part that autograd and optimizers
        see: a leaf, or any tensor of a graph.
    fill_value : scalar
        What every other entry is: 0, unless an element-wise function made it something
        else.

    Notes
    -----
    It has no storage of its own as a `torch.Tensor`: torch's functions find it through
    ``__torch_function__``, and what would reach past that raises.
    """

    _pattern: Pattern
    _stored: torch.Tensor
    _fill: Any
    # Of what its gradient is: see gradient_formats.py.
    _rule: GradientRule | None = None
    _anchor: torch.Tensor | None = None
    _hooked: tuple[torch.Tensor, Any] | None = None
    # The values that the wrapper's own gradient goes to: see linking.py.
    _linked: torch.Tensor | None = None

    @staticmethod
    def __new__(
        cls, pattern: Pattern, values: torch.Tensor, fill_value: Any = 0
    ) -> "SparseTensor":
        """Wrap a pattern and values that are known to fit together."""
        try:
            self = torch.Tensor._make_wrapper_subclass(
                cls, pattern.shape, dtype=values.dtype
            )
        except RuntimeError as error:
            raise ShapeError(
                f"shape: expected one whose number of elements torch can count, got "
                f"{pattern.shape} ({error})"
            ) from None
        self._pattern = pattern
        self._stored = values
        self._fill = fill_value
        return self

    def __init__(
        self, pattern: Pattern, values: torch.Tensor, fill_value: Any = 0
    ) -> None:
        """Do nothing: `__new__` has done it."""

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        # Here, and not in dispatch.py, as it is on the way of every warm call.
        if torch.is_autocast_enabled("cpu"):
            args, kwargs = cast_operands(func, args, kwargs or {})
        registered = OPERATORS.get(func)
        if registered is not None:
            made = registered(args, kwargs or {})
            if made is not NotImplemented:
                return made
        implementation = TABLE.get(func)
        reason = "it is not in the table of sparse functions"
        if implementation is not None:
            try:
                made = implementation(*args, **(kwargs or {}))
            except UnsupportedError as error:
                reason = str(error)
            else:
                if made is not NotImplemented:
                    return made
                reason = "the table has no expression for these arguments"
        from sparray.torch.dispatch import compute_densely  # it takes tensors

        return compute_densely(func, args, kwargs or {}, reason)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func is torch.ops.aten.detach_.default:
            return args[0]  # what autograd does besides is done
        raise UnsupportedError(
            f"{func}: expected a function that asks __torch_function__, got one that "
            "reads a SparseTensor as a dense tensor; pass W.values() or W.to_dense()"
        )

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        # The protocol by which torch.compile and torch.export see the values.
        link(self)
        return ["_stored"], (self._pattern, self._fill, self._rule)

    @classmethod
    def __tensor_unflatten__(
        cls, inner: dict[str, Any], meta: Any, outer_size: Any, outer_stride: Any
    ) -> "SparseTensor":
        pattern, fill, rule = meta
        made = SparseTensor(pattern, inner["_stored"], fill)
        if rule is not None:
            made._rule = rule
        return made

    def _stable_hash_for_caching(self) -> str:
        # Graphs hold numbers that mean something in this process alone.
        values = self._stored
        parts = (values.dtype, values.requires_grad, self._fill, self._rule)
        return f"sparray:{self._pattern.serial}:{parts}"

    # What it is. Torch's own properties would take the way of a function call.

    @property
    def shape(self) -> torch.Size:  # type: ignore[override]
        """Extent of each dimension."""
        return torch.Size(self._pattern.shape)

    @property
    def ndim(self) -> int:  # type: ignore[override]
        """Number of dimensions."""
        return len(self._pattern.shape)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return len(self._pattern.shape)

    @property
    def format(self) -> Format:
        """How entries are stored."""
        return self._pattern.format

    @property
    def pattern(self) -> Pattern:
        """Which entries are stored."""
        return self._pattern

    @property
    def fill_value(self) -> Any:
        """What every entry is that is not stored."""
        return self._fill

    @property
    def nnz(self) -> int:
        """Number of stored entries, explicit zeros included."""
        return self._pattern.n_values

    @property
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        """The dtype of the values."""
        return self._stored.dtype

    def values(self) -> torch.Tensor:
        """Return the stored values, part of the autograd graph: ``dtype[n]``.

        Of a leaf it is the leaf itself, so that an optimizer may step on it.
        """
        return self._stored

    def with_values(self, values: torch.Tensor) -> "SparseTensor":
        """Return a tensor with this pattern and other values, part of their graph.

        Raises
        ------
        InvalidBufferError
            If there is not one value for each stored entry.
        DTypeError, UnsupportedError
            If kernels cannot read them.
        """
        self._pattern.check_values(values)
        check_operand("values", values)
        return carry(self, SparseTensor(self._pattern, values, self._fill))

    def to_array(self) -> SparseArray:
        """Return the SparseArray that shares this tensor's pattern and values."""
        array = self._pattern.array(as_numpy(self._stored))
        if self._fill != 0:
            array._fill_value = array.dtype.type(self._fill)
            array._cached_key = None
        return array

    def __sparray__(self) -> SparseArray:
        # What sparray.array asks for.
        return self.to_array()

    def to_dense(
        self, dtype: torch.dtype | None = None, *, masked_grad: bool | None = None
    ) -> torch.Tensor:
        """Return a strided tensor of every element, part of the graph.

        The gradient of a stored value is that of its element. ``masked_grad`` is there
        for `torch.Tensor.to_dense`, whose two meanings are one here.
        """
        from sparray.torch.operators.conversions import to_dense  # it takes tensors

        dense = to_dense(self)
        return dense if dtype is None else dense.to(dtype)

    def todense(self) -> torch.Tensor:
        """Return a strided tensor of every element, part of the graph."""
        return self.to_dense()

    def to_format(self, format: str | Format) -> "SparseTensor":
        """Return the tensor in another format, part of the graph."""
        from sparray.torch.operators.conversions import to_format  # it takes tensors

        return to_format(self, format)

    # Autograd, which knows the values alone.

    @property
    def requires_grad(self) -> bool:
        """Whether the values' gradient is computed."""
        return self._stored.requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Make the values a leaf whose gradient is computed, or no longer.

        Raises
        ------
        DTypeError
            If the values are integers or bools.
        """
        check_differentiable(self._stored, requires_grad)
        unlink(self)
        self._stored.requires_grad_(requires_grad)
        attach(self)
        return self

    @property
    def is_leaf(self) -> bool:  # type: ignore[override]
        """Whether the values are a leaf of the graph."""
        return self._stored.is_leaf

    @property
    def grad_fn(self) -> Any:  # type: ignore[override]
        """What made the values."""
        return self._stored.grad_fn

    @property
    def retains_grad(self) -> bool:  # type: ignore[override]
        """Whether the values keep their gradient though they are no leaf."""
        return self._stored.retains_grad

    def retain_grad(self) -> None:
        """Make the values keep their gradient though they are no leaf."""
        self._stored.retain_grad()

    @property
    def grad_format(self) -> GradientRule | None:
        """In which format its gradient is; None for that of the tensor.

        Set it to a format's name or a `Format` (``"dense"`` has elements where nothing
        is stored, any other holds the stored entries), to a sparsifier, which keeps
        some of the stored entries, or to a `Sparse` of a sparsifier and a format. A
        gradient that was there is dropped.

        Raises
        ------
        FormatError, PatternError
            If there is no such format, or it cannot hold the entries.
        UnsupportedError
            If it is something else.
        """
        return None if self._rule is None else self._rule.asked

    @grad_format.setter
    def grad_format(self, wanted: Any) -> None:
        rule = as_rule(wanted, self._pattern)
        if self._hooked is not None:
            self._hooked[1].remove()
        self.grad = None
        self._rule, self._anchor, self._hooked = rule, None, None
        attach(self)

    @property
    def grad(self) -> torch.Tensor | None:
        """The gradient in this tensor's ``grad_format``, or None.

        By default a SparseTensor with the same pattern.
        """
        grad = grad_leaf(self).grad
        return None if grad is None else shown(self, grad)

    @grad.setter
    def grad(self, grad: "SparseTensor | torch.Tensor | None") -> None:
        leaf = grad_leaf(self)
        self._stored.grad = None
        if grad is None:
            leaf.grad = None
        elif leaf is not self._stored and not isinstance(grad, SparseTensor):
            leaf.grad = grad
        else:
            self._stored.grad = self._values_like(grad)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def backward(  # type: ignore[override]
        self, gradient: torch.Tensor | None = None, **options: Any
    ) -> None:
        """Compute gradients from a gradient of this tensor's values.

        Parameters
        ----------
        gradient : SparseTensor or torch.Tensor, optional
            With this tensor's pattern, or one value for each stored entry.
        **options
            As for `torch.Tensor.backward`.
        """
        given = None if gradient is None else self._values_like(gradient)
        self._stored.backward(given, **options)  # type: ignore[no-untyped-call]

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call a function with the gradient when it is computed.

        It is a SparseTensor with this pattern, or dense if ``grad_format`` is.
        """
        leaf = grad_leaf(self)

        def on_leaf(grad: torch.Tensor) -> torch.Tensor | None:
            if leaf is not self._stored:
                made: torch.Tensor | None = hook(grad)
                return made
            made = hook(SparseTensor(self._pattern, grad))
            return None if made is None else self._values_like(made)

        return leaf.register_hook(on_leaf)  # type: ignore[no-untyped-call]

    def _values_like(self, other: torch.Tensor) -> torch.Tensor:
        """Return the values of a tensor that has this pattern."""
        if isinstance(other, SparseTensor):
            if not self._pattern.same_as(other._pattern):
                raise ShapeError(
                    f"expected a tensor with the pattern of {self._pattern}, got one "
                    f"of {other._pattern}"
                )
            return other._stored
        self._pattern.check_values(other)
        return other

    # Copies.

    @property
    def data(self) -> "SparseTensor":
        """The tensor without the graph; it shares the values."""
        detached = self._stored.detach()
        return carry(self, SparseTensor(self._pattern, detached, self._fill))

    @data.setter
    def data(self, other: torch.Tensor) -> None:
        values = self._values_like(other)
        check_operand("data", values)
        self._stored.data = values

    def __deepcopy__(self, memo: dict[int, Any]) -> "SparseTensor":
        known: SparseTensor | None = memo.get(id(self))
        if known is not None:
            return known
        stored = self._stored.__deepcopy__(memo)  # type: ignore[no-untyped-call]
        made = SparseTensor(self._pattern, stored, self._fill)
        made.__dict__.update(
            (name, value)
            for name, value in self.__dict__.items()
            if name not in made.__dict__ and name not in _OF_ONE_TENSOR
        )
        anchor = anchor_of(made)
        if anchor is not None and self._anchor is not None:
            anchor.grad = copy.deepcopy(self._anchor.grad, memo)
        attach(made)
        memo[id(self)] = made
        return made

    def __copy__(self) -> "SparseTensor":
        made = SparseTensor(self._pattern, self._stored, self._fill)
        made._rule, made._anchor = self._rule, self._anchor
        made._hooked = self._hooked
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        state = {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_pattern", "_stored", "_fill", *_OF_ONE_TENSOR)
        }
        if self._rule is not None and self._rule.sparsifier is None:
            # Text, which files may hold that are read with `weights_only`.
            state["_rule"] = str(self._rule.format)
        parts = (self._pattern, self._stored, parts_of_fill(self._fill), state)
        return rebuild_tensor, parts

    def __repr__(  # type: ignore[override]
        self, *, tensor_contents: Any = None
    ) -> str:
        name = format_text(self.format)
        parts = [f"{name}, shape {tuple(self._pattern.shape)}", f"nnz={self.nnz}"]
        if self._fill != 0:
            parts.append(f"fill_value={self._fill}")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        if self.grad_format is not None:
            parts.append(f"grad_format={self._rule}")
        return f"SparseTensor({', '.join(parts)},\n  values={self._stored.detach()!r})"


# What belongs to one tensor's part in the graph, and is not copied with it.
_OF_ONE_TENSOR = ("_anchor", "_hooked", "_linked")


def values_of(x: Any) -> Any:
    """Return the values of a sparse tensor; anything else as it is."""
    return x.values() if isinstance(x, SparseTensor) else x


def dense_of(x: torch.Tensor) -> torch.Tensor:
    """Return every element as a dense tensor, part of the graph."""
    return x.to_dense() if isinstance(x, SparseTensor) else x


def _define_operator(name: str) -> None:
    function = getattr(torch.Tensor, name)

    def operator(self: SparseTensor, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        return SparseTensor.__torch_function__(function, (), (self, other))

    operator.__name__ = name
    setattr(SparseTensor, name, operator)


_OPERANDS = (torch.Tensor, bool, int, float, complex)

# Torch's own turn every TypeError, and what it says, into a missing operator.
for _name in ("matmul", "add", "sub", "mul", "truediv"):
    _define_operator(f"__{_name}__")
    _define_operator(f"__r{_name}__")
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _define_operator(f"__{_name}__")
