"""What pickles and files hold of a sparse tensor: text, numbers and plain tensors.

``torch.load(weights_only=True)`` calls only functions that it knows, on what it has
read of a file that may be anyone's. So the two functions here, which are told to it,
check every buffer, and take nothing but text, numbers, and tensors.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sparray import convert
from sparray.errors import InvalidBufferError
from sparray.formats.coordinates import as_shape
from sparray.formats.format import Format
from sparray.torch.gradient_formats import as_rule, attach
from sparray.torch.pattern import Pattern, as_numpy, as_tensor_of

if TYPE_CHECKING:
    from sparray.torch.tensor import SparseTensor

__all__ = ["parts_of_fill", "parts_of_pattern", "rebuild_pattern", "rebuild_tensor"]

Levels = list[dict[str, torch.Tensor]]
Number = bool | int | float
PatternParts = tuple[str, tuple[int, ...], Levels, int]

# Attributes that the parts say, and a file's others must not.
_OWN = frozenset(
    {"_pattern", "_stored", "_fill", "_rule", "_anchor", "_hooked", "_linked"}
)


def parts_of_pattern(pattern: Pattern) -> PatternParts:
    """Return the format's text, the shape, the buffers and the number of values.

    Notes
    -----
    They are made once and kept: a process that is spawned is given the memory of what
    was pickled for it after the pickle is done.
    """
    made: PatternParts = pattern.kept("parts", lambda: _parts(pattern))
    return made


def _parts(pattern: Pattern) -> PatternParts:
    levels = [
        {role: as_tensor_of(buffer) for role, buffer in level.items()}
        for level in pattern.levels
    ]
    return str(pattern.format), pattern.shape, levels, pattern.n_values


def parts_of_fill(fill_value: Any) -> Number | tuple[float, float]:
    """Return a fill value, of a complex one two numbers: files hold no more."""
    if isinstance(fill_value, complex):
        return fill_value.real, fill_value.imag
    made: Number = fill_value
    return made


def rebuild_pattern(
    format: str,
    shape: Sequence[int],
    levels: Sequence[Mapping[str, torch.Tensor]],
    n_values: int,
) -> Pattern:
    """Make the pattern that `parts_of_pattern` took apart, and check it.

    Raises
    ------
    InvalidBufferError
        If the buffers are not those of the format.
    """
    extents = as_shape(shape)
    buffers = [
        {str(role): as_numpy(_plain(str(role), b)) for role, b in level.items()}
        for level in levels
    ]
    # One byte each, so that a number beyond the buffers' costs little before it is
    # refused.
    if not 0 <= n_values <= sys.maxsize:
        raise InvalidBufferError(f"n_values: expected a number from 0, got {n_values}")
    values = np.zeros(n_values, np.bool_)
    made = convert.from_buffers(
        Format.parse(format, len(extents)), extents, buffers, values
    )
    return Pattern(made)


def rebuild_tensor(
    pattern: Pattern,
    values: torch.Tensor,
    fill_value: Number | tuple[float, float],
    state: Mapping[str, Any],
) -> "SparseTensor":
    """Make a sparse tensor of its parts, and check that they fit together.

    Raises
    ------
    InvalidBufferError
        If they do not.
    """
    from sparray.torch.autograd import check_operand
    from sparray.torch.tensor import SparseTensor  # whose pickles call this

    if not isinstance(pattern, Pattern):
        raise InvalidBufferError(
            f"pattern: expected a Pattern, got {type(pattern).__name__}"
        )
    pattern.check_values(_plain("values", values))
    check_operand("values", values)
    fill = complex(*fill_value) if isinstance(fill_value, tuple) else fill_value
    made = SparseTensor(pattern, values, torch.tensor(fill).to(values.dtype).item())
    made.__dict__.update((k, v) for k, v in state.items() if k not in _OWN)
    made._rule = as_rule(state.get("_rule"), pattern)
    attach(made)
    return made


def _plain(name: str, tensor: torch.Tensor) -> torch.Tensor:
    if type(tensor) is not torch.Tensor or tensor.layout != torch.strided:
        raise InvalidBufferError(
            f"{name}: expected a strided torch.Tensor, got {type(tensor).__name__}"
        )
    return tensor


# The list that torch keeps of what a file may name, for others to add to.
torch.serialization.add_safe_globals([rebuild_pattern, rebuild_tensor])
