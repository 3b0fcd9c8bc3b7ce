"""Formats: level types, how they chain, and the NumPy side of their buffers."""

from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.level import Level
from sparray.formats.named import NAMED_FORMATS, as_format, format_name, named_format
from sparray.formats.registry import LEVEL_TYPES
from sparray.formats.singleton import Singleton

__all__ = [
    "LEVEL_TYPES",
    "NAMED_FORMATS",
    "Compressed",
    "Dense",
    "Format",
    "Level",
    "Singleton",
    "as_format",
    "format_name",
    "named_format",
]
