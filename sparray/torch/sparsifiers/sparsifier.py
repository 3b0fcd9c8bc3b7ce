"""What a sparsifier is: a rule that chooses which elements of a tensor are kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from sparray import convert
from sparray.errors import DTypeError, PatternError
from sparray.formats.format import Format
from sparray.formats.named import as_format, format_text
from sparray.torch.autograd import check_operand
from sparray.torch.operators.conversions import to_format
from sparray.torch.pattern import Pattern, as_numpy
from sparray.torch.tensor import SparseTensor, dense_of, values_of

__all__ = [
    "IMPLEMENTATIONS",
    "Needs",
    "Observed",
    "Sparsifier",
    "store",
    "stored_mask",
    "subset",
    "within",
]


# What users register for a class: whether it is for a format of the input and of the
# result, and what computes it.
IMPLEMENTATIONS: dict[type, list[tuple[Callable[..., bool], Callable[..., Any]]]] = {}


# Formats that any choice can be written in: of tensors, and of matrices.
_HOLD_ALL = (("coo", "csf"), ("csr", "csc", "coo", "dcsr"))


class Needs(Enum):
    """What a sparsifier must know of its input before it decides on one element.

    It says where it can run: a streaming one inside the loop of the operator that
    makes its input, a materializing one after it.
    """

    STREAMING = "the element alone"
    BLOCKING = "a block of elements"
    MATERIALIZING = "every element"


class Observed(Enum):
    """What a sparsifier is shown by its ``observe`` before it chooses."""

    INPUTS = "inputs of the layer"
    GRADIENTS = "the weight after each backward"
    GROWTH = "the gradient of every element"


class Sparsifier(ABC):
    """A rule that chooses which elements of a tensor are kept.

    Called with a tensor it returns a `SparseTensor` of what it keeps. Values of a dense
    input that is part of a graph stay part of it. Of a sparse input the entries that
    are not stored are never kept, but by sparsifiers that say so.

    Notes
    -----
    Formats, operators and sparsifiers are apart, as in Ivanov et al. 2023, "STen:
    Productive and efficient sparsity in PyTorch" (arXiv 2304.07613): a sparsifier
    decides what is kept, the format how that is stored.
    """

    needs: ClassVar[Needs] = Needs.MATERIALIZING
    observes: ClassVar[Observed | None] = None

    @abstractmethod
    def keep(self, x: Tensor) -> Tensor:
        """Return which elements are kept.

        Parameters
        ----------
        x : Tensor
            Dense, outside every graph.

        Returns
        -------
        Tensor, bool
            Of the shape of ``x``.
        """

    def values(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return what kept elements become: by default what they are.

        Parameters
        ----------
        x : Tensor
            Dense; part of a graph, if the input is.
        mask : Tensor, bool
            What `keep` returned.
        """
        return x

    def default_format(self, ndim: int) -> str | Format:
        """Return the format of the result if none is asked for."""
        return convert.default_format(ndim)

    def __call__(
        self, x: Tensor | SparseTensor, format: str | Format | None = None
    ) -> SparseTensor:
        """Keep some elements of a tensor.

        Parameters
        ----------
        x : Tensor or SparseTensor
            Of any number of dimensions, in a dtype that kernels are compiled for.
        format : str or Format, optional
            Of the result: by default csr, or csf if ``x`` is no matrix, or what the
            sparsifier is made for.

        Returns
        -------
        SparseTensor
            A part of the graph of ``x``.

        Raises
        ------
        PatternError
            If the format cannot hold what is kept.
        ScoreError
            If elements cannot be compared.
        DTypeError
            If ``x`` is complex and the sparsifier compares signs, or kernels cannot
            read it.
        """
        check_operand("x", values_of(x))
        wanted = as_format(format or self.default_format(x.dim()), x.dim())
        given = x.format if isinstance(x, SparseTensor) else None
        for fits, function in reversed(IMPLEMENTATIONS.get(type(self), ())):
            if fits(given, wanted):
                made: SparseTensor = function(self, x, wanted)
                return made
        try:
            return self._stored(x, wanted)
        except PatternError as error:
            own = as_format(self.default_format(x.dim()), x.dim())
            works = dict.fromkeys([*map(format_text, (own,)), *_HOLD_ALL[x.dim() == 2]])
            raise PatternError(
                f"{self!r}: expected a format that holds whatever it keeps "
                f"({', '.join(works)}), got {format_text(wanted)}: {error}"
            ) from None

    def _stored(self, x: Tensor | SparseTensor, wanted: Format) -> SparseTensor:
        if isinstance(x, SparseTensor) and self.works_on_entries():
            with torch.no_grad():
                kept = self.keep_stored(x.detach())  # type: ignore[arg-type]
            return subset(x, kept, wanted)
        mask, values = self.decide(x)
        return store(values, mask, wanted)

    def works_on_entries(self) -> bool:
        """Whether stored values of a sparse tensor are enough to choose from.

        True of those that look at an element alone and keep it as it is.
        """
        kind = type(self)
        changes = kind.decide is not Sparsifier.decide
        changes = changes or kind.values is not Sparsifier.values
        return self.needs is Needs.STREAMING and not changes

    def keep_stored(self, x: SparseTensor) -> Tensor:
        """Return which stored entries of a sparse tensor are kept.

        Parameters
        ----------
        x : SparseTensor
            Outside every graph.

        Returns
        -------
        Tensor, bool[n]
            One for each of its values.

        Notes
        -----
        A sparsifier that `works_on_entries` sees the values alone, any other one a
        dense copy.
        """
        if self.works_on_entries():
            return self.keep(x.values())
        numbers, places = x.pattern.numbered()
        mask = self.decide(x)[0].reshape(-1)
        made = torch.zeros(x.nnz, dtype=torch.bool)
        made[torch.from_numpy(places)] = mask[torch.from_numpy(numbers)]
        return made

    def decide(self, x: Tensor | SparseTensor) -> tuple[Tensor, Tensor]:
        """Return which elements of a tensor are kept, and what they become.

        Returns
        -------
        mask : Tensor, bool
            Of the shape of ``x``.
        values : Tensor
            Dense, a part of the graph of ``x``.
        """
        dense = dense_of(x)
        with torch.no_grad():
            mask = within(x, self.keep(dense.detach()))
        return mask, self.values(dense, mask)


def within(x: Tensor, mask: Tensor) -> Tensor:
    """Return a mask without what a sparse tensor does not store."""
    return mask & stored_mask(x) if isinstance(x, SparseTensor) else mask


def stored_mask(x: SparseTensor) -> Tensor:
    """Return where a sparse tensor has stored entries: ``bool``, dense."""
    return SparseTensor(x.pattern, x.pattern.ones).to_dense()


def subset(x: SparseTensor, kept: Tensor, format: str | Format) -> SparseTensor:
    """Store some of the stored entries of a sparse tensor; nothing becomes dense.

    Parameters
    ----------
    x : SparseTensor
        The result is a part of its graph.
    kept : Tensor, bool[n]
        Which of its values are kept.
    format : str or Format
        Of the result.

    Raises
    ------
    PatternError
        If the format cannot hold what is kept.
    """
    if bool(kept.all()):
        return to_format(SparseTensor(x.pattern, x.values()), format)
    numbers, places = x.pattern.numbered()
    stays = kept.numpy()[places]
    numbers, places = numbers[stays], places[stays]
    coords = np.stack(np.unravel_index(numbers, tuple(x.shape)))
    ones = np.ones(len(numbers), np.bool_)
    rows = convert.default_format(x.dim())
    pattern = Pattern(convert.from_coords(coords, ones, tuple(x.shape), rows))
    values = x.values().index_select(0, torch.from_numpy(places))
    return to_format(SparseTensor(pattern, values), format)


def store(x: Tensor, mask: Tensor, format: str | Format) -> SparseTensor:
    """Store the elements of a dense tensor where a mask is true.

    Parameters
    ----------
    x : Tensor
        Dense. The result is a part of its graph.
    mask : Tensor, bool
        Of the shape of ``x``. Elements that are 0 are stored as well.
    format : str or Format
        Of the result.

    Raises
    ------
    PatternError
        If the format cannot hold what is kept.
    """
    if mask.dtype != torch.bool or mask.shape != x.shape:
        raise DTypeError(
            f"mask: expected bool of shape {tuple(x.shape)}, got {mask.dtype} of shape "
            f"{tuple(mask.shape)}"
        )
    pattern = Pattern(convert.from_dense(as_numpy(mask)))
    # Row by row, as the default format lists its entries.
    return to_format(SparseTensor(pattern, x[mask]), format)
