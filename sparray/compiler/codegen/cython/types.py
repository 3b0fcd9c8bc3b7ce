"""How each dtype, pointer and vector is called in generated code."""

from sparray.errors import UnsupportedError
from sparray.records import dataclass

__all__ = [
    "CType",
    "c_type",
    "pointer_name",
    "scalar_parameter",
    "type_name",
    "vector_name",
]


@dataclass(frozen=True, slots=True)
class CType:
    """One dtype in C.

    Attributes
    ----------
    code : str
        Short name, the suffix of helpers (``"f32"``).
    name : str
        The scalar type, valid in C and in Cython.
    kind : str
        ``"bool"``, ``"int"``, ``"uint"``, ``"half"``, ``"float"`` or ``"complex"``.
        A half is the bits of a 16-bit float, with which nothing is computed.
    size : int
        Bytes of one element.
    """

    code: str
    name: str
    kind: str
    size: int

    @property
    def narrow(self) -> bool:
        """Whether C computes in ``int`` instead, so that results need a cast."""
        return self.kind in ("int", "uint", "bool") and self.size < 4


_TYPES = {
    "bool": CType("b8", "uint8_t", "bool", 1),
    "int8": CType("i8", "int8_t", "int", 1),
    "int16": CType("i16", "int16_t", "int", 2),
    "int32": CType("i32", "int32_t", "int", 4),
    "int64": CType("i64", "int64_t", "int", 8),
    "uint8": CType("u8", "uint8_t", "uint", 1),
    "uint16": CType("u16", "uint16_t", "uint", 2),
    "uint32": CType("u32", "uint32_t", "uint", 4),
    "uint64": CType("u64", "uint64_t", "uint", 8),
    "float16": CType("f16", "uint16_t", "half", 2),
    "bfloat16": CType("bf16", "uint16_t", "half", 2),
    "float32": CType("f32", "float", "float", 4),
    "float64": CType("f64", "double", "float", 8),
    "complex64": CType("c64", "sp_c64", "complex", 8),
    "complex128": CType("c128", "sp_c128", "complex", 16),
}


def c_type(dtype: str) -> CType:
    """Return what a dtype is in C.

    Raises
    ------
    UnsupportedError
        If generated code has no such type.
    """
    try:
        return _TYPES[dtype]
    except KeyError:
        raise UnsupportedError(
            f"expected a dtype of generated code, one of {', '.join(_TYPES)}; "
            f"got {dtype!r}"
        ) from None


def vector_name(dtype: str, lanes: int) -> str:
    """Return the name of a vector type (``"sp_f32x16"``)."""
    return f"sp_{c_type(dtype).code}x{lanes}"


def type_name(dtype: str, lanes: int) -> str:
    """Return the type of a local variable."""
    return c_type(dtype).name if lanes == 1 else vector_name(dtype, lanes)


def pointer_name(dtype: str, *, writable: bool) -> str:
    """Return the type of a buffer parameter (``"sp_in_f32"``), a restrict pointer."""
    return f"sp_{'out' if writable else 'in'}_{c_type(dtype).code}"


def scalar_parameter(dtype: str) -> tuple[str, str]:
    """Return how an entry point takes a scalar.

    Returns
    -------
    tuple of str
        Its kind, as the module's ``sp_unpack`` reads it, and the member of an
        ``sp_argument`` that holds it.
    """
    kind = c_type(dtype).kind
    if kind == "complex":
        raise UnsupportedError(
            f"expected a real scalar parameter of a kernel, got dtype {dtype}"
        )
    return ("d", "real") if kind == "float" else ("n", "number")
