"""Operands for `search`: real matrices and tensors, and shapes that schedulers miss.

Real ones are named by a file of the data folder (``--data``), whose ``MANIFEST.tsv``
says where each comes from. Synthetic ones are drawn from fixed seeds.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

import sparray as sp

__all__ = ["MATRICES", "TENSORS", "load_input"]

Coordinates = npt.NDArray[np.int64]
Drawn = tuple[Coordinates, tuple[int, ...]]

DTYPE = "float32"


def power_law(ndim: int) -> Drawn:
    """Return coordinates that few rows have most of."""
    rng, n = np.random.default_rng(1), 5000
    coords = np.minimum(rng.zipf(1.6, (ndim, 60_000)) - 1, n - 1)
    return coords, (n,) * ndim


def banded(ndim: int) -> Drawn:
    """Return coordinates near the diagonal."""
    rng, n = np.random.default_rng(2), 8000
    rows = np.arange(n).repeat(9)
    offsets = rng.integers(-8, 9, (ndim - 1, len(rows)))
    return np.concatenate([rows[None], np.clip(rows + offsets, 0, n - 1)]), (n,) * ndim


def hypersparse(ndim: int) -> Drawn:
    """Return far fewer coordinates than there are rows."""
    rng, n = np.random.default_rng(3), 200_000
    return rng.integers(0, n, (ndim, 4000)), (n,) * ndim


def dense_row(ndim: int) -> Drawn:
    """Return a row with an entry in each column, among rows of a few entries."""
    rng, n = np.random.default_rng(4), 6000
    rows = np.concatenate([np.arange(n).repeat(4), np.full(n, 17)])
    others = [
        np.concatenate([rng.integers(0, n, 4 * n), rng.permutation(n)])
        for _ in range(ndim - 1)
    ]
    return np.stack([rows, *others]), (n,) * ndim


SYNTHETIC: dict[str, Callable[[int], Drawn]] = {
    function.__name__: function
    for function in (power_law, banded, hypersparse, dense_row)
}

MATRICES = (
    "mtx/bcsstk16.mtx.gz",
    "mtx/PGPgiantcompo.mtx",
    "mtx/lp_80bau3b.mtx.gz",
    "mtx/rajat01.mtx.gz",
    "mtx/franz6.mtx.gz",
    "mtx/cryg2500.mtx.gz",
    *SYNTHETIC,
)
TENSORS = (
    "tensors/nations.tns",
    "tensors/parti_3D_12031_with_header.tns.gz",
    "tensors/fb15k237.tns.gz",
    "tensors/wn18rr.tns.gz",
    "tensors/JF17K_3.tns.gz",
    "tensors/WikiPeople_3.tns.gz",
    *SYNTHETIC,
)


def load_input(name: str, ndim: int, data: Path) -> sp.SparseArray:
    """Return an input as CSR or CSF of float32; DCSR where most rows are empty.

    A tensor with more dimensions than asked for is one without its first ones; entries
    that coincide then are added up.
    """
    if name in SYNTHETIC:
        coords, shape = SYNTHETIC[name](ndim)
        values = np.random.default_rng(0).standard_normal(coords.shape[1])
    else:
        loaded = sp.load(data / name)
        found, values = loaded.to_coords()
        coords, shape = found[-ndim:], loaded.shape[-ndim:]
    format = "csf" if ndim > 2 else "csr"
    if ndim == 2 and coords.shape[1] < shape[0] // 8:
        format = "dcsr"
    return sp.from_coords(
        coords, np.real(values).astype(DTYPE), shape, format, duplicates="sum"
    )
