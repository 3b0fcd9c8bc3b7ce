"""Which names may appear in generated source."""

import keyword
import re

from sparray.errors import InternalError

__all__ = ["checked_name", "comment_line"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)

# Words that Cython or C reads as something else, beyond Python's keywords. C keywords
# are listed even where Cython would mangle them, so that a name means one thing.
_WORDS = """
auto bint break case char cdef cimport complex const continue cpdef ctypedef
cppclass cython default DEF do double ELIF ELSE else enum except exec extern
fastcall fixed float fused gil goto if IF include inline int long namespace nogil
noexcept NULL object operator packed prange print public range readonly register
restrict short signed size_t sizeof ssize_t static struct switch typedef union
unsigned uintptr_t void volatile while
""".split()
_RESERVED = (
    frozenset(_WORDS) | frozenset(keyword.kwlist) | frozenset(keyword.softkwlist)
)
# `sp_` begins every helper's name, `__` belongs to Cython and C, `_t` ends a C type.
_PREFIXES = ("sp_", "__", "SP_", "__pyx")
_C_TYPES = frozenset(
    f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)
)


def checked_name(name: str) -> str:
    """Return a name of the loop IR if it is safe as a name in generated source.

    Raises
    ------
    InternalError
        If it is no ASCII identifier, or one that Cython, Python, C or the helpers
        of generated code have taken.
    """
    if _IDENTIFIER.match(name) is None:
        raise InternalError(f"expected an ASCII identifier, got the name {name!r}")
    if name in _RESERVED or name in _C_TYPES or name.startswith(_PREFIXES):
        raise InternalError(f"expected a name that is free, got {name!r}")
    return name


def comment_line(text: str) -> str:
    """Return one comment for a text, printable ASCII on a single line.

    The bar keeps Cython from reading a directive (``# cython: ...``) in it.
    """
    flat = " ".join(text.split("\n")).rstrip()
    safe = flat.encode("ascii", "backslashreplace").decode("ascii")
    printable = "".join(c if c.isprintable() else "?" for c in safe)
    return f"# | {printable}".rstrip()
