"""Every name that generated code contains, in one place.

Operands are ``A``, ``B``, ... and the result is ``out``; indices are ``i``, ``j``, ...
(`sparray.compiler.index_notation.canonical`). No name of a user gets this far.
"""

__all__ = [
    "COUNT",
    "FILL",
    "OUTPUT",
    "THREADS",
    "counts",
    "extent",
    "level_buffer",
    "position",
    "values",
]

OUTPUT = "out"
"""The result's tensor name."""
COUNT = "count"
"""The entry point that counts the stored entries of a sparse result."""
FILL = "evaluate"
"""The entry point that computes the result's values (and coordinates)."""
THREADS = "threads"
"""The parameter with the largest number of threads to use."""


def extent(index: str) -> str:
    """Return the parameter that holds the number of values of an index."""
    return f"n_{index}"


def level_buffer(tensor: str, level: int, role: str) -> str:
    """Return the buffer of one level (counted from 1): ``A2_pos``."""
    return f"{tensor}{level + 1}_{role}"


def values(tensor: str) -> str:
    """Return the buffer of a tensor's stored values."""
    return f"{tensor}_values"


def counts(tensor: str, level: int) -> str:
    """Return the buffer of stored entries per unit of a sparse result's level."""
    return f"{tensor}{level + 1}_counts"


def position(tensor: str, level: int) -> str:
    """Return the hint for a variable that holds a position in a level."""
    return f"p{tensor}{level + 1}"
