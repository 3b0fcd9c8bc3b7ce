"""Plots of where entries are, from 10 to 10 million rows."""

import sys
import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse

import sparray as sp
from sparray.errors import MissingExtraError, SettingError, ShapeError
from sparray.view.projection import project

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def banded(n_rows: int) -> sp.SparseArray:
    """Return three entries in each row, without a sort of them all."""
    pos = np.arange(0, 3 * n_rows + 1, 3, dtype=np.int32)
    first = np.clip(np.arange(n_rows, dtype=np.int32) - 1, 0, n_rows - 3)
    crd = (first[:, None] + np.arange(3, dtype=np.int32)).reshape(-1)
    values = np.ones(3 * n_rows, np.float32)
    return sp.from_buffers(
        "csr", (n_rows, n_rows), [{}, {"pos": pos, "crd": crd}], values
    )


def marked(plot) -> set[tuple[int, int]]:
    """Return row and column of the middle of each square."""
    (squares,) = plot.collections
    centres = [path.vertices[:4].mean(axis=0) for path in squares.get_paths()]
    return {(round(y), round(x)) for x, y in centres}


def image_counts(plot) -> np.ndarray:
    (image,) = plot.images
    return image.get_array()


@pytest.mark.parametrize("shape", [(7,), (4, 6), (3, 4, 5), (2, 3, 2, 3)], ids=str)
@pytest.mark.parametrize("most", [2, 3, 100])
def test_counts_of_every_named_format(shape, most, fitting_names):
    dense = np.random.default_rng(0).integers(0, 2, shape)
    axes = (0, 0) if len(shape) == 1 else (len(shape) - 1, 0)
    for name in fitting_names(len(shape)):
        made = sp.array(dense, name)
        # Zeros that blocks and diagonals store are entries too.
        stored = np.zeros(shape, int)
        stored[tuple(made.to_coords()[0])] = 1
        others = tuple(range(1, len(shape) - 1))
        matrix = stored[None] if len(shape) == 1 else stored.sum(axis=others).T
        found = project(made, axes, (most, most))
        height, width = found.widths
        assert max(found.counts.shape) <= most
        for row, column in np.ndindex(*found.counts.shape):
            cell = matrix[row * height :, column * width :][:height, :width]
            assert found.counts[row, column] == cell.sum()
            assert np.isclose(found.density[row, column], cell.mean())


def test_a_square_for_each_entry_of_a_small_matrix(dense_example):
    for made in (dense_example, scipy.sparse.csr_array(dense_example)):
        plot = sp.spy(made)
        assert marked(plot) == set(zip(*np.nonzero(dense_example), strict=True))
        assert plot.get_ylim() == (3.5, -0.5)
        assert plot.get_aspect() == 1
        assert plot.get_xlabel() == "j (dimension 1)"
        assert plot.get_ylabel() == "i (dimension 0)"
        assert "6 stored entries, density 0.25" in plot.get_title()


def test_few_entries_of_a_large_matrix_are_markers():
    made = sp.from_coords([[0, 2**61], [5, 3]], [1, 2], (2**62, 10), "coo")
    plot = sp.spy(made)
    (markers,) = plot.lines
    assert markers.get_xdata().tolist() == [5, 3]
    assert markers.get_ydata().tolist() == [0, 2.0**61]
    assert markers.get_markersize() >= 2
    plot.figure.canvas.draw()


def test_a_matrix_that_fits_the_pixels_is_its_pattern():
    pattern = np.random.default_rng(0).random((200, 150)) < 0.1
    plot = sp.spy(pattern, color="red")
    assert np.array_equal(image_counts(plot).filled(0) != 0, pattern)
    assert len(plot.figure.axes) == 1


@pytest.mark.parametrize("n_rows", [10, 1_000, 100_000, 10_000_000])
def test_any_number_of_rows(n_rows):
    made = banded(n_rows)
    begin = time.perf_counter()
    plot = sp.spy(made)
    plot.figure.canvas.draw()
    # Some seconds more than a machine that does nothing else needs.
    assert time.perf_counter() - begin < 10
    if n_rows > 100:
        shades = image_counts(plot)
        height, width = (pixels for pixels in shades.shape)
        assert 100 < height <= plot.get_window_extent().height
        assert 100 < width <= plot.get_window_extent().width
        assert not np.ma.getmaskarray(shades).diagonal().any()
        assert np.ma.getmaskarray(shades)[0, -1]


def test_no_entry_is_lost_between_pixels():
    rng = np.random.default_rng(0)
    coords = rng.integers(0, 10**6, (2, 700))
    plot = sp.spy(sp.from_coords(coords, np.ones(700), (10**6, 10**6)))
    shades = image_counts(plot)
    assert len(plot.figure.axes) == 2
    limits = np.array([plot.get_window_extent().height, plot.get_window_extent().width])
    assert np.all(shades.shape <= limits)
    assert shades.count() >= 690


def test_memory_is_a_few_bytes_for_each_entry():
    made = banded(1_000_000)
    project(made, (0, 1), (300, 300))
    tracemalloc.start()
    project(made, (0, 1), (300, 300))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 48 * made.nnz


def test_axes_of_an_array_of_more_dimensions():
    coords = [[0, 1, 1], [2, 0, 0], [3, 3, 1]]
    made = sp.from_coords(coords, [1, 2, 3], (2, 3, 4), "csf")
    plot = sp.spy(made, axes=(2, 0))
    assert marked(plot) == {(3, 0), (3, 1), (1, 1)}
    assert plot.get_ylabel() == "k (dimension 2)"
    assert marked(sp.spy(made, axes=(-1, -3))) == marked(plot)
    for axes in [(0, 3), (1, 1), (0, -3), (0,), (0, 1, 2)]:
        with pytest.raises(ShapeError, match="axes: expected two different dimensions"):
            sp.spy(made, axes=axes)


def test_one_dimension_is_one_row():
    assert marked(sp.spy([0, 3, 0, 1])) == {(0, 1), (0, 3)}
    many = np.zeros(10**5)
    many[::7] = 1
    assert image_counts(sp.spy(many)).shape[0] == 1


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (4, 4), (10**6, 10**6)])
def test_nothing_to_plot(shape):
    made = sp.from_coords(np.zeros((len(shape), 0), int), [], shape)
    sp.spy(made).figure.canvas.draw()


def test_given_axes_are_used(dense_example):
    figure, plots = plt.subplots(1, 2)
    assert sp.spy(dense_example, plots[1]) is plots[1]
    assert not plots[0].collections
    assert plt.get_fignums() == [figure.number]


def test_bad_arguments(dense_example):
    with pytest.raises(ShapeError, match="1 dimension or more, got one of 0"):
        sp.spy(3)
    with pytest.raises(SettingError, match="bins: expected a positive number, got 0"):
        sp.spy(dense_example, bins=0)


def test_without_matplotlib(monkeypatch, dense_example):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        MissingExtraError, match=r"pip install 'sparray-levels\[plot\]'"
    ):
        sp.spy(dense_example)
