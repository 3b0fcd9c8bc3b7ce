"""What lazy arrays are made of: given arrays, and statements that read them.

Every operation on lazy arrays is one statement in index notation. It has one index for
each dimension of its own; a dimension of extent 1 that no array has, as `keepdims`
leaves, is none of a tensor's, but of the *view* that a lazy array is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparray.compiler.index_notation.nodes import Access, Apply, Expr, Reduce
from sparray.evaluation.stored import Operand

__all__ = ["Computed", "Source", "Tensor", "View", "Writer", "ordered"]


@dataclass(eq=False, slots=True)
class Source:
    """An array that is given.

    Attributes
    ----------
    shape, dtype
        As of arrays.
    value : array or None
        A captured one; None for an argument of a traced function.
    slot : int
        Which of the arguments it is; -1 for a captured one.
    hint : str
        What to call it.
    is_number : bool
        Whether it is a number of the code.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    value: Operand | np.ndarray[Any, Any] | None = None
    slot: int = -1
    hint: str = ""
    is_number: bool = False


@dataclass(eq=False, slots=True)
class Computed:
    """The result of a statement.

    Attributes
    ----------
    shape, dtype
        As of arrays.
    indices : tuple of str
        Of its target.
    value : Expr
        Its right side; the tensors in it are numbers of ``reads``.
    reads : tuple of Tensor
        What it reads.
    choice : tuple of View and float, or None
        A condition of the same shape, and what the tensor is where that is false.
    shared : bool
        Whether the code took views of it, which share its memory in NumPy.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    indices: tuple[str, ...]
    value: Expr
    reads: "tuple[Tensor, ...]"
    choice: "tuple[View, float] | None" = None
    shared: bool = False


Tensor = Source | Computed


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """A tensor with its dimensions in another order, some added, some left out.

    ``dims`` has for each dimension that of the tensor, or None for one of extent 1
    that the tensor has not. What is left out has extent 1.
    """

    tensor: Tensor
    dims: tuple[int | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        shape = self.tensor.shape
        return tuple(1 if dim is None else shape[dim] for dim in self.dims)

    @property
    def is_whole(self) -> bool:
        """Whether it is the tensor as it is."""
        return self.dims == tuple(range(len(self.tensor.shape)))


@dataclass(slots=True)
class Writer:
    """One statement in the making."""

    reads: list[Tensor] = field(default_factory=list)
    count: int = 0

    def index(self) -> str:
        """Return a new index."""
        self.count += 1
        return f"i{self.count - 1}"

    def access(self, view: View, indices: Sequence[str | None]) -> Expr:
        """Return the element of a view at indices; None is the only coordinate there.

        Notes
        -----
        A dimension of extent 1 that has no index is summed over: there is one term.
        """
        tensor = view.tensor
        names: list[str | None] = [None] * len(tensor.shape)
        for dim, index in zip(view.dims, indices, strict=True):
            if dim is not None:
                names[dim] = index
        summed = []
        filled = []
        for name in names:
            if name is None:
                name = self.index()
                summed.append(name)
            filled.append(name)
        element: Expr = Access(self._name(tensor), tuple(filled))
        if not summed:
            return element
        op = "or" if tensor.dtype == np.bool_ else "add"
        return Reduce(op, tuple(summed), element)

    def one(self, dtype: np.dtype[Any]) -> Expr:
        """Return the number 1 in a dtype."""
        return Access(
            self._name(
                Source((), dtype, np.ones((), dtype), hint="one", is_number=True)
            ),
            (),
        )

    def as_dtype(self, value: Expr, old: np.dtype[Any], new: np.dtype[Any]) -> Expr:
        """Return a value in a wider dtype: a product with 1, which changes nothing."""
        return value if old == new else Apply("mul", (value, self.one(new)))

    def made(
        self,
        value: Expr,
        indices: Sequence[str | None],
        shape: Sequence[int],
        dtype: Any,
    ) -> View:
        """Return what the statement makes; an index that is None is of extent 1."""
        own = [n for n, index in enumerate(indices) if index is not None]
        tensor = Computed(
            tuple(shape[n] for n in own),
            dtype,
            tuple(index for index in indices if index is not None),
            value,
            tuple(self.reads),
        )
        place = {n: dim for dim, n in enumerate(own)}
        return View(tensor, tuple(place.get(n) for n in range(len(indices))))

    def _name(self, tensor: Tensor) -> str:
        for number, known in enumerate(self.reads):
            if known is tensor:
                return f"t{number}"
        self.reads.append(tensor)
        return f"t{len(self.reads) - 1}"


def ordered(outputs: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield every tensor that outputs depend on, what is read before what reads it."""
    seen: set[int] = set()
    pending: list[tuple[Tensor, bool]] = [(x, False) for x in reversed(outputs)]
    while pending:
        tensor, is_done = pending.pop()
        if is_done:
            yield tensor
        elif id(tensor) not in seen:
            seen.add(id(tensor))
            pending.append((tensor, True))
            if isinstance(tensor, Computed):
                pending += [(x, False) for x in reversed(tensor.reads)]
