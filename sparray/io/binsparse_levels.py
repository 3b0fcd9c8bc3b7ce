"""Formats as Binsparse describes them: levels with a rank, or a name for some.

Source: the Binsparse specification 0.1, sections "Pre-defined Formats" and "Custom
Formats".
"""

from typing import Any

from sparray.errors import FileFormatError, UnsupportedError
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.level import Level
from sparray.formats.singleton import Singleton
from sparray.records import dataclass

__all__ = ["FileLevel", "describe_format", "file_levels", "format_of", "read_format"]

_MOST_DIMENSIONS = 64


@dataclass(frozen=True, slots=True)
class FileLevel:
    """A level of a file: ``rank`` dimensions, dense or listed together.

    Attributes
    ----------
    is_sparse : bool
        Coordinates are listed; else all are there.
    rank : int
        Number of dimensions.
    is_sorted : bool
        Coordinates ascend below each position of the level above.
    """

    is_sparse: bool
    rank: int = 1
    is_sorted: bool = True


_D, _S = FileLevel(False), FileLevel(True)
_PAIR = FileLevel(True, 2)
_NAMED: dict[str, tuple[tuple[FileLevel, ...], tuple[int, ...]]] = {
    "DVEC": ((_D,), (0,)),
    "CVEC": ((_S,), (0,)),
    "DMATR": ((_D, _D), (0, 1)),
    "DMATC": ((_D, _D), (1, 0)),
    "CSR": ((_D, _S), (0, 1)),
    "CSC": ((_D, _S), (1, 0)),
    "DCSR": ((_S, _S), (0, 1)),
    "DCSC": ((_S, _S), (1, 0)),
    "COOR": ((_PAIR,), (0, 1)),
    "COOC": ((_PAIR,), (1, 0)),
}
_ALIASES = {"DMAT": "DMATR", "COO": "COOR", "VEC": "CVEC"}


def file_levels(format: Format) -> tuple[FileLevel, ...]:
    """Return the levels of a file for a format.

    Raises
    ------
    UnsupportedError
        If Binsparse has no words for one of its levels.
    """
    if format.n_levels != format.ndim:
        _refuse(format, format.levels[-1])
    levels: list[FileLevel] = []
    run = 0
    for level in format.levels:
        if type(level) not in (Dense, Compressed, Singleton):
            _refuse(format, level)
        if type(level) is Dense:
            levels.append(FileLevel(False))
            continue
        # A run goes on for as long as levels are not unique.
        run += 1
        if level.unique:
            levels.append(FileLevel(True, run, level.ordered))
            run = 0
    ends_in_a_run = run > 0
    if ends_in_a_run or len(format.levels) != sum(one.rank for one in levels):
        _refuse(format, format.levels[-1])
    if format_of(tuple(levels), format.order) != format:
        _refuse(format, format.levels[-1])
    return tuple(levels)


def format_of(levels: tuple[FileLevel, ...], order: tuple[int, ...]) -> Format:
    """Return the format that a file's levels are."""
    made: list[Level] = []
    for level in levels:
        if not level.is_sparse:
            made += [Dense()] * level.rank
            continue
        last = level.rank - 1
        made.append(Compressed(unique=last == 0, ordered=level.is_sorted))
        for number in range(1, level.rank):
            made.append(Singleton(unique=number == last, ordered=level.is_sorted))
    return Format(made, order)


def describe_format(
    levels: tuple[FileLevel, ...], order: tuple[int, ...]
) -> dict[str, Any]:
    """Return the ``format`` key, and ``custom`` where the format has no name."""
    for name, named in _NAMED.items():
        if named == (levels, order):
            return {"format": name}
    nested: dict[str, Any] = {"level_desc": "element"}
    for level in reversed(levels):
        word = "sparse" if level.is_sparse else "dense"
        nested = {"level_desc": word, "rank": level.rank, "level": nested}
        if level.is_sparse and not level.is_sorted:
            nested["sorted"] = False
    custom: dict[str, Any] = {"level": nested}
    if order != tuple(range(len(order))):
        custom["transpose"] = list(order)
    return {"format": "custom", "custom": custom}


def read_format(
    descriptor: dict[str, Any], ndim: int
) -> tuple[tuple[FileLevel, ...], tuple[int, ...]]:
    """Return levels and order from a descriptor.

    Raises
    ------
    FileFormatError
        If they are not those of an array of ``ndim`` dimensions.
    """
    custom = descriptor.get("custom")
    name = descriptor.get("format")
    if custom is not None:
        levels, order = _read_custom(custom, ndim)
    else:
        known = _NAMED.get(_ALIASES.get(str(name), str(name)))
        if known is None:
            raise FileFormatError(
                f"expected one of {', '.join(_NAMED)} as format, got {str(name)[:40]!r}"
            )
        levels, order = known
    if sum(level.rank for level in levels) != ndim or sorted(order) != list(
        range(ndim)
    ):
        raise FileFormatError(
            f"expected a format of {ndim} dimensions, got {str(name)[:40]!r} in order "
            f"{order}"
        )
    return levels, order


def _read_custom(
    custom: Any, ndim: int
) -> tuple[tuple[FileLevel, ...], tuple[int, ...]]:
    """Read the levels from the outermost to the innermost."""
    if not isinstance(custom, dict):
        raise FileFormatError(f"expected an object as 'custom', got {custom!r:.40}")
    levels = []
    nested = custom.get("level")
    while True:
        if not isinstance(nested, dict):
            raise FileFormatError(f"expected an object as level, got {nested!r:.40}")
        word, rank = nested.get("level_desc"), nested.get("rank")
        if word == "element":
            break
        if word not in ("dense", "sparse") or type(rank) is not int or rank < 1:
            raise FileFormatError(
                "expected levels 'dense', 'sparse' or 'element' with a rank from 1, "
                f"got {word!r:.40} and {rank!r:.40}"
            )
        is_sorted = nested.get("sorted", True) is not False
        levels.append(FileLevel(word == "sparse", rank, is_sorted))
        if sum(level.rank for level in levels) > _MOST_DIMENSIONS:
            raise FileFormatError(f"expected at most {_MOST_DIMENSIONS} dimensions")
        nested = nested.get("level")
    order = custom.get("transpose", list(range(ndim)))
    if not isinstance(order, list) or not all(type(axis) is int for axis in order):
        raise FileFormatError(f"expected a transpose of integers, got {order!r:.40}")
    return tuple(levels), tuple(order)


def _refuse(format: Format, level: Level) -> None:
    raise UnsupportedError(
        f"Binsparse: expected a format of dense, compressed and singleton levels that "
        f"ends in a unique one, got {level} in {format} (to_format changes it)"
    )
