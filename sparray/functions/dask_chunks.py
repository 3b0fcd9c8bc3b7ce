"""What Dask asks of chunks that are sparse arrays.

Dask looks functions up by the type of a chunk. Those that NumPy's protocols answer need
no entry; what is registered is of the rest. Nothing here imports Dask: it is registered
when Dask first sees an array, to name it, to send it or to compute with it, and so is
loaded already.
"""

import sys
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

__all__ = ["register", "token"]

_registered: set[int] = set()


def register() -> bool:
    """Register sparse chunks with Dask, and functions of them, if Dask is loaded.

    Returns
    -------
    bool
        Whether there was something to register.

    Notes
    -----
    ``concatenate``, ``take``, ``tensordot`` and ``einsum`` are sparray's. ``numel`` is
    how many elements there are, dense; ``nannumel`` how many numbers.
    """
    lookups = sys.modules.get("dask.array.dispatch")
    loaded = hasattr(sys.modules.get("dask.array"), "register_chunk_type")
    if lookups is None or not loaded or id(lookups) in _registered:
        return False
    from sparray.functions.indexing.take import take
    from sparray.functions.linear_algebra.products import tensordot
    from sparray.functions.manipulation.joining import concat
    from sparray.sparse_array import SparseArray

    lookups.concatenate_lookup.register(SparseArray, concat)
    lookups.take_lookup.register(SparseArray, take)
    lookups.tensordot_lookup.register(SparseArray, tensordot)
    lookups.einsum_lookup.register(SparseArray, np.einsum)
    lookups.numel_lookup.register(SparseArray, _numel)
    lookups.nannumel_lookup.register(SparseArray, _nannumel)
    sys.modules["dask.array"].register_chunk_type(SparseArray)
    _registered.add(id(lookups))
    return True


def token(array: "SparseArray") -> tuple[Any, ...]:
    """Return what tells an array from others, for Dask to hash."""
    register()
    format, shape, levels, values, fill = array.__reduce__()[1]
    buffers = [[level[role] for role in sorted(level)] for level in levels]
    return "sparray", str(format), shape, buffers, values, fill


def _numel(
    x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = np.float64
) -> Any:
    """Return how many elements there are along axes."""
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis).tolist()
    count = np.asarray(np.prod([x.shape[n] for n in axes], dtype=dtype), dtype)
    shape = [1 if n in axes else e for n, e in enumerate(x.shape)]
    kept = shape if keepdims else [e for n, e in enumerate(x.shape) if n not in axes]
    # One number, seen from each place.
    return np.broadcast_to(count, tuple(kept))[()]


def _nannumel(x: Any, **options: Any) -> Any:
    """Return how many numbers there are along axes."""
    return cast(Any, np.logical_not(np.isnan(x))).sum(**options)
