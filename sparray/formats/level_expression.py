"""What a level stores of the dimensions: a whole one, or a part of one or two.

The map from dimensions to levels has both directions: `coordinate` gives a level's
coordinate from the dimensions' coordinates, and the compiler inverts it
(``i = (i // b) * b + i % b``; ``j = (j - i) + i``).

Source: Chou et al. 2018, section 3 (coordinate remapping of blocked and diagonal
formats); the notation is DESIGN section 4's.
"""

import sys
from collections.abc import Sequence
from typing import Any

from sparray.errors import FormatError
from sparray.records import dataclass

__all__ = ["Difference", "Dimension", "LevelExpression", "Quotient", "Remainder"]


@dataclass(frozen=True, slots=True)
class Dimension:
    """``i``: the coordinate along a dimension."""

    dimension: int

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions that it is made of."""
        return (self.dimension,)

    def renumbered(self, numbers: Sequence[int]) -> "Dimension":
        """Return the expression where dimension ``d`` has become ``numbers[d]``."""
        return Dimension(numbers[self.dimension])

    def extent(self, shape: Sequence[int]) -> int:
        """Return the number of coordinates of the level."""
        return shape[self.dimension]

    def coordinate(self, coordinates: Sequence[Any], shape: Sequence[int]) -> Any:
        """Return the level's coordinate from those of the dimensions."""
        return coordinates[self.dimension]

    def text(self, names: Sequence[str]) -> str:
        """Return the expression as format strings write it."""
        return names[self.dimension]


@dataclass(frozen=True, slots=True)
class Quotient:
    """``i // b``: the number of the block of ``block`` coordinates."""

    dimension: int
    block: int

    def __post_init__(self) -> None:
        _check_block(self.block)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions that it is made of."""
        return (self.dimension,)

    def renumbered(self, numbers: Sequence[int]) -> "Quotient":
        """Return the expression where dimension ``d`` has become ``numbers[d]``."""
        return Quotient(numbers[self.dimension], self.block)

    def extent(self, shape: Sequence[int]) -> int:
        """Return the number of blocks; the last one may be cut short by the shape."""
        return -(-shape[self.dimension] // self.block)

    def coordinate(self, coordinates: Sequence[Any], shape: Sequence[int]) -> Any:
        """Return the level's coordinate from those of the dimensions."""
        return coordinates[self.dimension] // self.block

    def text(self, names: Sequence[str]) -> str:
        """Return the expression as format strings write it."""
        return f"{names[self.dimension]} // {self.block}"


@dataclass(frozen=True, slots=True)
class Remainder:
    """``i % b``: the place in the block of ``block`` coordinates."""

    dimension: int
    block: int

    def __post_init__(self) -> None:
        _check_block(self.block)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions that it is made of."""
        return (self.dimension,)

    def renumbered(self, numbers: Sequence[int]) -> "Remainder":
        """Return the expression where dimension ``d`` has become ``numbers[d]``."""
        return Remainder(numbers[self.dimension], self.block)

    def extent(self, shape: Sequence[int]) -> int:
        """Return the size of a block, whatever the shape."""
        return self.block

    def coordinate(self, coordinates: Sequence[Any], shape: Sequence[int]) -> Any:
        """Return the level's coordinate from those of the dimensions."""
        return coordinates[self.dimension] % self.block

    def text(self, names: Sequence[str]) -> str:
        """Return the expression as format strings write it."""
        return f"{names[self.dimension]} % {self.block}"


@dataclass(frozen=True, slots=True)
class Difference:
    """``j - i``: the number of the diagonal, counted from the lowest one.

    Stored coordinates are not negative: ``j - i + extent(i) - 1``.
    """

    dimension: int
    other: int

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions that it is made of."""
        return (self.dimension, self.other)

    def renumbered(self, numbers: Sequence[int]) -> "Difference":
        """Return the expression where dimension ``d`` has become ``numbers[d]``."""
        return Difference(numbers[self.dimension], numbers[self.other])

    def extent(self, shape: Sequence[int]) -> int:
        """Return the number of diagonals."""
        if not shape[self.dimension] or not shape[self.other]:
            return 0
        return shape[self.dimension] + shape[self.other] - 1

    def coordinate(self, coordinates: Sequence[Any], shape: Sequence[int]) -> Any:
        """Return the level's coordinate from those of the dimensions."""
        lowest = shape[self.other] - 1
        return coordinates[self.dimension] - coordinates[self.other] + lowest

    def text(self, names: Sequence[str]) -> str:
        """Return the expression as format strings write it."""
        return f"{names[self.dimension]} - {names[self.other]}"


LevelExpression = Dimension | Quotient | Remainder | Difference


def _check_block(block: int) -> None:
    if not 1 <= block <= sys.maxsize:
        raise FormatError(f"block: expected 1 or more coordinates, got {block}")
