"""The operators of the loop IR as C expressions and small C functions.

The text of a scalar operation is valid in C and in Cython alike: an infix operator in
parentheses, or a call of a helper. So one table serves scalars in Cython and the lane
loops of vector helpers in C.
"""

from collections.abc import Callable

from sparray.compiler.codegen.cython.bodies import BODIES
from sparray.compiler.codegen.cython.halves import cast_half
from sparray.compiler.codegen.cython.support import Support
from sparray.compiler.codegen.cython.types import CType, c_type
from sparray.compiler.loop_ir.operators import (
    INDEX_OPERATORS,
    OPERATORS,
    REAL_RESULTS,
)
from sparray.errors import UnsupportedError

__all__ = ["cast", "operation", "reduce_lanes", "select_lanes"]

_ARITHMETIC = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "times": "*",
    "over": "/",
}
_ON_BOOLS = {"add": "|", "mul": "&", "times": "&", "min": "&", "max": "|"}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_LOGICAL = {"and": "&", "or": "|"}
# C function without its width suffix; True where complex.h has it with a leading c.
_MATH = {
    "sqrt": True,
    "exp": True,
    "log": True,
    "log1p": False,
    "expm1": False,
    "sin": True,
    "cos": True,
    "tan": True,
    "asin": True,
    "acos": True,
    "atan": True,
    "sinh": True,
    "cosh": True,
    "tanh": True,
    "asinh": True,
    "acosh": True,
    "atanh": True,
    "exp2": False,
    "log2": False,
    "log10": False,
    "floor": False,
    "ceil": False,
    "trunc": False,
    "hypot": False,
    "atan2": False,
    "copysign": False,
    "nextafter": False,
}
# Name in complex.h, and in math.h ("" where a body below serves).
_OWN_NAMES = {
    "abs": ("cabs", "fabs"),
    "pow": ("cpow", "pow"),
    "conj": ("conj", ""),
    "real": ("creal", ""),
    "imag": ("cimag", ""),
    "round": ("", "rint"),
}
# Two rows of the table that differ in their algebra alone.
_SAME = {"floor_over": "floor_divide", "modulo": "remainder"}


def operation(
    op: str, operand: str, result: str, lanes: int, args: list[str], support: Support
) -> str:
    """Return Cython for an operator applied to printed operands.

    Parameters
    ----------
    op : str
        Operator name.
    operand, result : str
        Dtype of every operand, and of the result.
    lanes : int
        1 for scalars.
    args : list of str
        The operands, each an atom or in parentheses.
    support : Support
        Receives the helpers that the text uses.

    Raises
    ------
    UnsupportedError
        If C has no such operation on that dtype.
    """
    if lanes == 1:
        text = _scalar(op, c_type(operand), args, support)
        narrow = c_type(result).narrow and op not in _COMPARISONS | _LOGICAL
        return f"(<{c_type(result).name}>{text})" if narrow else text
    if op in INDEX_OPERATORS:
        raise UnsupportedError(f"expected scalar operands of {op}, got {lanes} lanes")
    native = op in _ARITHMETIC and c_type(operand).kind != "bool"
    if native:
        return _scalar(op, c_type(operand), args, support)
    return _lane_by_lane(
        op,
        [operand] * len(args),
        result,
        lanes,
        args,
        support,
        lambda names: _scalar(op, c_type(operand), names, support),
    )


def cast(operand: str, result: str, lanes: int, arg: str, support: Support) -> str:
    """Return Cython for a conversion; to bool it asks whether the value is not 0."""
    if "half" in (c_type(operand).kind, c_type(result).kind):
        return cast_half(operand, result, lanes, arg, support)
    truth = c_type(result).kind == "bool"
    if lanes == 1:
        return f"({arg} != 0)" if truth else f"(<{support.scalar(result)}>{arg})"

    def element(names: list[str]) -> str:
        return f"{names[0]} != 0" if truth else f"({c_type(result).name}){names[0]}"

    name = f"to_{c_type(result).code}_from"
    return _lane_by_lane(name, [operand], result, lanes, [arg], support, element)


def reduce_lanes(op: str, dtype: str, lanes: int, arg: str, support: Support) -> str:
    """Return Cython for the lanes of a vector combined to a scalar.

    The upper half is folded onto the lower one until a single lane is left.
    """
    vector = support.vector(dtype, lanes)
    element = c_type(dtype)
    folded = _scalar(op, element, ["v[k]", "v[k + h]"], support)
    name = support.define(
        f"sp_reduce_{op}_{element.code}x{lanes}",
        f"static inline {element.name} sp_reduce_{op}_{element.code}x{lanes}"
        f"({vector} v) {{\n"
        f"    for (int h = {lanes // 2}; h > 0; h /= 2)\n"
        f"        for (int k = 0; k < h; k++) v[k] = {folded};\n"
        "    return v[0];\n}",
        f"{element.name} sp_reduce_{op}_{element.code}x{lanes}({vector} v)",
    )
    return f"{name}({arg})"


def _scalar(op: str, c: CType, args: list[str], support: Support) -> str:
    if op in INDEX_OPERATORS and c.kind == "int":
        # Cython's // is C's / under cdivision: a text for Cython alone.
        return f"({args[0]} {INDEX_OPERATORS[op]} {args[1]})"
    if op in _LOGICAL:
        truths = args if c.kind == "bool" else [f"({a} != 0)" for a in args]
        return f"({truths[0]} {_LOGICAL[op]} {truths[1]})"
    if op in _COMPARISONS and (c.kind != "complex" or op in ("eq", "ne")):
        return f"({args[0]} {_COMPARISONS[op]} {args[1]})"
    if c.kind == "bool" and op in _ON_BOOLS:
        return f"({args[0]} {_ON_BOOLS[op]} {args[1]})"
    if op in _ARITHMETIC and c.kind != "bool":
        return f"({args[0]} {_ARITHMETIC[op]} {args[1]})"
    if op == "xor":
        return f"(({args[0]} != 0) != ({args[1]} != 0))"
    if op == "neg" and c.kind != "bool":
        return f"(-{args[0]})"
    if op == "not":
        return f"({args[0]} == 0)"
    return f"{_function(op, c, len(args), support)}({', '.join(args)})"


def _function(op: str, c: CType, arity: int, support: Support) -> str:
    if c.kind == "complex":
        # Its declaration stands above the helper's, which names it.
        support.scalar("complex64" if c.size == 8 else "complex128")
    name = f"sp_{op}_{c.code}"
    names = ("a", "b")[:arity]
    parameters = ", ".join(f"{c.name} {n}" for n in names)
    real = {"c64": "float", "c128": "double"}.get(c.code, c.name)
    result = real if op in REAL_RESULTS else c.name
    if OPERATORS[op].result == "bool":
        result = "int"
    body = BODIES.get((_SAME.get(op, op), c.kind))
    if body is not None:
        if c.kind in ("float", "complex"):
            support.includes.update(("<math.h>", "<complex.h>"))
        body = body.replace("T", c.name).replace("$", real).replace("@", _suffix(c))
        return support.define(
            name,
            f"static inline {result} {name}({parameters}) {{\n{body}\n}}"
            if "\n" in body
            else f"static inline {result} {name}({parameters}) {{ {body} }}",
            f"{result} {name}({parameters})",
        )
    function = _library_function(op, c, support)
    return support.define(
        name, f"#define {name} {function}", f"{result} {name}({parameters})"
    )


def _suffix(c: CType) -> str:
    return "f" if c.code in ("f32", "c64") else ""


def _library_function(op: str, c: CType, support: Support) -> str:
    real, suffix = c.kind == "float", _suffix(c)
    if c.kind in ("float", "complex"):
        support.includes.add("<math.h>" if real else "<complex.h>")
        if op in _OWN_NAMES:
            return _OWN_NAMES[op][real] + suffix
        if real and op in _MATH:
            return op + suffix
        if _MATH.get(op, False):
            return f"c{op}{suffix}"
    raise UnsupportedError(
        f"expected an operation that C has, got {op} of {c.kind} elements ({c.code})"
    )


def _lane_by_lane(
    op: str,
    operands: list[str],
    result: str,
    lanes: int,
    args: list[str],
    support: Support,
    element: Callable[[list[str]], str],
) -> str:
    """Call a helper that loops over the lanes, which GCC turns into vector code."""
    names = ["a", "b", "c"][: len(args)]
    vectors = [support.vector(dtype, lanes) for dtype in operands]
    made = support.vector(result, lanes)
    text = element([f"{n}[k]" for n in names])
    name = f"sp_{op}_{c_type(operands[-1]).code}x{lanes}"
    parameters = ", ".join(f"{v} {n}" for v, n in zip(vectors, names, strict=True))
    support.define(
        name,
        f"static inline {made} {name}({parameters}) {{\n"
        f"    {made} r;\n"
        f"    for (int k = 0; k < {lanes}; k++) r[k] = {text};\n"
        "    return r;\n}",
        f"{made} {name}({parameters})",
    )
    return f"{name}({', '.join(args)})"


def select_lanes(dtype: str, lanes: int, args: list[str], support: Support) -> str:
    """Return Cython for a choice between two vectors, lane by lane."""
    return _lane_by_lane(
        "select",
        ["bool", dtype, dtype],
        dtype,
        lanes,
        args,
        support,
        lambda names: f"{names[0]} ? {names[1]} : {names[2]}",
    )
