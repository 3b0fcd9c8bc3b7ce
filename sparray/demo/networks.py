"""A graph convolutional network, the same for every kind of matrix."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import sparray.torch as spt
from sparray.demo.graphs import Graph
from sparray.sparse_array import SparseArray

__all__ = ["CONTESTANTS", "Contestant", "GraphNetwork"]


class GraphNetwork(nn.Module):
    """Two graph convolutions: ``A relu(A X W1 + b1) W2 + b2``.

    Parameters
    ----------
    adjacency : torch.Tensor, float32[n, n]
        Sparse in any way that ``@`` takes, or dense.
    features : torch.Tensor, float32[n, m]
        Likewise.
    n_classes, n_hidden : int
        Width of the output and of the layer before it.
    dropout : float
        Share of the features, and of the hidden units, that a step leaves out.

    Notes
    -----
    **Source**: Kipf & Welling 2017, section 3.
    """

    def __init__(
        self,
        adjacency: Tensor,
        features: Tensor,
        n_classes: int,
        n_hidden: int = 16,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.adjacency = adjacency
        self.features = features
        self.dropout = dropout
        self.weight1 = nn.Parameter(torch.empty(features.shape[1], n_hidden))
        self.bias1 = nn.Parameter(torch.zeros(n_hidden))
        self.weight2 = nn.Parameter(torch.empty(n_hidden, n_classes))
        self.bias2 = nn.Parameter(torch.zeros(n_classes))
        nn.init.xavier_uniform_(self.weight1)
        nn.init.xavier_uniform_(self.weight2)

    def forward(self) -> Tensor:
        """Return the score of each class for each node."""
        features = _dropped(self.features, self.dropout, self.training)
        hidden = self.adjacency @ (features @ self.weight1) + self.bias1
        hidden = functional.dropout(torch.relu(hidden), self.dropout, self.training)
        scores: Tensor = self.adjacency @ (hidden @ self.weight2) + self.bias2
        return scores


def _dropped(features: Tensor, dropout: float, training: bool) -> Tensor:
    if features.layout != torch.sparse_csr:
        return functional.dropout(features, dropout, training)
    # Torch has no dropout of its sparse tensors.
    return torch.sparse_csr_tensor(
        features.crow_indices(),
        features.col_indices(),
        functional.dropout(features.values(), dropout, training),
        features.shape,
        check_invariants=False,
    )


@dataclass(frozen=True)
class Contestant:
    """A way to hold the matrices of the network.

    Attributes
    ----------
    name : str
        For the table.
    is_dense : bool
        Whether it needs memory for every pair of nodes.
    hold : callable
        Makes the tensor of a matrix; gets the name of sparray's format too.
    """

    name: str
    is_dense: bool
    hold: Callable[[SparseArray, str], Tensor]

    def network(self, graph: Graph, format: str) -> GraphNetwork:
        """Return a new network on a graph."""
        features = (
            self.hold(graph.features, "csr")
            if isinstance(graph.features, SparseArray)
            else torch.from_numpy(np.array(graph.features))
        )
        adjacency = self.hold(graph.adjacency, format)
        return GraphNetwork(adjacency, features, graph.n_classes)


CONTESTANTS = (
    Contestant("sparray", False, lambda array, format: spt.as_tensor(array, format)),
    Contestant(
        "torch.sparse CSR", False, lambda array, format: array.to_torch(copy=True)
    ),
    Contestant("dense", True, lambda array, format: torch.from_numpy(array.todense())),
)
