"""What a printed module needs besides its functions: types and helper functions.

Only what is used is declared, so that the C compiler reads little. Every helper has
one name that is valid in C and in Cython alike.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import field

from sparray.compiler.codegen.cython.types import (
    c_type,
    pointer_name,
    vector_name,
)
from sparray.errors import UnsupportedError
from sparray.records import dataclass

__all__ = ["Helper", "Support"]


_NARROW = (("uint8", 2**8), ("uint16", 2**16), ("uint32", 2**32))
"""Types of constant tables, and where their values end."""


@dataclass(frozen=True, slots=True)
class Helper:
    """A C definition, and how Cython sees it."""

    source: str
    declaration: str


@dataclass(slots=True)
class Support:
    """Collects requirements while functions are printed.

    Attributes
    ----------
    helpers : dict of str to Helper
        In an order in which each finds what it needs above it.
    includes : set of str
        C headers.
    sorts, searches : set of (str, str)
        Code and C type of the elements that are sorted, or searched.
    sorts_marked, allocates, parallel, vectors : bool
        Whether some function does.
    """

    helpers: dict[str, Helper] = field(default_factory=dict)
    includes: set[str] = field(default_factory=lambda: {"<stdint.h>"})
    sorts: set[tuple[str, str]] = field(default_factory=set)
    searches: set[tuple[str, str]] = field(default_factory=set)
    sorts_marked: bool = False
    allocates: bool = False
    parallel: bool = False
    vectors: bool = False

    def define(self, name: str, source: str, declaration: str) -> str:
        """Add a helper unless it is there, and return its name."""
        self.helpers.setdefault(name, Helper(source, declaration))
        return name

    def scalar(self, dtype: str) -> str:
        """Return the scalar type's name, having declared it where C lacks it."""
        c = c_type(dtype)
        if c.kind == "complex":
            # To Cython it is a real number: it only passes it on, and C's own complex
            # arithmetic applies without Cython's utility code.
            real = "float" if c.size == 8 else "double"
            self.define(
                c.name,
                f"typedef {real} _Complex {c.name};",
                f"ctypedef {real} {c.name}",
            )
        return c.name

    def vector(self, dtype: str, lanes: int) -> str:
        """Return the name of a vector type, having declared it."""
        if lanes == 1:
            return self.scalar(dtype)
        c = c_type(dtype)
        if c.kind == "complex" or lanes & (lanes - 1):
            raise UnsupportedError(
                "expected a vector of real elements with a power of two lanes, got "
                f"{lanes} lanes of {dtype}"
            )
        self.vectors = True
        # aligned: loads may start at any element. may_alias: they read the buffer's
        # scalars. To Cython it is a scalar, so that arithmetic passes through as it is.
        attributes = f"vector_size({lanes * c.size}), aligned({c.size}), may_alias"
        name = vector_name(dtype, lanes)
        return self.define(
            name,
            f"typedef {c.name} {name} __attribute__(({attributes}));",
            f"ctypedef {c.name} {name}",
        )

    def table(self, values: Sequence[int]) -> str:
        """Return the name of a constant table, having declared it.

        Its elements are as narrow as the values allow: the table stays in cache beside
        what a loop streams.
        """
        least, most = min(values), max(values)
        narrow = (name for name, end in _NARROW if least >= 0 and most < end)
        element = self.scalar(next(narrow, "int64"))
        listed = ", ".join(map(_c_integer, values))
        digest = hashlib.sha256(f"{element} {listed}".encode()).hexdigest()[:16]
        name = f"sp_table_{digest}"
        return self.define(
            name,
            f"static const {element} {name}[] = {{{listed}}};",
            f"const {element} {name}[{len(values)}]",
        )

    def pointer(self, dtype: str, *, writable: bool) -> str:
        """Return the name of a restrict pointer type, having declared it.

        GCC believes ``restrict`` on parameters; without it a loop that stores to one
        buffer while it loads another is not vectorised, or only with run-time checks.
        """
        element = self.scalar(dtype)
        name = pointer_name(dtype, writable=writable)
        const = "" if writable else "const "
        return self.define(
            name,
            f"typedef {const}{element} *__restrict__ {name};",
            f"ctypedef {element}* {name}",
        )


def _c_integer(value: int) -> str:
    """Return an integer as C reads it; its smallest one is no literal there."""
    if value == -(2**63):
        return "-9223372036854775807LL - 1"
    return f"{value}LL" if abs(value) >= 2**31 else str(value)
