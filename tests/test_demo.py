"""The demo: what it shows, and that what it trains learns."""

import statistics
from pathlib import Path

import numpy as np
import pytest

from sparray.demo.format_tour import EXAMPLE, describe_format, tour
from sparray.demo.graphs import Graph, digits_graph, load_graph, normalized
from sparray.errors import FormatError, SparrayError

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "graphs"


def ring(n_nodes=40, n_classes=2):
    """Return a ring whose halves are the classes; one feature tells them apart."""
    nodes = np.arange(n_nodes)
    labels = nodes * n_classes // n_nodes
    rng = np.random.default_rng(0)
    features = rng.normal(labels[:, None] * 2.0, 0.5, (n_nodes, 3)).astype(np.float32)
    adjacency = normalized(nodes, (nodes + 1) % n_nodes, n_nodes)
    train = nodes[:: n_nodes // 10]
    return Graph("ring", adjacency, features, labels, train, np.setdiff1d(nodes, train))


def save(path, graph, **changed):
    csr = graph.adjacency
    n_nodes, n_features = graph.features.shape
    arrays = {
        "adj_data": np.ones(csr.nnz, np.float32),
        "adj_indices": csr.levels[1]["crd"],
        "adj_indptr": csr.levels[1]["pos"],
        "adj_shape": np.array(csr.shape),
        "feat_data": np.abs(graph.features).reshape(-1),
        "feat_indices": np.tile(np.arange(n_features), n_nodes),
        "feat_indptr": np.arange(n_nodes + 1) * n_features,
        "feat_shape": np.array(graph.features.shape),
        "labels": graph.labels,
        "idx_train": graph.train,
        "idx_test": graph.test,
        **changed,
    }
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})
    return path


def test_the_tour_shows_the_buffers_of_three_formats():
    said = tour()
    for name in ("csr", "coo", "dcsr"):
        assert describe_format(EXAMPLE, name) in said
    assert "pos = [0, 2, 2, 4, 6]  crd = [1, 4, 0, 3, 2, 5]" in said
    assert "pos = [0, 3]  crd = [0, 2, 3]" in said


def test_normalized_adjacency():
    sources, targets = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1])
    adjacency = np.eye(4) + np.eye(4, k=1) * [0, 1, 1, 0] + np.eye(4, k=-1)
    adjacency = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1.0]])
    degrees = adjacency.sum(1)
    expected = adjacency / np.sqrt(np.outer(degrees, degrees))
    made = normalized(sources, targets, 4)
    assert made.format.name == "csr" and made.dtype == np.float32
    np.testing.assert_allclose(made.todense(), expected, rtol=1e-6)


def test_the_digits_graph():
    pytest.importorskip("sklearn")
    graph = digits_graph(0)
    assert graph.adjacency.shape == (1797, 1797) and graph.adjacency.nnz == 21653
    assert len(graph.train) == 50 and len(graph.test) == 1747
    assert np.bincount(graph.labels[graph.train]).tolist() == [5] * 10
    dense = graph.adjacency.todense()
    np.testing.assert_array_equal(dense, dense.T)


def test_a_graph_from_a_file(tmp_path):
    graph = ring()
    loaded = load_graph(save(tmp_path / "ring.npz", graph))
    assert loaded.name == "ring" and loaded.n_classes == 2
    np.testing.assert_allclose(loaded.adjacency.todense(), graph.adjacency.todense())
    rows = np.asarray(loaded.features.todense()).sum(1)
    np.testing.assert_allclose(rows, 1, rtol=1e-5)


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"labels": None}, "expected an array 'labels'"),
        ({"adj_indices": np.full(120, 99)}, "crd"),
        ({"idx_train": np.array([40])}, "indices of its nodes"),
        ({"labels": np.zeros(3, int)}, "with 3 labels"),
        ({"adj_shape": np.array([40])}, "2 extents"),
        ({"labels": np.array([None] * 40)}, "without pickles"),
        ({"idx_train": np.array(["a"])}, "idx_train"),
    ],
)
def test_a_malformed_file(tmp_path, changed, said):
    path = save(tmp_path / "ring.npz", ring(), **changed)
    with pytest.raises(SparrayError, match=said):
        load_graph(path)


def test_a_file_that_is_no_archive(tmp_path):
    path = tmp_path / "graph.npz"
    with pytest.raises(SparrayError, match="graph: expected a NumPy archive"):
        load_graph(path)
    path.write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(SparrayError, match="graph: expected a NumPy archive"):
        load_graph(path)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
def test_every_contestant_learns_the_same(format):
    pytest.importorskip("torch")
    from sparray.demo.training import train

    runs = train(ring(), epochs=30, format=format)
    assert [run.contestant.name for run in runs] == [
        "sparray",
        "torch.sparse CSR",
        "dense",
    ]
    for run in runs:
        assert len(run.epochs_s) == 30 and run.epoch_s > 0
        assert run.accuracy >= 0.9


def test_the_networks_agree_without_dropout():
    torch = pytest.importorskip("torch")
    from sparray.demo.networks import CONTESTANTS

    graph, scores = ring(), []
    for contestant in CONTESTANTS:
        torch.manual_seed(0)
        network = contestant.network(graph, "csr").eval()
        scores.append(network())
    for other in scores[1:]:
        torch.testing.assert_close(scores[0], other)


def test_the_command(capsys, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("tqdm")
    from sparray.__main__ import main

    path = save(tmp_path / "ring.npz", ring())
    assert main(["demo", "--epochs", "3", "--format", "coo", "--graph", str(path)]) == 0
    said = capsys.readouterr().out
    assert "40 nodes, 120 entries with self-loops" in said
    assert "loop order" in said and "test accuracy" in said
    assert "torch.sparse CSR" in said and "dense" in said


def test_the_command_refuses_a_wrong_format(capsys, tmp_path):
    from sparray.__main__ import main

    path = save(tmp_path / "ring.npz", ring())
    assert main(["demo", "--format", "cssr", "--graph", str(path)]) == 1
    assert "cssr" in capsys.readouterr().err
    assert issubclass(FormatError, ValueError)


def accuracy(graph, seed):
    from sparray.demo.networks import CONTESTANTS
    from sparray.demo.training import train

    (run,) = train(graph, seed=seed, contestants=CONTESTANTS[:1])
    return run.accuracy


@pytest.mark.slow
def test_accuracy_on_digits():
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    found = [accuracy(digits_graph(seed), seed) for seed in range(5)]
    assert statistics.mean(found) >= 0.9


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "cora.npz").exists(), reason="no data beside it")
def test_accuracy_on_cora():
    pytest.importorskip("torch")
    graph = load_graph(DATA / "cora.npz")
    assert statistics.mean(accuracy(graph, seed) for seed in range(5)) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["citeseer", "pubmed", "coauthor_cs"])
def test_other_graphs_run(name):
    pytest.importorskip("torch")
    from sparray.demo.networks import CONTESTANTS
    from sparray.demo.training import train

    if not (DATA / f"{name}.npz").exists():
        pytest.skip("no data beside it")
    (run,) = train(load_graph(DATA / f"{name}.npz"), 3, contestants=CONTESTANTS[:1])
    assert 0 < run.accuracy <= 1
