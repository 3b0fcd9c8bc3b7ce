"""The level types that format strings can name."""

from sparray.formats.batch import Batch
from sparray.formats.bitmap import Bitmap
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.grouped import Grouped
from sparray.formats.hashed import Hashed
from sparray.formats.level import Level
from sparray.formats.padded import Padded
from sparray.formats.permuted import Permuted
from sparray.formats.range import Range
from sparray.formats.singleton import Singleton
from sparray.formats.structured import Structured

__all__ = ["LEVEL_TYPES"]

LEVEL_TYPES: dict[str, type[Level]] = {
    level_type.name: level_type
    for level_type in (
        Dense,
        Compressed,
        Singleton,
        Range,
        Bitmap,
        Padded,
        Structured,
        Hashed,
        Batch,
        Permuted,
        Grouped,
    )
}
"""Level type by the word that names it; a new level type is one line here."""
