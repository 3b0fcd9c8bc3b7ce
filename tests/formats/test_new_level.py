"""A level type is one file and one line: one that only this file knows does all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from oracle_check import Question, check_dispatch, check_stages, interpreted, plan_of

import sparray as sp
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, less, less_equal, literal, sub
from sparray.errors import FormatError, InvalidBufferError
from sparray.formats import LEVEL_TYPES, Format
from sparray.formats.buffers import check_index_buffer, check_pos, take_buffers
from sparray.formats.level import (
    Bounds,
    CoordinateIterable,
    IntArray,
    LevelView,
    Locatable,
    Located,
    Packed,
    Unpacked,
)


@dataclass(frozen=True, slots=True)
class Skyline(CoordinateIterable, Locatable):
    """One run of neighbouring coordinates below every parent position.

    ========= ===========
    buffer    length
    ========= ===========
    ``pos``   parents + 1
    ``first`` parents
    ========= ===========

    The positions below parent ``q`` are ``pos[q]`` up to ``pos[q + 1]``, and their
    coordinates ascend by one from ``first[q]``. What lies between two entries is stored
    with them.
    """

    name: ClassVar[str] = "skyline"
    roles: ClassVar[tuple[str, ...]] = ("pos", "first")
    compact: ClassVar[bool] = False

    def coordinates(self, view: LevelView, parent: ir.Expr) -> Bounds:
        begin = view.load("first", parent)
        following = view.load("pos", add(parent, literal(1)))
        return Bounds(begin, add(begin, sub(following, view.load("pos", parent))))

    def locate(self, view: LevelView, parent: ir.Expr, coordinate: ir.Expr) -> Located:
        run = self.coordinates(view, parent)
        behind = less_equal(run.begin, coordinate)
        found = ir.Binary("and", behind, less(coordinate, run.end), "bool")
        offset = sub(coordinate, run.begin)
        return Located(add(view.load("pos", parent), offset), found)

    def size(self, view: LevelView, parent_size: ir.Expr) -> ir.Expr:
        return view.load("pos", parent_size)

    def pack(
        self,
        parents: npt.NDArray[np.int64],
        coordinates: npt.NDArray[np.int64],
        n_parents: int,
        extent: int,
        index_dtype: npt.DTypeLike,
    ) -> Packed:
        last = np.full(n_parents, -1)
        first = np.zeros(n_parents, dtype=np.int64)
        last[parents] = coordinates
        first[parents[::-1]] = coordinates[::-1]
        pos = np.zeros(n_parents + 1, dtype=np.int64)
        np.cumsum(np.where(last < 0, 0, last - first + 1), out=pos[1:])
        positions = pos[parents] + coordinates - first[parents]
        buffers = {"pos": pos.astype(index_dtype), "first": first.astype(index_dtype)}
        return Packed(buffers, positions, int(pos[-1]))

    def unpack(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> Unpacked:
        pos = buffers["pos"].astype(np.int64)
        parents = np.repeat(np.arange(n_parents), np.diff(pos))
        places = np.arange(pos[-1]) - pos[parents]
        return Unpacked(parents, places + buffers["first"][parents])

    def check(
        self,
        buffers: Mapping[str, IntArray],
        n_parents: int,
        extent: int,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> int:
        pos, first = take_buffers(self, buffers)
        check_index_buffer("pos", pos, n_parents + 1)
        check_index_buffer("first", first, n_parents)
        check_pos(pos, int(pos[-1]))
        ends = first.astype(np.int64) + np.diff(pos)
        if np.any((first < 0) | (ends > extent)):
            raise InvalidBufferError(f"first: expected runs in [0, {extent}), got more")
        return int(pos[-1])

    def count(
        self, buffers: Mapping[str, IntArray], n_parents: int, extent: int
    ) -> int:
        return int(buffers["pos"][-1])


ROWS = "(i, j) -> (i: dense, j: skyline)"
FORMATS = [
    ROWS,
    "(i, j) -> (j: dense, i: skyline)",
    "(i, j) -> (i: compressed, j: skyline)",
    "(i, j) -> (i: skyline, j: compressed)",
    "(i, j) -> (i // 2: dense, i % 2: skyline, j: compressed)",
    "(i, j) -> (j - i: skyline, i: range)",
]
DENSE = np.array(
    [[0.0, 2, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0], [5, 0, 0, 3, 0, 0], [0, 0, 4, 0, 0, 0]]
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """The one line."""
    monkeypatch.setitem(LEVEL_TYPES, Skyline.name, Skyline)


@pytest.mark.parametrize("format", FORMATS)
def test_format_strings(format):
    made = Format.parse(format)
    assert str(made) == format
    assert Format.parse(str(made.transposed)).transposed == made
    with pytest.raises(FormatError, match="skyline level: expected no arguments"):
        Format.parse(format.replace("skyline", "skyline(unordered)"))


def test_buffers():
    made = sp.array(DENSE, ROWS)
    pos, first = made.levels[1]["pos"], made.levels[1]["first"]
    assert pos.tolist() == [0, 4, 4, 8, 9]
    assert first.tolist() == [1, 0, 0, 2]
    assert made.values.tolist() == [2, 0, 0, 1, 5, 0, 0, 3, 4]
    assert made.nnz == 9
    levels = [{}, {"pos": pos, "first": first + 3}]
    with pytest.raises(InvalidBufferError, match=r"levels\[1\] \(skyline\).*runs in"):
        sp.from_buffers(ROWS, (4, 6), levels, made.values)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "other", ["dense", "csr", "csc", "coo", "ell", "dia", "bitmap"]
)
def test_conversions(format, other):
    made = sp.array(DENSE, other).to_format(format)
    assert made.format == Format.parse(format)
    sp.from_buffers(format, made.shape, made.levels, made.values)
    back = made.to_format(other)
    assert np.array_equal(made.todense(), DENSE)
    assert np.array_equal(back.todense(), DENSE)
    assert np.array_equal(made.T.todense(), DENSE.T)


@pytest.mark.parametrize("format", FORMATS)
def test_conversion_of_many_entries(format):
    """More than the number from which on conversions are compiled."""
    rng = np.random.default_rng(0)
    dense = rng.integers(1, 5, (250, 300)) * (rng.random((250, 300)) < 0.7)
    made = sp.array(dense, "csr").to_format(format)
    assert np.array_equal(made.to_format("csc").todense(), dense)
    assert np.array_equal(sp.array(dense, format).todense(), dense)


def questions(format):
    rng = np.random.default_rng(1)
    dense = rng.integers(-2, 3, (5, 7)) * (rng.random((5, 7)) < 0.5)
    A = sp.array(dense.astype(float), format)
    S = sp.array((rng.random((5, 7)) < 0.4) * 2.0, "csr")
    x, y, B = np.arange(7.0), np.arange(5.0), np.arange(21.0).reshape(7, 3)
    return [
        Question("y[i] = A[i,j] * x[j]", (A, x)),
        Question("y[j] = A[i,j] * x[i]", (A, y)),
        Question("C[i,k] = A[i,j] * B[j,k]", (A, B)),
        Question("C[i,j] = A[i,j] + S[i,j]", (A, S)),
        Question("C[i,j] = S[i,j] * A[i,j]", (S, A)),
        Question("C[i,j] = A[i,j] * A2[i,j]", (A, A), A.format),
        Question("C[i,k] = S[i,j] * A[k,j]", (S, A)),
        Question("C[i,j] = 2 * S[i,j]", (S,), A.format),
    ]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("number", range(8))
def test_kernels_are_right_at_every_stage(format, number):
    check_stages(questions(format)[number])


def test_fibres_outside_the_runs_are_empty():
    """A loop over a dense level of a sparse result, too, visits the runs alone."""
    rng = np.random.default_rng(2)
    T = sp.array(rng.integers(1, 5, (4, 6, 3)).astype(float), "csr")
    question = Question(
        "C[i,j,k] = A[i,j] * T[i,j,k]", (sp.array(DENSE, ROWS), T), T.format
    )
    assert "for j in int64(A2_first[i]) .. " in plan_of(question).kernels[0].loops
    check_stages(question)


def test_a_compiled_kernel():
    check_dispatch(questions(ROWS)[0])


def test_loops_are_those_of_the_level_functions():
    with interpreted():
        (step,) = plan_of(questions(ROWS)[0]).kernels
    assert "for j in int64(A2_first[i]) .. " in step.loops


@pytest.mark.parametrize("format", FORMATS)
def test_views(format):
    made = sp.array(DENSE, format)
    drawing = sp.draw(made)
    assert "first" in drawing.text
    assert "skyline</text>" in drawing.svg
    assert "first" in repr(made)
    assert "skyline" in made._repr_html_()


def test_files(tmp_path):
    made = sp.array(DENSE, ROWS)
    sp.save(tmp_path / "A.npz", made)
    read = sp.load(tmp_path / "A.npz")
    assert read.format == made.format
    assert np.array_equal(read.todense(), DENSE)
