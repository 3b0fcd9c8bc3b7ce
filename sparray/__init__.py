"""Sparse arrays whose format is a list of levels, with kernels compiled to fit.

Importing this loads neither torch nor Cython.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sparray._kernels.threads import num_threads, set_num_threads
from sparray.convert import (
    array,
    from_buffers,
    from_coords,
    from_scipy,
    from_torch,
)
from sparray.formats.format import Format
from sparray.functions.einsum import compute, einsum
from sparray.reductions import sum_over as sum
from sparray.sparse_array import SparseArray

if TYPE_CHECKING:
    from sparray import io
    from sparray.functions.compile import (
        Kernel,
        compile,
    )
    from sparray.functions.explain import explain
    from sparray.functions.infer_format import infer_format
    from sparray.io.kinds import load, save
    from sparray.view.draw import draw
    from sparray.view.spy import spy

__all__ = [
    "Format",
    "Kernel",
    "SparseArray",
    "array",
    "compile",
    "compute",
    "draw",
    "einsum",
    "explain",
    "from_buffers",
    "from_coords",
    "from_scipy",
    "from_torch",
    "infer_format",
    "io",
    "load",
    "num_threads",
    "save",
    "set_num_threads",
    "spy",
    "sum",
]

__version__ = "0.1.0"

# These bring in the whole compiler, which a warm call does not need.
_LAZY = {
    "Kernel": "sparray.functions.compile",
    "compile": "sparray.functions.compile",
    "draw": "sparray.view.draw",
    "explain": "sparray.functions.explain",
    "infer_format": "sparray.functions.infer_format",
    "load": "sparray.io.kinds",
    "save": "sparray.io.kinds",
    "spy": "sparray.view.spy",
}


def __getattr__(name: str) -> Any:
    if name == "io":
        return import_module("sparray.io")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'sparray' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
