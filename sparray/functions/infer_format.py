"""Recommend a format for an array from counts of its pattern."""

from typing import Any

from sparray.convert.entries import default_format
from sparray.convert.objects import array
from sparray.errors import FormatError
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.functions.format_candidates import CANDIDATES, Candidate
from sparray.functions.pattern_statistics import (
    MatrixStatistics,
    PatternStatistics,
    pattern_statistics,
)
from sparray.records import dataclass
from sparray.view.labels import count_text, density_text

__all__ = ["InferredFormat", "infer_format"]

_LARGEST_RATIO = 10**6
_REGULAR = 0.7
"""Share of the elements of blocks or diagonals that makes them a structure."""


@dataclass(frozen=True, slots=True)
class InferredFormat:
    """A recommended format, and what it was compared with.

    Attributes
    ----------
    format : Format
        What to store the array in.
    name : str
        Its name.
    reasons : tuple of str
        Why, and what was found of the pattern.
    candidates : dict of str to int
        The bytes that the array takes in each format, by name, the smallest first.
    """

    format: Format
    name: str
    reasons: tuple[str, ...]
    candidates: dict[str, int]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.format}"]
        lines += [f"  {reason}" for reason in self.reasons]
        width = max(map(len, self.candidates))
        numbers = {name: count_text(size) for name, size in self.candidates.items()}
        digits = max(map(len, numbers.values()))
        chosen = self.candidates[self.name]
        lines.append("bytes by format:")
        for name, n_bytes in self.candidates.items():
            mark = "*" if name == self.name else " "
            number = numbers[name].rjust(digits)
            lines.append(
                f"{mark} {name.ljust(width)}  {number}{_ratio(n_bytes, chosen)}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Sized:
    """A candidate, the format that its name means, and its size."""

    row: Candidate
    format: Format
    n_bytes: int


def infer_format(A: Any) -> InferredFormat:
    """Recommend a format for an array, with reasons and the size of each format.

    The format that takes the least memory is recommended, after a handicap for those
    that cost more to compute with: ``csc`` counts as if it took 10 % more than it does,
    ``coo`` 20 %. Sizes are exact, and come from counts: nothing is converted.

    Parameters
    ----------
    A : SparseArray or anything that `array` takes
        Repeated coordinates count once. Of a dense array, the elements that differ from
        its fill value.

    Returns
    -------
    InferredFormat
        Its ``format`` or ``name`` goes to ``to_format``; printed, it is a table.

    Notes
    -----
    O(ndim * n) for n entries in lexicographic order, as in row-compressed formats, and
    a sort for those in another. The same pattern gets the same answer.

    Examples
    --------
    >>> import numpy as np
    >>> import sparray as sp
    >>> found = sp.infer_format(np.eye(1000))
    >>> found.name, found.candidates["dia"], found.candidates["csr"]
    ('dia', 8012, 16004)
    >>> print(found)
    dia: (i, j) -> (j - i: compressed, i: range)
      few diagonals have all entries, and need no columns: 8,012 bytes, the next ...
      1,000 of 1,000,000 elements are stored: density 0.001
      1,000 of 1,000 rows have entries: 1 in the mean, 1 at most
      all entries lie on 1 diagonal
    bytes by format:
    * dia             8,012  1 ×
      csr            16,004  2 ×
      csc            16,004  2 ×
      ell            16,004  2 ×
    ...
    """
    made = array(A, copy=False)
    coords, _ = made.to_coords()
    statistics = pattern_statistics(made.shape, coords, made.dtype)
    fitting = _fitting(statistics)
    ranked = sorted(fitting, key=lambda sized: sized.n_bytes * sized.row.percent)
    best = ranked[0]
    if statistics.n_entries == 0:
        # Nothing to judge by: what an array gets where no format is asked for.
        default = default_format(made.ndim)
        best = next(sized for sized in fitting if sized.format == default)
        choice = "nothing is stored to judge by: the format of arrays by default"
    else:
        choice = _choice(ranked)
    by_size = sorted(fitting, key=lambda sized: sized.n_bytes)
    return InferredFormat(
        best.format,
        best.row.name,
        (choice, *_findings(statistics)),
        {sized.row.name: sized.n_bytes for sized in by_size},
    )


def _ratio(n_bytes: int, chosen: int) -> str:
    """Return how many times the recommended size a size is, if that can be said."""
    if not chosen or n_bytes >= _LARGEST_RATIO * chosen:
        return ""
    return f"  {n_bytes / chosen:.3g} ×"


def _fitting(statistics: PatternStatistics) -> list[_Sized]:
    """Return the candidates of that number of dimensions, each format once."""
    fitting: dict[Format, _Sized] = {}
    for row in CANDIDATES:
        try:
            format = named_format(row.name, statistics.ndim)
        except FormatError:
            continue
        n_bytes = row.n_bytes(statistics)
        if n_bytes is not None:
            fitting.setdefault(format, _Sized(row, format, n_bytes))
    return list(fitting.values())


def _choice(ranked: list[_Sized]) -> str:
    """Say why the first is recommended and what comes next."""
    best, *others = ranked
    text = f"{best.row.strength}: {count_text(best.n_bytes)} bytes"
    if not others:
        return text
    return (
        f"{text}, the next is {others[0].row.name} with {count_text(others[0].n_bytes)}"
    )


def _findings(s: PatternStatistics) -> list[str]:
    """Say what was found of the pattern."""
    share = f"{s.n_entries:,} of {count_text(s.size)} elements are stored"
    found = [f"{share}: density {density_text(s.n_entries, s.size)}"]
    if s.ndim > 1 and s.n_entries:
        fibres = "rows" if s.ndim == 2 else "fibres along the last dimension"
        mean = s.n_entries / s.stored_fibres
        found.append(
            f"{s.stored_fibres:,} of {count_text(s.n_fibres)} {fibres} have entries: "
            f"{mean:.3g} in the mean, {s.longest_fibre:,} at most"
        )
    if s.matrix is not None and s.n_entries:
        found += _diagonal_findings(s, s.matrix) + _block_findings(s, s.matrix)
    return found


def _diagonal_findings(s: PatternStatistics, matrix: MatrixStatistics) -> list[str]:
    """Say it where most elements of the diagonals with an entry are stored."""
    if s.n_entries < _REGULAR * matrix.diagonals * min(s.shape):
        return []
    noun = "diagonal" if matrix.diagonals == 1 else "diagonals"
    return [f"all entries lie on {matrix.diagonals:,} {noun}"]


def _block_findings(s: PatternStatistics, matrix: MatrixStatistics) -> list[str]:
    """Say it where most elements of the blocks with an entry are stored."""
    for side, blocks in sorted(matrix.blocks.items(), reverse=True):
        share = s.n_entries / (blocks * side**2)
        if share >= _REGULAR:
            return [
                f"entries fill {share:.0%} of the {blocks:,} blocks of {side} × {side} "
                "that they lie in"
            ]
    return []
