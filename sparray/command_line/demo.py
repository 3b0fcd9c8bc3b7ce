"""``python -m sparray demo``: formats, a graph, and a network trained on it."""

import argparse
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparray.command_line.extras import require
from sparray.demo.format_tour import tour
from sparray.demo.graphs import Graph, digits_graph, load_graph
from sparray.functions.explain import explain

if TYPE_CHECKING:
    from sparray.demo.training import Run

__all__ = ["add_parser"]


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "demo",
        help="train a graph network on a sparse adjacency",
        description="Show what a format is, build a graph, explain the product that a "
        "graph network needs, and train it, beside torch.sparse and a dense matrix.",
    )
    parser.add_argument("--epochs", type=_count, default=200, help="default: 200")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument(
        "--format", default="csr", help="of the adjacency: csr, csc, coo, dcsr, ..."
    )
    parser.add_argument(
        "--graph", type=Path, metavar="FILE.npz", help="default: scikit-learn's digits"
    )
    parser.set_defaults(run=_run)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text}")
    return number


def _run(arguments: argparse.Namespace) -> None:
    require("demo", "demo,torch", "torch", "tqdm")
    if arguments.graph is None:
        require("demo", "demo,torch", "sklearn")
    print("== What a format is\n")
    print(tour())
    print("\n== A graph\n")
    graph = _graph(arguments.graph, arguments.seed)
    adjacency = graph.adjacency.to_format(arguments.format)
    print(_described(graph))
    print(f"adjacency  {adjacency}")
    print("\n== The product that the network needs, and how it is computed\n")
    hidden = np.zeros((adjacency.shape[1], 16), np.float32)
    print(explain("ij,jk->ik", adjacency, hidden))
    print("\n== A graph convolutional network (Kipf & Welling 2017)\n")
    start = time.perf_counter()
    runs = _trained(graph, arguments)
    print(_result(runs, time.perf_counter() - start, arguments.epochs))


def _graph(path: Path | None, seed: int) -> Graph:
    return digits_graph(seed) if path is None else load_graph(path)


def _described(graph: Graph) -> str:
    n_nodes = graph.adjacency.shape[0]
    return (
        f"{graph.name}: {n_nodes:,} nodes, {graph.adjacency.nnz:,} entries with "
        f"self-loops, {graph.features.shape[1]:,} features, {graph.n_classes} classes; "
        f"{len(graph.train)} labels to learn from, {len(graph.test):,} nodes to test"
    )


def _trained(graph: Graph, arguments: argparse.Namespace) -> "list[Run]":
    from tqdm import tqdm

    from sparray.demo.training import train

    bars: list[Any] = []

    def progress(epochs: range) -> Iterable[int]:
        bars.append(tqdm(epochs, unit="epoch", desc="training"))
        made: Iterable[int] = bars[0]
        return made

    return train(
        graph,
        arguments.epochs,
        arguments.seed,
        arguments.format,
        progress=progress,
        report=lambda text: bars[0].set_postfix_str(text, refresh=False),
    )


def _result(runs: "list[Run]", total_s: float, epochs: int) -> str:
    ours = runs[0]
    lines = [f"{'':<20}{'test accuracy':>14}{'ms per epoch':>14}{'time / sparray':>16}"]
    for run in runs:
        accuracy = "-" if run.accuracy is None else f"{run.accuracy:.1%}"
        ratio = run.epoch_s / ours.epoch_s
        lines.append(
            f"{run.contestant.name:<20}{accuracy:>14}{run.epoch_s * 1e3:>14.2f}"
            f"{ratio:>15.2f}x"
        )
    lines.append(
        f"\nmedians of up to {epochs} epochs, taken in turn; {total_s:.1f} s in all, "
        f"the first epoch ({ours.epochs_s[0]:.1f} s) compiles what was not compiled yet"
    )
    if len(runs) < 3:
        lines.append("dense was left out: its matrix would be larger than 1 GiB")
    return "\n".join(lines)
