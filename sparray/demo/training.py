"""Train the same network on several kinds of matrix, one epoch of each in turn."""

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import functional

from sparray.demo.graphs import Graph
from sparray.demo.networks import CONTESTANTS, Contestant, GraphNetwork

__all__ = ["Run", "train"]

DENSE_LIMIT_BYTES = 1 << 30

# The others are timed for so long at most; sparray runs every epoch.
OTHERS_BUDGET_S = 25.0


@dataclass
class Run:
    """One contestant's training.

    Attributes
    ----------
    contestant : Contestant
        What holds the matrices.
    epochs_s : list of float
        Seconds of each epoch.
    accuracy : float or None
        On the test nodes; None if it did not run every epoch.
    loss : float
        Of the last epoch.
    """

    contestant: Contestant
    network: GraphNetwork
    optimizer: torch.optim.Optimizer
    epochs_s: list[float] = field(default_factory=list)
    accuracy: float | None = None
    loss: float = float("nan")

    @property
    def epoch_s(self) -> float:
        """Median time of an epoch, in seconds."""
        return statistics.median(self.epochs_s)

    def step(self, graph: Graph) -> None:
        """Run one epoch and keep its time."""
        start = time.perf_counter()
        train = torch.from_numpy(graph.train)
        labels = torch.from_numpy(graph.labels)
        self.network.train()
        self.optimizer.zero_grad()
        loss = functional.cross_entropy(self.network()[train], labels[train])
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.loss = loss.item()
        self.epochs_s.append(time.perf_counter() - start)

    @torch.no_grad()
    def test(self, graph: Graph) -> None:
        """Measure the accuracy on the test nodes."""
        self.network.eval()
        test = torch.from_numpy(graph.test)
        guesses = self.network().argmax(1)[test]
        right = guesses == torch.from_numpy(graph.labels)[test]
        self.accuracy = right.float().mean().item()


def train(
    graph: Graph,
    epochs: int = 200,
    seed: int = 0,
    format: str = "csr",
    contestants: Iterable[Contestant] = CONTESTANTS,
    progress: Callable[[range], Iterable[int]] = iter,
    report: Callable[[str], None] = lambda text: None,
) -> list[Run]:
    """Train each contestant's network on a graph.

    Parameters
    ----------
    graph : Graph
        What to learn.
    epochs : int
        How many steps; each is taken on all training nodes.
    seed : int
        Of the initial weights and of dropout.
    format : str
        Of sparray's adjacency.
    contestants : iterable of Contestant
        The first one runs every epoch, another one as long as its time lasts.
    progress : callable
        Wraps the range of epochs, as tqdm does.
    report : callable
        Is told after each epoch how it went.

    Returns
    -------
    list of Run
        Without a dense contestant whose matrix would be larger than 1 GiB.

    Notes
    -----
    Adam with a rate of 0.01 and a weight decay of 5e-4 on the first layer.
    """
    n_nodes = graph.adjacency.shape[0]
    runs = []
    for contestant in contestants:
        if contestant.is_dense and 4 * n_nodes**2 > DENSE_LIMIT_BYTES:
            continue
        torch.manual_seed(seed)
        network = contestant.network(graph, format)
        runs.append(Run(contestant, network, _optimizer(network)))
    for epoch in progress(range(epochs)):
        for run in runs:
            if run is runs[0] or sum(run.epochs_s) < OTHERS_BUDGET_S:
                run.step(graph)
        report(f"loss {runs[0].loss:.3f}, epoch {epoch + 1}")
    for run in runs:
        if len(run.epochs_s) == epochs:
            run.test(graph)
    return runs


def _optimizer(network: GraphNetwork) -> torch.optim.Optimizer:
    first = [network.weight1, network.bias1]
    second = [network.weight2, network.bias2]
    groups: list[dict[str, Any]] = [
        {"params": first, "weight_decay": 5e-4},
        {"params": second},
    ]
    return torch.optim.Adam(groups, lr=0.01)
