"""Graphs to train on: digits that look alike, or one from a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from sparray.convert import from_buffers, from_coords, from_dense
from sparray.errors import InvalidBufferError, SettingError, SparrayError
from sparray.functions.einsum import compute
from sparray.sparse_array import SparseArray

__all__ = ["Graph", "digits_graph", "load_graph", "normalized"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """A graph whose nodes have features and, some of them, labels.

    Attributes
    ----------
    name : str
        For messages.
    adjacency : SparseArray, float32[n, n]
        Normalised, with self-loops.
    features : SparseArray or ndarray, float32[n, m]
        Of each node.
    labels : int64[n]
        Class of each node, -1 where it is not known.
    train, test : int64[...]
        Nodes to learn from, and to be tested on.
    """

    name: str
    adjacency: SparseArray
    features: SparseArray | npt.NDArray[np.float32]
    labels: Ints
    train: Ints
    test: Ints

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.labels.max()) + 1


def normalized(sources: Ints, targets: Ints, n_nodes: int) -> SparseArray:
    """Return the normalised adjacency of an undirected graph.

    Parameters
    ----------
    sources, targets : int64[n_edges]
        The ends of each edge, in either direction or in both, once or more often.
    n_nodes : int
        Number of nodes.

    Returns
    -------
    SparseArray, float32[n_nodes, n_nodes]
        ``D^-1/2 (A + I) D^-1/2`` in csr, where D has the degrees with self-loops.

    Notes
    -----
    **Source**: Kipf & Welling 2017, "Semi-supervised classification with graph
    convolutional networks", section 2.1.
    """
    loops = np.arange(n_nodes)
    rows = np.concatenate([sources, targets, loops])
    columns = np.concatenate([targets, sources, loops])
    edges = from_coords(
        np.array([rows, columns]),
        np.ones(len(rows), np.float32),
        (n_nodes, n_nodes),
        format="csr",
    )
    edges.values[:] = 1
    scale = (1 / np.sqrt(edges.sum(1))).astype(np.float32)
    made = compute("N[i,j] = d[i] * A[i,j] * d[j]", A=edges, d=scale)
    if not isinstance(made, SparseArray):
        raise SparrayError("expected a sparse adjacency, got a dense one")
    return made


def digits_graph(seed: int, n_neighbours: int = 8, n_labels: int = 5) -> Graph:
    """Return the graph of scikit-learn's digits, each joined to those most like it.

    Parameters
    ----------
    seed : int
        Chooses the nodes whose labels are learnt from.
    n_neighbours : int
        How many others each digit is joined to, itself apart.
    n_labels : int
        How many labels of each class are known.

    Notes
    -----
    1,797 images of 8 by 8; the rest of the nodes are the test.
    """
    from sklearn.datasets import load_digits
    from sklearn.neighbors import NearestNeighbors

    digits = load_digits()
    features = (digits.data / 16).astype(np.float32)
    labels = digits.target.astype(np.int64)
    search = NearestNeighbors(n_neighbors=n_neighbours).fit(features)
    # Without an argument: the neighbours of each node, itself not among them.
    targets = search.kneighbors(return_distance=False)
    n_nodes = len(features)
    sources = np.repeat(np.arange(n_nodes), n_neighbours)
    adjacency = normalized(sources, targets.reshape(-1).astype(np.int64), n_nodes)
    rng = np.random.default_rng(seed)
    train = np.sort(
        np.concatenate(
            [
                rng.choice(np.flatnonzero(labels == label), n_labels, replace=False)
                for label in np.unique(labels)
            ]
        )
    )
    test = np.setdiff1d(np.arange(n_nodes), train)
    name = f"digits, joined to the {n_neighbours} most alike"
    return Graph(name, adjacency, features, labels, train, test)


def load_graph(path: Path) -> Graph:
    """Load a graph from a NumPy archive.

    Parameters
    ----------
    path : Path
        An ``.npz`` file without pickles: ``adj_indptr``, ``adj_indices``,
        ``adj_shape`` of a csr matrix, ``feat_data``, ``feat_indices``,
        ``feat_indptr``, ``feat_shape`` of another, ``labels``, ``idx_train`` and
        ``idx_test``.

    Returns
    -------
    Graph
        Features are divided by the sum of their row.

    Raises
    ------
    SettingError
        If the file cannot be read, or lacks an array.
    InvalidBufferError
        If an array in it is malformed.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise SettingError(
            f"graph: expected a NumPy archive without pickles, got {path} ({error})"
        ) from error
    try:
        edges = _matrix(arrays, "adj")
        features = _matrix(arrays, "feat")
        labels, train, test = (
            _integers(arrays, name) for name in ("labels", "idx_train", "idx_test")
        )
    except KeyError as error:
        raise SettingError(
            f"graph: expected an array {error} in {path}, got "
            f"{', '.join(arrays) or 'none'}"
        ) from None
    n_nodes = edges.shape[0]
    _check_nodes(path, n_nodes, edges.shape[1], len(labels), train, test)
    (sources, targets), _ = edges.to_coords()
    adjacency = normalized(sources, targets, n_nodes)
    return Graph(path.stem, adjacency, _by_row(features), labels, train, test)


def _matrix(arrays: dict[str, npt.NDArray[Any]], name: str) -> SparseArray:
    levels = [
        {},
        {"pos": arrays[f"{name}_indptr"], "crd": arrays[f"{name}_indices"]},
    ]
    values = arrays[f"{name}_data"].astype(np.float32)
    shape = tuple(int(extent) for extent in arrays[f"{name}_shape"])
    if len(shape) != 2:
        raise InvalidBufferError(
            f"graph: expected 2 extents in {name}_shape, got {shape}"
        )
    return from_buffers(
        "(i, j) -> (i: dense, j: compressed(unordered))", shape, levels, values
    ).to_format("csr")


def _integers(arrays: dict[str, npt.NDArray[Any]], name: str) -> Ints:
    given = arrays[name]
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise InvalidBufferError(
            f"graph: expected a vector of integers in {name}, got {given.dtype} of "
            f"shape {given.shape}"
        )
    return given.astype(np.int64)


def _by_row(features: SparseArray) -> SparseArray:
    """Divide each row by its sum, a row of zeros by 1."""
    sums = np.asarray(features.sum(1), np.float32)
    scale = (1 / np.where(sums == 0, 1, sums)).astype(np.float32)
    made = compute("F[i,j] = X[i,j] * s[i]", X=features, s=scale)
    return made if isinstance(made, SparseArray) else from_dense(made)


def _check_nodes(
    path: Path, n_nodes: int, n_columns: int, n_labels: int, *groups: Ints
) -> None:
    wrong = n_columns != n_nodes or n_labels != n_nodes
    if wrong or any(g.size and not 0 <= g.min() <= g.max() < n_nodes for g in groups):
        raise InvalidBufferError(
            f"graph: expected a square adjacency, and labels and indices of its nodes "
            f"in {path}, got {n_nodes} by {n_columns} with {n_labels} labels"
        )
