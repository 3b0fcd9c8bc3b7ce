"""Seeded operands, made of the same buffers for each library."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

import sparray as sp

__all__ = [
    "THREADS",
    "dense",
    "random_tensor",
    "scipy_csr",
    "torch_csr",
    "uniform_csr",
    "use_threads",
]

THREADS = 2
_LINE = 64
"""Bytes of a cache line."""


def use_threads() -> None:
    """Let sparray and torch use the same number of threads."""
    import torch

    sp.set_num_threads(THREADS)
    torch.set_num_threads(THREADS)


def uniform_csr(
    size: int, per_row: int, dtype: str = "float32", seed: int = 0
) -> sp.SparseArray:
    """Return a CSR array, size × size, with ``per_row`` random columns in each row.

    Columns are drawn evenly, distinct and ascending; indices are int32.
    """
    rng = np.random.default_rng((seed, size, per_row))
    columns = np.sort(rng.integers(0, size, (size, per_row), dtype=np.int32), axis=1)
    while (repeated := np.diff(columns, axis=1, prepend=np.int32(-1)) == 0).any():
        columns[repeated] = rng.integers(0, size, repeated.sum(), dtype=np.int32)
        columns.sort(axis=1)
    pos = np.arange(0, size * per_row + 1, per_row, dtype=np.int32)
    values = rng.standard_normal(size * per_row).astype(dtype)
    levels = [{}, {"pos": pos, "crd": columns.reshape(-1)}]
    return sp.from_buffers("csr", (size, size), levels, values)


def dense(*shape: int, dtype: str = "float32", seed: int = 1) -> npt.NDArray[Any]:
    """Return a dense array of normally distributed values.

    It begins where a cache line does, as torch's tensors do.
    """
    values = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    memory = np.empty(values.nbytes + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    made = memory[start : start + values.nbytes].view(dtype).reshape(shape)
    made[...] = values
    return made


def random_tensor(
    shape: tuple[int, int, int], entries: int, dtype: str = "float64", seed: int = 2
) -> sp.SparseArray:
    """Return a 3-D CSF array with about ``entries`` entries at random coordinates."""
    rng = np.random.default_rng(seed)
    coords = np.stack([rng.integers(0, extent, entries) for extent in shape])
    values = rng.standard_normal(entries).astype(dtype)
    return sp.from_coords(coords, values, shape, "csf")


def scipy_csr(array: sp.SparseArray) -> Any:
    """Return SciPy's array of the same buffers, which it believes to be canonical."""
    import scipy.sparse

    level = array.levels[1]
    made = scipy.sparse.csr_array(
        (array.values, level["crd"], level["pos"]), shape=array.shape
    )
    made.has_canonical_format = True
    return made


def torch_csr(array: sp.SparseArray) -> Any:
    """Return torch's tensor of the same buffers, int32 indices included."""
    import torch

    level = array.levels[1]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is in beta state")
        return torch.sparse_csr_tensor(
            torch.from_numpy(level["pos"].copy()),
            torch.from_numpy(level["crd"].copy()),
            torch.from_numpy(array.values),
            size=array.shape,
            check_invariants=False,
        )
