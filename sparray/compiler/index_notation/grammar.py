"""Words and symbols of index notation, derived from the operator table.

The parser and the printer both read these tables, so what one prints the other
understands.
"""

from sparray.compiler.loop_ir.operators import (
    OPERATORS,
    Operator,
    can_reduce,
    is_operator,
)

__all__ = [
    "CONSTANTS",
    "INFIX",
    "PREFIX",
    "REDUCTION_WORDS",
    "REDUCTIONS",
    "RIGHT_ASSOCIATIVE",
    "is_comparison",
    "is_function",
    "reduction_operator",
]

INFIX: dict[str, Operator] = {
    row.symbol: row
    for row in OPERATORS.values()
    if row.arity == 2 and row.symbol is not None
}

PREFIX: dict[str, Operator] = {
    row.symbol: row
    for row in OPERATORS.values()
    if row.arity == 1 and row.symbol is not None
}

# Word of a reduction -> operator that combines.
REDUCTIONS: dict[str, str] = {
    "sum": "add",
    "prod": "mul",
    "min": "min",
    "max": "max",
    "all": "and",
    "any": "or",
}

REDUCTION_WORDS: dict[str, str] = {op: word for word, op in REDUCTIONS.items()}

CONSTANTS: dict[str, bool | float] = {
    "True": True,
    "False": False,
    "inf": float("inf"),
    "nan": float("nan"),
}

RIGHT_ASSOCIATIVE = frozenset({"pow"})


def is_comparison(row: Operator) -> bool:
    """Tell whether an infix operator does not chain (``a < b < c`` is refused)."""
    return row.result == "bool" and not row.associative


def is_function(name: str) -> bool:
    """Tell whether a name followed by a parenthesis is a function or a reduction."""
    return is_operator(name) or name in REDUCTIONS or name == "complex"


def reduction_operator(word: str) -> str | None:
    """Return the operator that a word reduces by; None if it does not.

    An operator that is not in the table reduces by its own name.
    """
    if word in REDUCTIONS:
        return REDUCTIONS[word]
    defined = is_operator(word) and word not in OPERATORS
    return word if defined and can_reduce(word) else None
