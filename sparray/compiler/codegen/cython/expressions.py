"""Expressions of the loop IR as Cython, every operation in parentheses."""

import math
from functools import singledispatch

from sparray.compiler.codegen.cython import operators
from sparray.compiler.codegen.cython.names import checked_name
from sparray.compiler.codegen.cython.support import Support
from sparray.compiler.codegen.cython.types import c_type
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.dtypes import half_bits
from sparray.compiler.loop_ir.operators import REAL_RESULTS
from sparray.errors import InternalError

__all__ = ["expression", "index_of"]

# Below this an int64 literal is written bare: C and Cython read it as they should.
_BARE = 2**31


@singledispatch
def expression(node: ir.Expr, support: Support) -> str:
    """Return Cython for an expression; an atom or in parentheses."""
    raise InternalError(f"expected an expression of the loop IR, got {node!r}")


@expression.register
def _(node: ir.Literal, support: Support) -> str:
    if node.lanes != 1:
        scalar = ir.Literal(node.value, node.dtype)
        return expression(ir.Broadcast(scalar, node.lanes), support)
    kind = c_type(node.dtype).kind
    if kind == "bool":
        return "1" if node.value else "0"
    if kind == "half":
        return _integer(half_bits(node.value, node.dtype), "uint16")
    if kind in ("int", "uint"):
        return _integer(int(node.value), node.dtype)
    if kind == "float":
        return _real(float(node.value), node.dtype, support)
    return _complex(complex(node.value), node.dtype, support)


@expression.register
def _(node: ir.Var, support: Support) -> str:
    return checked_name(node.name)


@expression.register
def _(node: ir.Load, support: Support) -> str:
    name = checked_name(node.buffer.name)
    index = index_of(node.index, support)
    if node.lanes == 1:
        return f"{name}[{index}]"
    vector = support.vector(node.dtype, node.lanes)
    code = f"{c_type(node.dtype).code}x{node.lanes}"
    element = c_type(node.dtype).name
    load = support.define(
        f"sp_load_{code}",
        f"#define sp_load_{code}(p) (*(const {vector} *)(p))",
        f"{vector} sp_load_{code}({element}* p)",
    )
    return f"{load}({name} + {index})"


@expression.register
def _(node: ir.Unary, support: Support) -> str:
    operand = _operand(node.op, node.operand, node.dtype)
    text = expression(operand, support)
    return operators.operation(
        node.op, operand.dtype, node.dtype, node.lanes, [text], support
    )


@expression.register
def _(node: ir.Binary, support: Support) -> str:
    shifted = _power_of_two(node)
    if shifted is not None:
        node = shifted
    left = _operand(node.op, node.left, node.dtype)
    right = _operand(node.op, node.right, node.dtype)
    args = [expression(left, support), expression(right, support)]
    if isinstance(left, ir.Literal) and isinstance(right, ir.Literal):
        # Else Cython would fold them with Python's unbounded integers.
        args = [f"(<{c_type(left.dtype).name}>{arg})" for arg in args]
    return operators.operation(
        node.op, left.dtype, node.dtype, node.lanes, args, support
    )


@expression.register
def _(node: ir.Select, support: Support) -> str:
    args = [expression(e, support) for e in (node.condition, node.then, node.otherwise)]
    if node.condition.lanes > 1:
        return operators.select_lanes(node.dtype, node.lanes, args, support)
    return f"({args[1]} if {args[0]} else {args[2]})"


@expression.register
def _(node: ir.Cast, support: Support) -> str:
    text = expression(node.operand, support)
    return operators.cast(node.operand.dtype, node.dtype, node.lanes, text, support)


@expression.register
def _(node: ir.Broadcast, support: Support) -> str:
    if node.lanes == 1:
        return expression(node.operand, support)
    text = index_of(node.operand, support)
    vector = support.vector(node.dtype, node.lanes)
    code = f"{c_type(node.dtype).code}x{node.lanes}"
    element = c_type(node.dtype).name
    # An initialiser and not `0 + x`, which would lose the sign of -0.0.
    name = support.define(
        f"sp_broadcast_{code}",
        f"static inline {vector} sp_broadcast_{code}({element} x) {{\n"
        f"    return ({vector}){{{', '.join('x' * node.lanes)}}};\n}}",
        f"{vector} sp_broadcast_{code}({element} x)",
    )
    return f"{name}({text})"


@expression.register
def _(node: ir.ReduceLanes, support: Support) -> str:
    text = expression(node.operand, support)
    return operators.reduce_lanes(
        node.op, node.dtype, node.operand.lanes, text, support
    )


@expression.register
def _(node: ir.Search, support: Support) -> str:
    element = c_type(node.buffer.dtype)
    support.searches.add((element.code, element.name))
    args = [checked_name(node.buffer.name)]
    args += [index_of(e, support) for e in (node.begin, node.end, node.value)]
    return f"sp_search_{element.code}({', '.join(args)})"


@expression.register
def _(node: ir.Lookup, support: Support) -> str:
    name = support.table(node.table)
    return f"(<int64_t>{name}[{index_of(node.index, support)}])"


def _power_of_two(node: ir.Binary) -> ir.Binary | None:
    """Return a division by a power of two as bit arithmetic, else None.

    C may not do it: it does not know that indices are never negative.
    """
    divisor = node.right
    if node.op not in ("floordiv", "mod") or not isinstance(divisor, ir.Literal):
        return None
    n: int = divisor.value
    if n <= 0 or n & (n - 1):
        return None
    if node.op == "mod":
        return ir.Binary("mask", node.left, ir.Literal(n - 1), node.dtype)
    return ir.Binary(
        "shift_right", node.left, ir.Literal(n.bit_length() - 1), node.dtype
    )


def index_of(node: ir.Expr, support: Support) -> str:
    """Return an expression where brackets or commas enclose it already."""
    text = expression(node, support)
    enclosed = (ir.Literal, ir.Unary, ir.Binary, ir.Cast)
    if isinstance(node, enclosed) and text.startswith("("):
        return text[1:-1]
    return text


def _operand(op: str, operand: ir.Expr, result: str) -> ir.Expr:
    """Convert the operand of a float operation before it, as NumPy does."""
    floating = c_type(result).kind in ("float", "complex")
    if floating and op not in REAL_RESULTS and operand.dtype != result:
        return ir.Cast(operand, result)
    return operand


def _integer(value: int, dtype: str) -> str:
    c = c_type(dtype)
    if dtype == "int64" and abs(value) < _BARE:
        return str(value) if value >= 0 else f"({value})"
    if value == -(2**63):
        return f"(<{c.name}>(-9223372036854775807LL - 1))"
    suffix = "ULL" if value >= 2**63 else "LL"
    return f"(<{c.name}>({value}{suffix}))"


def _real(value: float, dtype: str, support: Support) -> str:
    name = c_type(dtype).name
    if math.isfinite(value):
        # repr is the shortest text that reads back to the same double.
        text = repr(value)
        return f"(<{name}>({text}))" if text.startswith("-") else f"(<{name}>{text})"
    word = "nan" if math.isnan(value) else "infinity"
    support.includes.add("<math.h>")
    macro = support.define(
        f"sp_{word}", f"#define sp_{word} ((double){word.upper()})", f"double sp_{word}"
    )
    sign = "-" if value < 0 else ""
    return f"(<{name}>({sign}{macro}))"


def _complex(value: complex, dtype: str, support: Support) -> str:
    name = support.scalar(dtype)
    real = "float" if dtype == "complex64" else "double"
    make = support.define(
        f"{name}_of",
        f"#define {name}_of(re, im) __builtin_complex(({real})(re), ({real})(im))",
        f"{name} {name}_of(double re, double im)",
    )
    parts = [_real(part, "float64", support) for part in (value.real, value.imag)]
    return f"{make}({parts[0]}, {parts[1]})"
