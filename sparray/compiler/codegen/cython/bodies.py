"""Bodies of the small C functions that operators become, where C has no operation.

``T`` stands for the element type, ``$`` for its real type and ``@`` for the suffix of
the functions of math.h and complex.h on it. The results are NumPy's, bit by bit where
they are not rounded: NaN propagates, integers wrap around (``-fwrapv``), a division by
zero gives 0 and ends no process.

Source: NumPy's ``npy_math`` and ``umath`` loops for what is done with NaN, infinities,
signs of zeros and shifts beyond the width.
"""

__all__ = ["BODIES"]

_MIN = "return (a <= b || a != a) ? a : b;"
_MAX = "return (a >= b || a != a) ? a : b;"
_POWER = """\
    T r = 1;
    if (b < 0) return 0;
    for (; b; b /= 2) { if (b % 2) r = (T)(r * a); a = (T)(a * a); }
    return r;"""
_FLOOR_DIVIDE = """\
    if (b == 0) return 0;
    if (b == -1) return (T)-a;
    return (T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));"""
_REMAINDER = """\
    if (b == 0 || b == -1) return 0;
    T r = (T)(a % b);
    return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;"""
_FLOOR_DIVIDE_REAL = """\
    if (b == 0) return a / b;
    T m = fmod@(a, b), q = (a - m) / b;
    if (m != 0 && (b < 0) != (m < 0)) q -= 1;
    if (q == 0) return copysign@(0, a / b);
    T f = floor@(q);
    return q - f > (T)0.5 ? f + 1 : f;"""
_REMAINDER_REAL = """\
    T m = fmod@(a, b);
    if (b == 0) return m;
    if (m == 0) return copysign@(0, b);
    return (b < 0) != (m < 0) ? m + b : m;"""
_LOGADDEXP = """\
    if (a == b) return a + (T)0.693147180559945309417232121458;
    T d = a - b;
    if (d > 0) return a + log1p@(exp@(-d));
    return d <= 0 ? b + log1p@(exp@(d)) : d;"""
_SHIFTS = {
    "left_shift": "return (unsigned long long)b < 8 * sizeof(T) "
    "? (T)((unsigned long long)a << b) : 0;",
    "right_shift": "return (unsigned long long)b < 8 * sizeof(T) "
    "? (T)(a >> b) : (T)-(a < 0);",
}
_RECIPROCAL = """\
    if (a == 0) return sizeof(T) < 4 ? 0 : (T)(1ULL << (8 * sizeof(T) - 1));
    return (T)((a == 1) - (a == -1));"""

BODIES: dict[tuple[str, str], str] = {
    ("min", "int"): "return a <= b ? a : b;",
    ("min", "uint"): "return a <= b ? a : b;",
    ("min", "float"): _MIN,
    ("max", "int"): "return a >= b ? a : b;",
    ("max", "uint"): "return a >= b ? a : b;",
    ("max", "float"): _MAX,
    ("relu", "int"): "return a > 0 ? a : 0;",
    ("relu", "uint"): "return a;",
    ("relu", "bool"): "return a;",
    ("relu", "float"): "return (a > 0 || a != a) ? a : 0;",
    ("sign", "int"): "return (T)((a > 0) - (a < 0));",
    ("sign", "uint"): "return a > 0;",
    ("sign", "float"): "return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a;",
    ("abs", "int"): "return a < 0 ? (T)-a : a;",
    ("abs", "uint"): "return a;",
    ("abs", "bool"): "return a;",
    ("pow", "int"): _POWER,
    ("pow", "uint"): _POWER,
    ("floor_divide", "int"): _FLOOR_DIVIDE,
    ("floor_divide", "uint"): "return b ? (T)(a / b) : 0;",
    ("floor_divide", "float"): _FLOOR_DIVIDE_REAL,
    ("remainder", "int"): _REMAINDER,
    ("remainder", "uint"): "return b ? (T)(a % b) : 0;",
    ("remainder", "float"): _REMAINDER_REAL,
    ("logaddexp", "float"): _LOGADDEXP,
    ("reciprocal", "int"): _RECIPROCAL,
    ("reciprocal", "uint"): "return a == 1;",
    ("reciprocal", "float"): "return 1 / a;",
    ("bitwise_invert", "bool"): "return !a;",
    ("signbit", "bool"): "return 0;",
    ("signbit", "int"): "return a < 0;",
    ("signbit", "uint"): "return 0;",
    ("signbit", "float"): "return __builtin_signbit(a) != 0;",
    ("isnan", "float"): "return a != a;",
    ("isinf", "float"): "return __builtin_isinf(a) != 0;",
    ("isfinite", "float"): "return __builtin_isfinite(a) != 0;",
}
for _kind in ("bool", "int", "uint"):
    BODIES["isnan", _kind] = BODIES["isinf", _kind] = "return 0;"
    BODIES["isfinite", _kind] = "return 1;"
    BODIES["bitwise_and", _kind] = "return a & b;"
    BODIES["bitwise_or", _kind] = "return a | b;"
    BODIES["bitwise_xor", _kind] = "return a ^ b;"
    for _op in ("floor", "ceil", "trunc"):
        BODIES[_op, _kind] = "return a;"
for _kind in ("int", "uint"):
    BODIES["bitwise_invert", _kind] = "return (T)~a;"
    BODIES["round", _kind] = "return a;"
    for _op, _body in _SHIFTS.items():
        BODIES[_op, _kind] = _body
for _kind in ("int", "uint", "float"):
    BODIES["square", _kind] = "return (T)(a * a);"
for _kind in ("int", "uint", "float", "complex"):
    BODIES["positive", _kind] = "return a;"
for _kind in ("bool", "int", "uint", "float"):
    BODIES["real", _kind] = "return a;"
    BODIES["imag", _kind] = "return 0;"
    if _kind != "bool":
        BODIES["conj", _kind] = "return a;"

# Complex numbers are ordered by their real parts, then by their imaginary ones.
_ORDERED = (
    "(creal@(a) {0} creal@(b) && cimag@(a) == cimag@(a) && cimag@(b) == cimag@(b))"
    " || (creal@(a) == creal@(b) && cimag@(a) {0}{1} cimag@(b))"
)
_NAN = "creal@(a) != creal@(a) || cimag@(a) != cimag@(a)"
_LESS_EQUAL, _GREATER_EQUAL = _ORDERED.format("<", "="), _ORDERED.format(">", "=")
_SIGN = """\
    $ x = creal@(a), y = cimag@(a), m = cabs@(a);
    if (m != m) return __builtin_complex(m, m);
    if (__builtin_isinf(m)) {
        if (__builtin_isinf(x) && __builtin_isinf(y))
            return __builtin_complex(x - x, x - x);
        x = __builtin_isinf(x) ? copysign@(1, x) : 0;
        y = __builtin_isinf(y) ? copysign@(1, y) : 0;
        return __builtin_complex(x, y);
    }
    return m == 0 ? 0 : __builtin_complex(x / m, y / m);"""
_INVERSE = """\
    $ x = creal@(a), y = cimag@(a);
    if (fabs@(x) >= fabs@(y)) {
        $ r = y / x, d = x + y * r;
        return __builtin_complex(1 / d, -r / d);
    }
    $ r = x / y, d = x * r + y;
    return __builtin_complex(r / d, -1 / d);"""
_EXPM1 = """\
    $ x = creal@(a), y = cimag@(a), s = sin@(y / 2);
    return __builtin_complex(expm1@(x) * cos@(y) - 2 * s * s, exp@(x) * sin@(y));"""
_LOG1P = """\
    $ x = creal@(a) + 1, y = cimag@(a);
    return __builtin_complex(log@(hypot@(x, y)), atan2@(y, x));"""
_SQUARE = """\
    $ x = creal@(a), y = cimag@(a);
    return __builtin_complex(x * x - y * y, x * y + y * x);"""
_COMPLEX = {
    "lt": f"return {_ORDERED.format('<', '')};",
    "le": f"return {_LESS_EQUAL};",
    "gt": f"return {_ORDERED.format('>', '')};",
    "ge": f"return {_GREATER_EQUAL};",
    "min": f"return ({_NAN} || {_LESS_EQUAL}) ? a : b;",
    "max": f"return ({_NAN} || {_GREATER_EQUAL}) ? a : b;",
    "relu": f"T b = 0; return ({_NAN} || {_GREATER_EQUAL}) ? a : b;",
    "isnan": f"return {_NAN};",
    "isinf": "return __builtin_isinf(creal@(a)) || __builtin_isinf(cimag@(a));",
    "isfinite": "return __builtin_isfinite(creal@(a))"
    " && __builtin_isfinite(cimag@(a));",
    "round": "return __builtin_complex(rint@(creal@(a)), rint@(cimag@(a)));",
    "sign": _SIGN,
    "square": _SQUARE,
    "reciprocal": _INVERSE,
    "exp2": "return cexp@(a * ($)0.693147180559945309417232121458);",
    "log2": "return clog@(a) * ($)1.442695040888963407359924681002;",
    "log10": "return clog@(a) * ($)0.434294481903251827651128918917;",
    "expm1": _EXPM1,
    "log1p": _LOG1P,
}
BODIES.update({(_op, "complex"): _body for _op, _body in _COMPLEX.items()})
