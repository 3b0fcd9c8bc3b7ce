"""Formats: level types, how they chain, and the NumPy side of their buffers."""

from sparray.formats.batch import Batch
from sparray.formats.bitmap import Bitmap
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.grouped import Grouped
from sparray.formats.hashed import Hashed
from sparray.formats.level import Level
from sparray.formats.level_expression import (
    Difference,
    Dimension,
    LevelExpression,
    Quotient,
    Remainder,
)
from sparray.formats.named import (
    FORMAT_FAMILIES,
    NAMED_FORMATS,
    as_format,
    format_name,
    named_format,
)
from sparray.formats.padded import Padded
from sparray.formats.permuted import Permuted
from sparray.formats.range import Range
from sparray.formats.registry import LEVEL_TYPES
from sparray.formats.singleton import Singleton
from sparray.formats.structured import Structured

__all__ = [
    "FORMAT_FAMILIES",
    "LEVEL_TYPES",
    "NAMED_FORMATS",
    "Batch",
    "Bitmap",
    "Compressed",
    "Dense",
    "Difference",
    "Dimension",
    "Format",
    "Grouped",
    "Hashed",
    "Level",
    "LevelExpression",
    "Padded",
    "Permuted",
    "Quotient",
    "Range",
    "Remainder",
    "Singleton",
    "Structured",
    "as_format",
    "format_name",
    "named_format",
]
