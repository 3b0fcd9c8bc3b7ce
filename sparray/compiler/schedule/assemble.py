"""The `assemble` command: how the result's levels and values come into being."""

from enum import Enum

from sparray.records import dataclass

__all__ = ["Assemble", "Assembly"]


class Assembly(Enum):
    """The ways to assemble a result.

    Source: Chou et al. 2018 (append and insert capabilities); the two phases of
    counting and filling follow Kjolstad et al. 2017, section 4, and SpGEMM practice.
    """

    INSERT = "insert"
    """Every level is located; values are written in any order."""
    PLACE = "place"
    """Every level has room for all entries, which are inserted in any order."""
    ALLOT = "allot"
    """Levels get room, one after the other, once it is counted what they are to hold;
    entries are inserted in any order."""
    INHERIT = "inherit"
    """The result has an operand's pattern and shares its ``pos`` and ``crd``."""
    APPEND = "append"
    """Entries come in the result's order: count them, then append them."""
    SCATTER = "scatter"
    """Entries of one fibre come in order, fibres do not: count, then append to each
    fibre at a cursor of its own."""
    BLOCKS = "blocks"
    """Entries come in any order within a unit: list its blocks, then fill them."""

    @property
    def counts(self) -> bool:
        """Whether entries are counted once before the result is allocated."""
        return self in (Assembly.APPEND, Assembly.SCATTER, Assembly.BLOCKS)


@dataclass(frozen=True, slots=True)
class Assemble:
    """Choose the way of assembly.

    Attributes
    ----------
    way : Assembly
        How.
    source : str or None
        The operand whose pattern an inheriting result has.
    zeroed : bool
        True if values must be the fill value, mostly zero, before the kernel runs: not
        every one is written, or some are accumulated.
    """

    way: Assembly
    source: str | None = None
    zeroed: bool = False

    def __str__(self) -> str:
        text = f"assemble({self.way.value}"
        if self.source is not None:
            text += f" from {self.source}"
        return text + (", zeroed)" if self.zeroed else ")")
