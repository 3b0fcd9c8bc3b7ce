"""The format of what an index selects: the operand's, as far as it can be kept."""

from functools import lru_cache

from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.level import Level
from sparray.formats.named import named_format

__all__ = ["selected_format"]


@lru_cache(maxsize=1024)
def selected_format(format: Format, sources: tuple[int | None, ...]) -> Format:
    """Return the format of a result, from where its dimensions come from.

    Parameters
    ----------
    format : Format
        Of the operand.
    sources : tuple of (int or None)
        The operand's dimension that each of the result's comes from; -1 for a new one
        of extent 1, None for one that integer arrays or masks make.

    Returns
    -------
    Format
        The operand's if all dimensions stay; ``dense`` of ``dense``, ``coo`` of
        ``coo``, ``csf`` of ``csf``. Else the levels of the dimensions that stay: below
        a dense level for each new dimension of extent 1, and sparse ones for those that
        arrays make. It is never dense unless the operand's is.
    """
    ndim = len(sources)
    if format.is_dense:
        return named_format("dense", ndim)
    bounded = any(level.bounded for level in format.levels)
    if sources == tuple(range(format.ndim)) and not bounded:
        return format
    for name in ("csf", "coo"):
        if format == named_format(name, format.ndim):
            return named_format(name, ndim)
    if not format.is_plain or format.batch_ndim or bounded:
        return named_format("csr" if ndim == 2 else "csf", ndim)
    return _of_levels(format, sources)


def _of_levels(format: Format, sources: tuple[int | None, ...]) -> Format:
    """Return the levels of the dimensions that stay, below those of new ones."""
    levels: list[Level] = []
    order: list[int] = []
    for place, source in enumerate(sources):
        if source is None or source < 0:
            levels.append(Compressed() if source is None else Dense())
            order.append(place)
    for level, dimension in zip(format.levels, format.order, strict=True):
        if dimension in sources:
            levels.append(level if level.full else Compressed())
            order.append(sources.index(dimension))
    if all(level.full for level in levels) and levels:
        levels[-1] = Compressed()
    return Format(levels, order)
