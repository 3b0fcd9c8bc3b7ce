"""The header of a MatrixMarket file: its banner, comments and size line.

Source: Boisvert, Pozo, Remington 1996, "The Matrix Market Exchange Formats: Initial
Design", NISTIR 5935. Beside it: ``vector`` objects and ``unsigned-integer``, which
fast_matrix_market and SciPy write, and ``tensor`` objects, which TACO does.
"""

import math

from sparray.io.line_spec import FIELDS
from sparray.io.text_source import TextSource
from sparray.records import dataclass

__all__ = ["Header", "read_header"]

_OBJECTS = ("matrix", "vector", "tensor")
_LAYOUTS = ("coordinate", "array")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_FIELD_ALIASES = {"double": "real"}
_MOST_COMMENT_BYTES = 2**24
_INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Header:
    """What a MatrixMarket file says about itself.

    Attributes
    ----------
    object : str
        ``matrix``, ``vector`` or ``tensor``.
    layout : str
        ``coordinate`` or ``array``.
    field : str
        ``real``, ``complex``, ``integer``, ``unsigned-integer`` or ``pattern``.
    symmetry : str
        ``general``, ``symmetric``, ``skew-symmetric`` or ``hermitian``.
    shape : tuple of int
        Extent of each dimension.
    n_entries : int
        Number of lines that follow.
    """

    object: str
    layout: str
    field: str
    symmetry: str
    shape: tuple[int, ...]
    n_entries: int


def read_header(source: TextSource, permissive: bool = False) -> Header:
    """Read the banner, the comments and the size line.

    Parameters
    ----------
    source : TextSource
        At its beginning.
    permissive : bool
        Whether a banner may begin with one percent sign.

    Raises
    ------
    FileFormatError
        If the banner is none, or promises what there is not.
    """
    words = _read_banner(source, permissive)
    kind, layout, field, symmetry = words
    _check_words(source, words)
    sizes = _read_sizes(source)
    n_sizes = {"matrix": 2, "vector": 1, "tensor": None}[kind]
    is_coordinate = layout == "coordinate"
    expected = None if n_sizes is None else n_sizes + is_coordinate
    if (expected is not None and len(sizes) != expected) or len(sizes) < 2 - (
        not is_coordinate
    ):
        wanted = "extents" if expected is None else f"{expected} numbers"
        source.refuse(
            f"expected {wanted} on the size line of a {kind} {layout} file, "
            f"got {len(sizes)} numbers"
        )
    shape = tuple(sizes[:-1]) if is_coordinate else tuple(sizes)
    if symmetry != "general" and len(set(shape)) != 1:
        source.refuse(f"expected a square matrix that is {symmetry}, got {shape}")
    n_entries = sizes[-1] if is_coordinate else _stored(shape, symmetry)
    return Header(kind, layout, field, symmetry, shape, n_entries)


def _read_banner(source: TextSource, permissive: bool) -> tuple[str, str, str, str]:
    """Read the first line."""
    line = source.read_line() or b""
    words = line.decode("latin-1").lower().split()
    banners = ["%%matrixmarket"] + ["%matrixmarket"] * permissive
    if not words or words[0] not in banners:
        source.line = 1
        source.refuse(f"expected the banner %%MatrixMarket, got {_show(line)}")
    if len(words) != 5:
        source.refuse(
            "expected %%MatrixMarket and 4 words (object, layout, field, symmetry), "
            f"got {_show(line)}"
        )
    kind, layout, field, symmetry = words[1:]
    return kind, layout, _FIELD_ALIASES.get(field, field), symmetry


def _check_words(source: TextSource, words: tuple[str, str, str, str]) -> None:
    """Check the words of the banner, one by one and together."""
    known = (_OBJECTS, _LAYOUTS, tuple(FIELDS), _SYMMETRIES)
    names = ("object", "layout", "field", "symmetry")
    for name, word, choices in zip(names, words, known, strict=True):
        if word not in choices:
            source.refuse(f"{name}: expected one of {', '.join(choices)}, got {word!r}")
    kind, layout, field, symmetry = words
    if layout == "array" and field == "pattern":
        source.refuse("expected values in an array file, got field pattern")
    if kind != "matrix" and symmetry != "general":
        source.refuse(f"expected a {kind} that is general, got {symmetry}")
    needs_sign = symmetry in ("skew-symmetric", "hermitian")
    if (needs_sign and field == "pattern") or (
        symmetry == "skew-symmetric" and field == "unsigned-integer"
    ):
        source.refuse(f"expected a field that can be {symmetry}, got {field}")


def _read_sizes(source: TextSource) -> list[int]:
    """Read the size line, past comments and blank lines."""
    n_bytes = 0
    while True:
        line = source.read_line()
        if line is None:
            source.line += 1
            source.refuse("expected a size line, got the end of the file")
        stripped = line.strip(b" \t")
        if stripped and not stripped.startswith(b"%"):
            break
        n_bytes += len(line) + 1
        if n_bytes > _MOST_COMMENT_BYTES:
            source.refuse(
                f"expected at most {_MOST_COMMENT_BYTES} bytes of comments, got more"
            )
    sizes = []
    for token in stripped.split():
        if not token.isdigit() or len(token) > 19 or int(token) > _INT64_MAX:
            source.refuse(
                f"expected integers from 0 to 2**63 - 1 on the size line, "
                f"got {_show(token)}"
            )
        sizes.append(int(token))
    return sizes


def _stored(shape: tuple[int, ...], symmetry: str) -> int:
    """Return how many elements an array file lists: all, or one triangle."""
    n = shape[0]
    if symmetry == "general":
        return math.prod(shape)
    return n * (n - 1) // 2 if symmetry == "skew-symmetric" else n * (n + 1) // 2


def _show(text: bytes) -> str:
    return repr(text[:60])[1:]
