"""What a notebook shows of an array."""

import time
from xml.etree import ElementTree

import numpy as np
import pytest

import sparray as sp

SHAPES = [(), (3,), (200,), (0, 3), (3, 0), (4, 6), (50, 80), (3, 4, 2), (2, 0, 2)]


def well_formed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_named_format_is_well_formed(shape, fitting_names):
    dense = np.random.default_rng(0).integers(0, 2, shape)
    for name in fitting_names(len(shape)):
        made = sp.array(dense, name)
        root = well_formed(made._repr_html_())
        assert f"{made.nnz:,} stored entr" in "".join(root.itertext())


def test_nothing_is_loaded_and_no_colour_of_the_page_is_replaced(dense_example):
    for dense in (dense_example, np.tile(dense_example, (10, 10))):
        text = sp.array(dense)._repr_html_()
        for word in ("src=", "href=", "url(", "<script", "@import", ";color:"):
            assert word not in text


def test_text_is_escaped(dense_example):
    text = sp.array(dense_example, "csr")._repr_html_()
    assert "(i, j) -&gt; (i: dense, j: compressed)" in text
    assert "->" not in text


def test_small_arrays_show_their_elements(dense_example):
    root = well_formed(sp.array(dense_example, "csc")._repr_html_())
    grid = root.findall("table")[1]
    shown = [[float(cell.text) for cell in row] for row in grid.findall("tr")]
    assert np.array_equal(shown, dense_example)
    bold = [[("bold" in cell.get("style")) for cell in row] for row in grid]
    assert np.array_equal(bold, dense_example != 0)


def test_an_explicit_zero_and_a_fill_value_are_told_apart():
    made = sp.from_coords([[0, 1]], [0, 7], (3,), fill_value=1)
    cells = well_formed(made._repr_html_()).findall("table")[1].findall("tr/td")
    assert [cell.text for cell in cells] == ["0", "7", "1"]
    assert ["bold" in cell.get("style") for cell in cells] == [True, True, False]


def test_repeated_entries_are_a_sum():
    format = "(i) -> (i: compressed(nonunique))"
    made = sp.from_coords([[1, 1]], [2, 3], (2,), format, duplicates="keep")
    cells = well_formed(made._repr_html_()).findall("table")[1].findall("tr/td")
    assert [cell.text for cell in cells] == ["0", "2 + 3"]


def test_larger_arrays_show_a_square_for_each_cell_with_entries():
    made = sp.from_coords([[0, 40, 99], [5, 5, 99]], [1, 1, 1], (100, 100), "csr")
    picture = well_formed(made._repr_html_()).find("{http://www.w3.org/2000/svg}svg")
    squares = picture.findall("{http://www.w3.org/2000/svg}g/*")
    assert len(squares) == 3


def test_many_entries_take_no_longer_than_a_cell_of_a_notebook_may():
    entries = np.arange(2**22)
    made = sp.from_coords(entries[None], np.ones(len(entries), np.int8), (2**23,))
    begin = time.perf_counter()
    assert "<svg" not in made._repr_html_()
    assert time.perf_counter() - begin < 0.5
