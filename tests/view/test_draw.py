"""The coordinate tree of small arrays."""

import itertools
from xml.etree import ElementTree

import numpy as np
import pytest

import sparray as sp
from sparray.errors import SettingError, UnsupportedError
from sparray.view.tree import coordinate_tree, place

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = [(), (0,), (5,), (4, 3), (0, 3), (3, 0), (2, 3, 4), (2, 2, 2, 2)]


def svg_texts(svg: str) -> list[str]:
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "dcsr", "dense"])
def test_matrix_text(golden, dense_example, name):
    golden(f"view/{name}.txt", sp.draw(sp.array(dense_example, name)).text + "\n")


def test_cube_text(golden):
    coords = [[0, 0, 0, 2, 2], [1, 1, 3, 0, 0], [0, 2, 1, 1, 4]]
    values = np.array([1, 2, 3, 4, 5], np.float32)
    cube = sp.from_coords(coords, values, (3, 4, 5), "csf")
    golden("view/csf.txt", sp.draw(cube).text + "\n")


def test_matrix_svg(golden, dense_example):
    golden("view/csr.svg", sp.draw(sp.array(dense_example, "csr")).svg + "\n")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_named_format(shape, fitting_names):
    dense = np.random.default_rng(0).integers(0, 3, shape)
    for name in fitting_names(len(shape)):
        made = sp.array(dense, name)
        drawing = sp.draw(made)
        texts = svg_texts(drawing.svg)
        assert str(drawing) == repr(drawing) == drawing.text
        assert drawing._repr_svg_() == drawing.svg
        for role in {role for buffers in made.levels for role in buffers}:
            assert role in texts
            assert f"{role}  " in drawing.text
        assert drawing.text.splitlines()[-1].split()[1:] == (
            [str(value) for value in made.values] or ["(empty)"]
        )


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "dcsr", "dcsc", "dense"])
def test_children_stand_below_their_parents_side_by_side(dense_example, name):
    tree = coordinate_tree(sp.array(dense_example, name), 64)
    placements = place(tree)
    for level, above, own in zip(tree.levels, placements, placements[1:], strict=False):
        spans = list(zip(own.starts, own.widths, strict=True))
        columns = [n for start, width in spans for n in range(start, start + width)]
        assert len(set(columns)) == len(columns)
        for parent, (start, width) in zip(level.parents, spans, strict=True):
            begin = above.starts[parent]
            assert begin <= start
            assert start + width <= begin + above.widths[parent]


def test_boxes_of_a_row_do_not_overlap():
    values = np.array([-1.234e-200, 2.0, 1e300])
    made = sp.from_coords([[0, 1, 1], [123456, 7, 7654321]], values, (2, 10**7), "csr")
    rows: dict[str, list[tuple[float, float]]] = {}
    root = ElementTree.fromstring(sp.draw(made).svg)
    for box in root.iter(f"{SVG}rect"):
        x, width = float(box.get("x")), float(box.get("width"))
        rows.setdefault(box.get("y"), []).append((x, x + width))
        assert x + width <= float(root.get("width"))
        assert float(box.get("y")) + 24 <= float(root.get("height"))
    for spans in rows.values():
        spans.sort()
        # of one strip, a cell begins where the one before ends, rounded to a tenth
        ends = itertools.pairwise(spans)
        assert all(before[1] <= after[0] + 0.11 for before, after in ends)


def test_empty_fibres_and_a_fill_value_are_shown():
    made = sp.from_coords([[2], [1]], [4.0], (4, 3), "csr", fill_value=-1.5)
    drawing = sp.draw(made)
    assert "fill value -1.5" in drawing.text
    assert "fill value -1.5" in svg_texts(drawing.svg)[1]
    assert "pos  0 0 0 1 1" in drawing.text


def test_branches_reach_past_nodes_without_children():
    """Nodes two levels up may have columns that the level above has no nodes for."""
    levels = "i: bitmap, j % 2: compressed(unordered), j // 2: compressed"
    array = sp.array([[0, 0], [0, 0], [0, 5]], f"(i, j) -> ({levels})")
    text = sp.draw(array).text.splitlines()
    row = next(line for line in text if line.startswith("j // 2"))
    branch = text[text.index(row) - 1]
    assert branch.index("│") == row.index("0")


def test_sixty_four_dimensions():
    made = sp.from_coords(np.ones((64, 2), int), [1, 2], (2,) * 64, "csf")
    drawing = sp.draw(made)
    assert len(coordinate_tree(made, 64).levels) == 64
    ElementTree.fromstring(drawing.svg)


def test_other_objects_are_taken():
    assert sp.draw([[0, 1], [0, 0]]).text.startswith("csr: (i, j) -> ")


def test_too_large_arrays_are_refused_before_anything_is_unpacked():
    # csc: a dense level whose positions would not fit in memory
    pos = np.broadcast_to(np.int64(0), 10**12 + 1)
    made = sp.SparseArray._from_trusted(
        sp.Format.parse("csc", 2),
        (10, 10**12),
        ({}, {"pos": pos, "crd": np.empty(0, np.int64)}),
        np.empty(0),
        np.float64(0),
    )
    wanted = r"at most 64 .* 1,000,000,000,000 in 'j: dense' .* \(sparray\.spy\(A\)"
    with pytest.raises(UnsupportedError, match=wanted):
        sp.draw(made)


def test_the_limit_is_the_callers():
    made = sp.array(np.ones(70), "csf")
    with pytest.raises(UnsupportedError, match="at most 64 positions in each level"):
        sp.draw(made)
    assert sp.draw(made, limit=70).text.count("1") >= 70


def test_save(tmp_path, dense_example):
    drawing = sp.draw(sp.array(dense_example))
    drawing.save(tmp_path / "tree.svg")
    drawing.save(str(tmp_path / "tree.TXT"))
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8") == drawing.svg
    assert (tmp_path / "tree.TXT").read_text(encoding="utf-8") == f"{drawing.text}\n"
    with pytest.raises(SettingError, match=r"ends in \.svg or \.txt, got .*tree\.png"):
        drawing.save(tmp_path / "tree.png")


def test_positions_that_are_never_visible_are_marked():
    # 2 x 2 blocks of a 3 x 3 matrix: the last row and column of blocks reach outside.
    made = sp.array(np.diag([1, 2, 3]), "bcsr(2, 2)")
    tree = coordinate_tree(made, 64)
    assert tree.values == ["1", "0", "0", "2", "3", "0", "0", "0"]
    assert tree.leaves == ["1", "0", "0", "2", "3", "–", "–", "–"]
    bitmap = sp.draw(sp.array([[0, 7], [8, 0]], "bitmap"))
    assert "mask  0 1 1 0" in bitmap.text
    assert "j: bitmap  –  1  0  –" in bitmap.text


@pytest.mark.parametrize("name", ["bcsr(2, 2)", "dia", "ell", "bitmap"])
def test_other_level_types(golden, dense_example, name):
    file = name.partition("(")[0]
    golden(f"view/{file}.txt", sp.draw(sp.array(dense_example, name)).text + "\n")


@pytest.mark.parametrize("format", ["dense", "bcsr(2, 3)", "coo"])
@pytest.mark.parametrize("columns", [3, 20, 200])
def test_numbers_of_positions_stand_beside_coordinates(format, columns):
    dense = np.zeros((3, columns))
    dense[:, -20:] = 1
    drawing = sp.draw(sp.array(dense, format), limit=2000)
    elements = list(ElementTree.fromstring(drawing.svg))
    boxes = 0
    for rect, label, number in zip(elements, elements[1:], elements[2:], strict=False):
        kinds = [element.tag.removeprefix(SVG) for element in (rect, label, number)]
        is_node = kinds == ["rect", "text", "text"]
        if not is_node or number.get("text-anchor") != "end":
            continue
        boxes += 1
        label_end = float(label.get("x")) + 7.3 * len(label.text) / 2
        number_end = float(number.get("x"))
        number_begin = number_end - 4.9 * len(number.text)
        assert label_end < number_begin
        assert number_end < float(rect.get("x")) + float(rect.get("width"))
    assert boxes > 10
