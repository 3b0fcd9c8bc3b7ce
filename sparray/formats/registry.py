"""The level types that format strings can name."""

from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.level import Level
from sparray.formats.singleton import Singleton

__all__ = ["LEVEL_TYPES"]

LEVEL_TYPES: dict[str, type[Level]] = {
    level_type.name: level_type
    for level_type in (
        Dense,
        Compressed,
        Singleton,
    )
}
"""Level type by the word that names it; a new level type is one line here."""
