"""Sparse arrays whose format is a list of levels, with kernels compiled to fit.

Importing this loads next to nothing: what a name stands for is loaded when it is first
used (Scientific Python's SPEC 1, lazy loading of submodules and functions). Type
checkers read `__init__.pyi`; a test compares the two.
"""

from importlib import import_module
from typing import Any

from sparray.collection import collection_paused

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

# The public names by the module that has them.
_NAMES = {
    "numpy": (
        "bool complex128 complex64 e float32 float64 inf int16 int32 int64 int8 nan "
        "newaxis pi uint16 uint32 uint64 uint8"
    ),
    "sparray._kernels.memory": "release_memory",
    "sparray._kernels.threads": "num_threads set_num_threads",
    "sparray.compiler.index_notation.monoid": "Monoid",
    "sparray.compiler.index_notation.semiring": "Semiring",
    "sparray.convert": "array from_buffers from_coords from_scipy from_torch",
    "sparray.densifying": "allow_dense",
    "sparray.formats.format": "Format",
    "sparray.functions.alike": "empty_like full_like ones_like zeros_like",
    "sparray.functions.autotune": "autotune ProgramTuning Tuning",
    "sparray.functions.clip": "clip",
    "sparray.functions.closeness": "allclose array_equal isclose",
    "sparray.functions.compile": "compile Kernel",
    "sparray.functions.creation": "asarray empty eye from_dlpack full ones zeros",
    "sparray.functions.data_types": (
        "astype can_cast finfo FloatInfo iinfo isdtype result_type"
    ),
    "sparray.functions.differences": "diff",
    "sparray.functions.einsum": "compute einsum",
    "sparray.functions.elementwise": (
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert "
        "bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil conj "
        "copysign cos cosh divide equal exp exp2 expm1 floor floor_divide greater "
        "greater_equal hypot imag isfinite isinf isnan less less_equal log log10 "
        "log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum "
        "minimum multiply negative nextafter not_equal positive pow real reciprocal "
        "relu remainder round sign signbit sin sinh sqrt square subtract tan tanh "
        "trunc where"
    ),
    "sparray.functions.explain": "explain",
    "sparray.functions.explanation": "Explanation",
    "sparray.functions.indexing.along_axis": "take_along_axis",
    "sparray.functions.indexing.diagonals": "diag diagonal diags",
    "sparray.functions.indexing.take": "take",
    "sparray.functions.infer_format": "infer_format",
    "sparray.functions.linear_algebra.norms": "matrix_transpose",
    "sparray.functions.linear_algebra.products": "kron matmul tensordot vecdot",
    "sparray.functions.manipulation.dimensions": (
        "expand_dims flip moveaxis permute_dims roll squeeze"
    ),
    "sparray.functions.manipulation.joining": (
        "block block_diag concat hstack stack unstack vstack"
    ),
    "sparray.functions.manipulation.repeating": "pad repeat tile",
    "sparray.functions.manipulation.shapes": (
        "broadcast_arrays broadcast_shapes broadcast_to reshape"
    ),
    "sparray.functions.meshgrid": "meshgrid",
    "sparray.functions.nan_values": "nan_to_num",
    "sparray.functions.ordering": "sort",
    "sparray.functions.precompile": "precompile Precompiled",
    "sparray.functions.pruning": "prune",
    "sparray.functions.random_arrays": "random",
    "sparray.functions.ranges": "arange linspace",
    "sparray.functions.reductions.moments": "mean std var",
    "sparray.functions.reductions.nans": (
        "nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar"
    ),
    "sparray.functions.reductions.positions": "argmax argmin",
    "sparray.functions.reductions.running": "cumulative_prod cumulative_sum",
    "sparray.functions.reductions.totals": "all any count_nonzero max min prod sum",
    "sparray.functions.schedule": "Schedule schedule",
    "sparray.functions.searching": "nonzero searchsorted",
    "sparray.functions.sets": (
        "isin unique_all unique_counts unique_inverse unique_values"
    ),
    "sparray.functions.triangles": "tril triu",
    "sparray.io.kinds": "load save",
    "sparray.sparse_array": "SparseArray",
    "sparray.tracing.fused_function": "fuse FusedFunction",
    "sparray.tracing.lazy_array": "lazy LazyArray",
    "sparray.view.draw": "draw",
    "sparray.view.spy": "spy",
}

# Subpackages that are names too.
_PACKAGES = ("io", "linalg")

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_MODULES, *_PACKAGES])


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"sparray.{name}")
    if name == "__array_namespace_info__":
        return _info()
    if name not in _MODULES:
        raise _missing(name)
    with collection_paused():
        module = import_module(_MODULES[name])
    found = globals()[name] = getattr(module, name)
    return found


def _info() -> Any:
    from sparray.functions.namespace_info import array_namespace_info

    return array_namespace_info


def _missing(name: str) -> AttributeError:
    """Return the error of a name that there is none of, with the reason if known."""
    message = f"module 'sparray' has no attribute {name!r}"
    if not name.startswith("_"):
        from sparray.errors import MissingNameError
        from sparray.functions.standard import REFUSED

        if name in REFUSED:
            return MissingNameError(f"{message}: {REFUSED[name]}")
    return AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
