"""Conversions between 16-bit floats, which are only stored, and float32.

Scalars are converted by bit arithmetic without branches: GCC makes vector code of it
in any loop, for any x86-64, which it does not of its own type ``_Float16``. Vectors of
float16 use the instructions of F16C and AVX-512 where the target has them, vectors of
bfloat16 are shifted.

The one floating-point operation of each direction for float16 stands between reads of
bits, so that ``-fassociative-math`` moves nothing across it, and touches no subnormal
number of float32, which a process may have set to be flushed to zero.
"""

from sparray.compiler.codegen.cython.support import Support
from sparray.compiler.codegen.cython.types import c_type
from sparray.errors import UnsupportedError

__all__ = ["cast_half"]

# Float16 to float32: the exponent is moved and rebiased, once more for inf and NaN;
# the mantissa m of a subnormal number is 2**-14 + m * 2**-24, less 2**-14.
_WIDEN_FLOAT16 = """\
static inline float sp_f32_of_f16(uint16_t h) {
#if defined(__aarch64__)
    _Float16 x;
    __builtin_memcpy(&x, &h, 2);
    return (float)x;
#else
    uint32_t m = (uint32_t)(h & 0x7fff) << 13, e = m & 0x0f800000, u, s;
    float f;
    u = m + 0x38000000 + (e == 0x0f800000 ? 0x38000000 : 0);
    s = m + 0x38800000;
    __builtin_memcpy(&f, &s, 4);
    f -= 0x1p-14f;
    __builtin_memcpy(&s, &f, 4);
    u = (e ? u : s) | (uint32_t)(h & 0x8000) << 16;
    /* A NaN is quiet, as the processor's own instructions make it. */
    u |= m > 0x0f800000 ? 0x400000 : 0;
    __builtin_memcpy(&f, &u, 4);
    return f;
#endif
}"""
# Float32 to float16, to the nearest, ties to even: what becomes subnormal is rounded by
# the addition of 0.5, whose last bit is worth 2**-24; the rest by that of almost half
# of the bit that will be the last one.
_NARROW_FLOAT16 = """\
static inline uint16_t sp_f16_of_f32(float x) {
#if defined(__aarch64__)
    _Float16 y = (_Float16)x;
    uint16_t h;
    __builtin_memcpy(&h, &y, 2);
    return h;
#else
    uint32_t u, sign, small, large, n;
    float f;
    __builtin_memcpy(&u, &x, 4);
    sign = u & 0x80000000;
    u ^= sign;
    __builtin_memcpy(&f, &u, 4);
    f += 0.5f;
    __builtin_memcpy(&small, &f, 4);
    n = (u + 0xc8000fff + ((u >> 13) & 1)) >> 13;
    n = u < 0x38800000 ? small - 0x3f000000 : n;
    large = u > 0x7f800000 ? 0x7e00 | ((u >> 13) & 0x3ff) : 0x7c00;
    n = u >= 0x47800000 ? large : n;
    return (uint16_t)(n | sign >> 16);
#endif
}"""
_WIDEN_BFLOAT16 = """\
static inline float sp_f32_of_bf16(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    __builtin_memcpy(&f, &u, 4);
    return f;
}"""
_NARROW_BFLOAT16 = """\
static inline uint16_t sp_bf16_of_f32(float x) {
    uint32_t u, n;
    __builtin_memcpy(&u, &x, 4);
    n = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    n = (u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 0x40 : n;
    return (uint16_t)n;
}"""
_SCALARS = {
    ("f16", "f32"): _WIDEN_FLOAT16,
    ("f32", "f16"): _NARROW_FLOAT16,
    ("bf16", "f32"): _WIDEN_BFLOAT16,
    ("f32", "bf16"): _NARROW_BFLOAT16,
}

# Lanes for which a target has an instruction: the macro that says so, the builtin, and
# its call. Builtins, since <immintrin.h> costs more than the rest of a kernel.
_INSTRUCTIONS = {
    ("f16", "f32", 8): (
        "__F16C__",
        "__builtin_ia32_vcvtph2ps256",
        "__builtin_ia32_vcvtph2ps256((sp_i16x8_bits)v)",
    ),
    ("f16", "f32", 16): (
        "__AVX512F__",
        "__builtin_ia32_vcvtph2ps512_mask",
        "__builtin_ia32_vcvtph2ps512_mask("
        "(sp_i16x16_bits)v, (sp_f32x16_bits){0}, -1, 4)",
    ),
    ("f32", "f16", 8): (
        "__F16C__",
        "__builtin_ia32_vcvtps2ph256",
        "__builtin_ia32_vcvtps2ph256((sp_f32x8_bits)v, 0)",
    ),
    ("f32", "f16", 16): (
        "__AVX512F__",
        "__builtin_ia32_vcvtps2ph512_mask",
        "__builtin_ia32_vcvtps2ph512_mask("
        "(sp_f32x16_bits)v, 0, (sp_i16x16_bits){0}, -1)",
    ),
}
_SHIFTS = {
    ("bf16", "f32"): """\
    return ({made})(__builtin_convertvector(v, {words}) << 16);""",
    # A comparison of vectors gives -1 where it holds.
    ("f32", "bf16"): """\
    {words} u = ({words})v, n = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    {words} nan = ({words})((u & 0x7fffffff) > 0x7f800000);
    n = (n & ~nan) | ((u >> 16 | 0x40) & nan);
    return __builtin_convertvector(n, {made});""",
}


def cast_half(operand: str, result: str, lanes: int, arg: str, support: Support) -> str:
    """Return Cython for a conversion between a 16-bit float and float32.

    Raises
    ------
    UnsupportedError
        If neither dtype is float32.
    """
    given, made = c_type(operand), c_type(result)
    source = _SCALARS.get((given.code, made.code))
    if source is None:
        raise UnsupportedError(
            f"expected 16-bit floats to be cast from and to float32, got {operand} "
            f"to {result}"
        )
    scalar = f"sp_{made.code}_of_{given.code}"
    support.define(scalar, source, f"{made.name} {scalar}({given.name} x)")
    if lanes == 1:
        return f"{scalar}({arg})"
    return f"{_vector_helper(operand, result, lanes, scalar, support)}({arg})"


def _vector_helper(
    operand: str, result: str, lanes: int, scalar: str, support: Support
) -> str:
    codes = c_type(operand).code, c_type(result).code
    given, made = support.vector(operand, lanes), support.vector(result, lanes)
    body = _SHIFTS.get(codes)
    if body is not None:
        body = body.format(made=made, words=support.vector("uint32", lanes))
    else:
        body = f"""\
    {made} r;
    for (int k = 0; k < {lanes}; k++) r[k] = {scalar}(v[k]);
    return r;"""
    instruction = _INSTRUCTIONS.get((*codes, lanes))
    if instruction is not None:
        macro, builtin, call = instruction
        _define_bits(lanes, support)
        body = (
            f"#if defined({macro}) && __has_builtin({builtin})\n"
            f"    return ({made}){call};\n#else\n{body}\n#endif"
        )
    name = f"{scalar}x{lanes}"
    return support.define(
        name,
        f"static inline {made} {name}({given} v) {{\n{body}\n}}",
        f"{made} {name}({given} v)",
    )


def _define_bits(lanes: int, support: Support) -> None:
    """Declare the vector types that the instructions' builtins take."""
    for code, element, size in (("i16", "short", 2), ("f32", "float", 4)):
        name = f"sp_{code}x{lanes}_bits"
        support.define(
            name,
            f"typedef {element} {name} __attribute__((vector_size({size * lanes})));",
            f"ctypedef {element} {name}",
        )
