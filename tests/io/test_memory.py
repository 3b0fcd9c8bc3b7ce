"""Reading takes about twice the memory of the result, at the most."""

import tracemalloc

import numpy as np
import pytest

import sparray as sp
from sparray._kernels import progress

N = 1_000_000
BLOCKS_BYTES = 2**23
"""Of the parser's own buffers, which do not grow with the file."""


def peak(path, **options):
    """Return an array and the most memory that reading it took."""
    tracemalloc.start()
    try:
        array = sp.load(path, **options)
        return array, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def example():
    rng = np.random.default_rng(0)
    coords = rng.integers(0, 100_000, (2, N))
    return sp.from_coords(coords, rng.standard_normal(N), (100_000, 100_000))


@pytest.mark.slow
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz", ".tns"])
def test_text(tmp_path, suffix, shuffled):
    array = example()
    path = tmp_path / f"A{suffix}"
    sp.save(path, array.T.to_format("coo").T if shuffled else array)
    read, most = peak(path)
    assert read.nnz == array.nnz
    assert most <= 2 * read.nbytes + BLOCKS_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".npz", ".bsp.npz", ".bsp.h5", ".safetensors"])
@pytest.mark.parametrize("format", ["csr", "coo", "dense"])
def test_binary(tmp_path, suffix, format):
    array = example().to_format("coo" if format == "dense" else format)
    if format == "dense":
        array = sp.array(np.ones((1000, 2000)), format="dense")
    path = tmp_path / f"A{suffix}"
    sp.save(path, array)
    read, most = peak(path)
    assert read.format == array.format
    # Checking a coo array takes somewhat more than its own size.
    assert most <= (2.2 if format == "coo" else 2) * read.nbytes + 2**20


def test_the_bar_is_for_terminals_only(monkeypatch, capsys, tmp_path):
    class Terminal:
        def isatty(self):
            return True

        def write(self, text):
            written.append(text)

        def flush(self):
            pass

    written = []
    pytest.importorskip("tqdm")
    monkeypatch.setattr(progress, "_DELAY_S", 0)
    sp.save(tmp_path / "A.mtx", sp.array([[0, 1.0], [2.0, 0]]))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr", Terminal())
    sp.load(tmp_path / "A.mtx")
    assert any("reading A.mtx" in text for text in written)
