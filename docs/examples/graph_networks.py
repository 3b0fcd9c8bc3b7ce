"""GCN, GraphSAGE and GAT on citation graphs.

    python docs/examples/graph_networks.py ../shared/data/graphs/cora.npz

Sources: Kipf & Welling 2017; Hamilton et al. 2017; Veličković et al. 2018.
"""

import argparse
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout, elu, leaky_relu

import sparray.torch as spt
from sparray.demo.graphs import load_graph

EDGES_BY_HEAD = "(i, j, h) -> (i: dense, j: compressed, h: dense)"


class GCN(nn.Module):
    """``A X W + b``, twice; A is the normalised adjacency with self-loops."""

    def __init__(self, adjacency, n_features, n_classes, n_hidden=16):
        super().__init__()
        self.adjacency = adjacency
        self.weights = nn.ParameterList(
            [glorot(n_features, n_hidden), glorot(n_hidden, n_classes)]
        )
        self.biases = nn.ParameterList([torch.zeros(n_hidden), torch.zeros(n_classes)])

    def forward(self, x):
        x = dropout(x, 0.5, self.training)
        x = torch.relu(self.adjacency @ (x @ self.weights[0]) + self.biases[0])
        x = dropout(x, 0.5, self.training)
        return self.adjacency @ (x @ self.weights[1]) + self.biases[1]


class GraphSAGE(nn.Module):
    """``X V + mean(X of the neighbours) W + b``, twice."""

    def __init__(self, adjacency, n_features, n_classes, n_hidden=16):
        super().__init__()
        ones = adjacency.with_values(torch.ones(adjacency.nnz))
        self.mean = spt.compute("M[i,j] = A[i,j] / d[i]", A=ones, d=ones.sum(1))
        widths = (n_features, n_hidden), (n_hidden, n_classes)
        self.own = nn.ParameterList([glorot(*w) for w in widths])
        self.others = nn.ParameterList([glorot(*w) for w in widths])
        self.bias = nn.Parameter(torch.zeros(n_classes))

    def forward(self, x):
        x = dropout(x, 0.5, self.training)
        x = torch.relu(x @ self.own[0] + self.mean @ (x @ self.others[0]))
        x = dropout(x, 0.5, self.training)
        return x @ self.own[1] + self.mean @ (x @ self.others[1]) + self.bias


class GAT(nn.Module):
    """Each edge is weighted by a softmax of scores over a node's neighbours."""

    def __init__(self, adjacency, n_features, n_classes, n_hidden=8, n_heads=8):
        super().__init__()
        self.edges = adjacency.with_values(torch.ones(adjacency.nnz))
        self.first = Attention(n_features, n_hidden, n_heads)
        self.second = Attention(n_hidden * n_heads, n_classes, 1)

    def forward(self, x):
        x = dropout(x, 0.6, self.training)
        x = elu(self.first(self.edges, x).flatten(1))
        x = dropout(x, 0.6, self.training)
        return self.second(self.edges, x).mean(1)


class Attention(nn.Module):
    """One layer of GAT, all heads at once."""

    def __init__(self, n_in, n_out, n_heads):
        super().__init__()
        self.shape = n_heads, n_out
        self.weight = glorot(n_in, n_heads * n_out)
        self.target, self.source = glorot(n_heads, n_out), glorot(n_heads, n_out)
        self.bias = nn.Parameter(torch.zeros(n_heads, n_out))

    def forward(self, edges, x):
        x = (x @ self.weight).unflatten(1, self.shape)
        scores = spt.compute(
            "S[i,j,h] = E[i,j] * (s[i,h] + t[j,h])",
            E=edges,
            s=(x * self.target).sum(2),
            t=(x * self.source).sum(2),
            format=EDGES_BY_HEAD,
        )
        shares = torch.softmax(leaky_relu(scores, 0.2), 1)
        shares = dropout(shares, 0.6, self.training)
        x = dropout(x, 0.6, self.training)
        made = spt.compute("Y[i,h,f] = P[i,j,h] * X[j,h,f]", P=shares, X=x)
        return made + self.bias


def glorot(*shape):
    """Return a parameter with Glorot and Bengio's uniform weights."""
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(*shape)))


NETWORKS = {"GCN": GCN, "GraphSAGE": GraphSAGE, "GAT": GAT}


def main(path, name, epochs=100, seed=0, lr=0.01, weight_decay=5e-4, **widths):
    """Train a network on a graph; return its accuracy on the test nodes."""
    torch.manual_seed(seed)
    graph = load_graph(Path(path))
    adjacency, x = (spt.as_tensor(a) for a in (graph.adjacency, graph.features))
    labels, train, test = map(torch.from_numpy, (graph.labels, graph.train, graph.test))
    network = NETWORKS[name](adjacency, x.shape[1], graph.n_classes, **widths)
    optimizer = torch.optim.Adam(network.parameters(), lr=lr, weight_decay=weight_decay)
    for _ in range(epochs):
        optimizer.zero_grad()
        cross_entropy(network(x)[train], labels[train]).backward()
        optimizer.step()
    with torch.no_grad():
        guesses = network.eval()(x).argmax(1)
    return (guesses == labels)[test].float().mean().item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("graph", help="an .npz file of ../shared/data/graphs")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in NETWORKS:
        print(f"{name}: test accuracy {main(given.graph, name, seed=given.seed):.3f}")
