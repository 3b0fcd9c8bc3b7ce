"""Sparse arrays whose format is a list of levels, with kernels compiled to fit.

Importing this loads next to nothing: what a name stands for is loaded when it is first
used (Scientific Python's SPEC 1, lazy loading of submodules and functions).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparray import io
    from sparray._kernels.memory import release_memory
    from sparray._kernels.threads import num_threads, set_num_threads
    from sparray.compiler.index_notation.monoid import Monoid
    from sparray.compiler.index_notation.semiring import Semiring
    from sparray.convert import (
        array,
        from_buffers,
        from_coords,
        from_scipy,
        from_torch,
    )
    from sparray.formats.format import Format
    from sparray.functions.autotune import Tuning, autotune
    from sparray.functions.compile import (
        Kernel,
        compile,
    )
    from sparray.functions.einsum import compute, einsum
    from sparray.functions.elementwise import (
        abs,
        acos,
        acosh,
        add,
        asin,
        asinh,
        atan,
        atan2,
        atanh,
        bitwise_and,
        bitwise_invert,
        bitwise_left_shift,
        bitwise_or,
        bitwise_right_shift,
        bitwise_xor,
        ceil,
        conj,
        copysign,
        cos,
        cosh,
        divide,
        equal,
        exp,
        exp2,
        expm1,
        floor,
        floor_divide,
        greater,
        greater_equal,
        hypot,
        imag,
        isfinite,
        isinf,
        isnan,
        less,
        less_equal,
        log,
        log1p,
        log2,
        log10,
        logaddexp,
        logical_and,
        logical_not,
        logical_or,
        logical_xor,
        maximum,
        minimum,
        multiply,
        negative,
        nextafter,
        not_equal,
        positive,
        pow,
        real,
        reciprocal,
        relu,
        remainder,
        round,
        sign,
        signbit,
        sin,
        sinh,
        sqrt,
        square,
        subtract,
        tan,
        tanh,
        trunc,
        where,
    )
    from sparray.functions.explain import explain
    from sparray.functions.explanation import Explanation
    from sparray.functions.infer_format import infer_format
    from sparray.functions.precompile import Precompiled, precompile
    from sparray.functions.schedule import Schedule, schedule
    from sparray.io.kinds import load, save
    from sparray.reductions import sum_over as sum
    from sparray.sparse_array import SparseArray
    from sparray.tracing.fused_function import FusedFunction, fuse
    from sparray.tracing.lazy_array import LazyArray, lazy
    from sparray.view.draw import draw
    from sparray.view.spy import spy

__all__ = [
    "Explanation",
    "Format",
    "FusedFunction",
    "Kernel",
    "LazyArray",
    "Monoid",
    "Schedule",
    "Semiring",
    "Precompiled",
    "SparseArray",
    "Tuning",
    "abs",
    "acos",
    "acosh",
    "add",
    "array",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "autotune",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "compile",
    "compute",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "draw",
    "einsum",
    "equal",
    "exp",
    "exp2",
    "explain",
    "expm1",
    "floor",
    "floor_divide",
    "from_buffers",
    "from_coords",
    "from_scipy",
    "from_torch",
    "fuse",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "infer_format",
    "io",
    "isfinite",
    "isinf",
    "isnan",
    "lazy",
    "less",
    "less_equal",
    "load",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "num_threads",
    "positive",
    "pow",
    "precompile",
    "real",
    "reciprocal",
    "release_memory",
    "relu",
    "remainder",
    "round",
    "save",
    "schedule",
    "set_num_threads",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "spy",
    "sqrt",
    "square",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "where",
]

__version__ = "0.1.0"

# Where the names are that are not functions of each element.
_MODULES = {
    "Format": "sparray.formats.format",
    "SparseArray": "sparray.sparse_array",
    "array": "sparray.convert",
    "compute": "sparray.functions.einsum",
    "einsum": "sparray.functions.einsum",
    "from_buffers": "sparray.convert",
    "from_coords": "sparray.convert",
    "from_scipy": "sparray.convert",
    "from_torch": "sparray.convert",
    "num_threads": "sparray._kernels.threads",
    "release_memory": "sparray._kernels.memory",
    "set_num_threads": "sparray._kernels.threads",
    "sum": "sparray.reductions",
    "FusedFunction": "sparray.tracing.fused_function",
    "LazyArray": "sparray.tracing.lazy_array",
    "fuse": "sparray.tracing.fused_function",
    "lazy": "sparray.tracing.lazy_array",
    "Explanation": "sparray.functions.explanation",
    "Kernel": "sparray.functions.compile",
    "Monoid": "sparray.compiler.index_notation.monoid",
    "Semiring": "sparray.compiler.index_notation.semiring",
    "Schedule": "sparray.functions.schedule",
    "Precompiled": "sparray.functions.precompile",
    "Tuning": "sparray.functions.autotune",
    "autotune": "sparray.functions.autotune",
    "compile": "sparray.functions.compile",
    "draw": "sparray.view.draw",
    "explain": "sparray.functions.explain",
    "infer_format": "sparray.functions.infer_format",
    "load": "sparray.io.kinds",
    "precompile": "sparray.functions.precompile",
    "save": "sparray.io.kinds",
    "schedule": "sparray.functions.schedule",
    "spy": "sparray.view.spy",
}


_INNER_NAMES = {"sum": "sum_over"}


def __getattr__(name: str) -> Any:
    if name == "io":
        return import_module("sparray.io")
    if name not in __all__:
        raise AttributeError(f"module 'sparray' has no attribute {name!r}")
    module = import_module(_MODULES.get(name, "sparray.functions.elementwise"))
    found = globals()[name] = getattr(module, _INNER_NAMES.get(name, name))
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
