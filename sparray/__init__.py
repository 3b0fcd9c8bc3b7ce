"""Sparse arrays whose format is a list of levels, with kernels compiled to fit.

Importing this loads neither torch nor Cython.
"""

from sparray._kernels.threads import num_threads, set_num_threads
from sparray.convert import (
    array,
    from_buffers,
    from_coords,
    from_scipy,
    from_torch,
)
from sparray.formats.format import Format
from sparray.functions.einsum import (
    Kernel,
    compile,
    compute,
    einsum,
)
from sparray.functions.explain import explain
from sparray.reductions import sum_over as sum
from sparray.sparse_array import SparseArray

__all__ = [
    "Format",
    "Kernel",
    "SparseArray",
    "array",
    "compile",
    "compute",
    "einsum",
    "explain",
    "from_buffers",
    "from_coords",
    "from_scipy",
    "from_torch",
    "num_threads",
    "set_num_threads",
    "sum",
]

__version__ = "0.1.0"
