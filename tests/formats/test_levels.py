"""Every level type of the registry keeps what `Level` and capabilities promise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from level_strategies import fibres, level_variants

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import Builder, add, literal, mul
from sparray.compiler.loop_ir.interpreter import run
from sparray.errors import FormatError, InvalidBufferError, KernelMemoryError
from sparray.formats import (
    LEVEL_TYPES,
    Compressed,
    Dense,
    Hashed,
    Range,
    Singleton,
    Structured,
)
from sparray.formats.allotted import Allottable
from sparray.formats.level import (
    Appendable,
    CoordinateIterable,
    Insertable,
    LevelView,
    Locatable,
    PositionIterable,
    Preparable,
)
from sparray.formats.slotted import Slotted

VARIANTS = level_variants()
every_level = pytest.mark.parametrize("level", VARIANTS, ids=str)
index_dtypes = st.sampled_from(["int32", "int64"])
PARENTS = ir.Buffer("parents", "int64", writable=True)
COORDINATES = ir.Buffer("coordinates", "int64", writable=True)


def view_of(level, builder, dtype, *, writable=False):
    buffers = {
        role: ir.Buffer(role, level.buffer_dtype(role, dtype).name, writable)
        for role in level.roles
    }
    return LevelView(ir.Var("extent"), buffers, builder.fresh)


def is_visible(level, entries, problem):
    """Which positions a walk gives: those with a coordinate, and inside the shape."""
    visible = np.ones(len(entries.parents), dtype=bool)
    if entries.present is not None:
        visible &= entries.present
    if isinstance(level, Range):
        # as below a dense level of diagonals, whose coordinates are the parents
        other = problem.n_parents - problem.extent + 1
        j = entries.coordinates + entries.parents - (problem.extent - 1)
        visible &= (j >= 0) & (j < other)
    return visible


def run_level(view, builder, buffers, problem, **more):
    extra = tuple(ir.Buffer(name, "int64", True) for name in more)
    function = ir.Function(
        "level",
        (*view.buffers.values(), *extra, ir.Var("n_parents"), ir.Var("extent")),
        builder.block(),
    )
    sizes = {"n_parents": problem.n_parents, "extent": problem.extent}
    run(function, {**buffers, **more, **sizes})


@every_level
@given(data=st.data(), dtype=index_dtypes)
def test_pack_check_unpack(level, data, dtype):
    problem = data.draw(fibres(level))
    packed = level.pack(
        problem.parents, problem.coordinates, problem.n_parents, problem.extent, dtype
    )
    where = (problem.n_parents, problem.extent)
    assert tuple(packed.buffers) == level.roles
    for role, buffer in packed.buffers.items():
        assert buffer.dtype == level.buffer_dtype(role, dtype)
    assert level.check(packed.buffers, *where) == packed.n_positions
    assert level.count(packed.buffers, *where) == packed.n_positions
    entries = level.unpack(packed.buffers, *where)
    assert len(entries.parents) == len(entries.coordinates) == packed.n_positions
    assert np.array_equal(entries.parents[packed.positions], problem.parents)
    assert np.array_equal(entries.coordinates[packed.positions], problem.coordinates)
    if level.compact:
        assert np.array_equal(packed.positions, np.arange(packed.n_positions))
    assert len(set(packed.positions.tolist())) == len(packed.positions)
    assert (entries.present is not None) == level.hides
    if entries.present is not None:
        assert np.array_equal(
            np.flatnonzero(entries.present), np.sort(packed.positions)
        )


@every_level
@given(data=st.data(), dtype=index_dtypes)
def test_iteration_gives_what_unpack_lists(level, data, dtype):
    problem = data.draw(fibres(level))
    packed = level.pack(
        problem.parents, problem.coordinates, problem.n_parents, problem.extent, dtype
    )
    expected = level.unpack(packed.buffers, problem.n_parents, problem.extent)
    builder = Builder(["n_parents", "extent", "parents", "coordinates", *level.roles])
    view = view_of(level, builder, dtype)
    with builder.loop("q", literal(0), ir.Var("n_parents")) as parent:
        view = replace(view, above=parent, above_extent=ir.Var("n_parents"))
        if isinstance(level, PositionIterable):
            bounds = level.positions(view, parent, add(parent, literal(1)))
            builder.emit(*bounds.setup)
            with builder.loop("p", bounds.begin, bounds.end) as position:
                here = level.present(view, position)
                with builder.branch(literal(True) if here is None else here):
                    coordinate = level.coordinate(view, position)
                    builder.store(PARENTS, position, parent)
                    builder.store(COORDINATES, position, coordinate)
        else:
            assert isinstance(level, CoordinateIterable)
            assert isinstance(level, Locatable)
            bounds = level.coordinates(view, parent)
            builder.emit(*bounds.setup)
            with builder.loop("c", bounds.begin, bounds.end) as coordinate:
                located = level.locate(view, parent, coordinate)
                builder.emit(*located.setup)
                found = located.found
                with builder.branch(literal(True) if found is None else found):
                    builder.store(PARENTS, located.position, parent)
                    builder.store(COORDINATES, located.position, coordinate)
    walked = {
        "parents": np.full(packed.n_positions, -1),
        "coordinates": np.full(packed.n_positions, -1),
    }
    run_level(view, builder, packed.buffers, problem, **walked)
    visible = is_visible(level, expected, problem)
    parents = np.where(visible, expected.parents, -1)
    coordinates = np.where(visible, expected.coordinates, -1)
    assert np.array_equal(walked["parents"], parents)
    assert np.array_equal(walked["coordinates"], coordinates)


@pytest.mark.parametrize(
    "level", [v for v in VARIANTS if isinstance(v, Locatable)], ids=str
)
@given(data=st.data(), dtype=index_dtypes)
def test_locate_finds_what_is_stored_and_nothing_else(level, data, dtype):
    problem = data.draw(fibres(level))
    packed = level.pack(
        problem.parents, problem.coordinates, problem.n_parents, problem.extent, dtype
    )
    builder = Builder(["n_parents", "extent", "found_at", *level.roles])
    view = view_of(level, builder, dtype)
    found_at = ir.Buffer("found_at", "int64", writable=True)
    with builder.loop("q", literal(0), ir.Var("n_parents")) as parent:
        with builder.loop("c", literal(0), ir.Var("extent")) as coordinate:
            located = level.locate(view, parent, coordinate)
            builder.emit(*located.setup)
            found = located.found
            with builder.branch(literal(True) if found is None else found):
                asked = add(mul(parent, ir.Var("extent")), coordinate)
                builder.store(found_at, asked, located.position)
    found = np.full(problem.n_parents * problem.extent, -1)
    run_level(view, builder, packed.buffers, problem, found_at=found)
    asked = problem.parents * problem.extent + problem.coordinates
    assert np.array_equal(found[asked], packed.positions)
    if level.hides:
        assert np.count_nonzero(found >= 0) == len(packed.positions)


@pytest.mark.parametrize(
    "level", [v for v in VARIANTS if isinstance(v, Insertable) and v.ordered], ids=str
)
@given(data=st.data(), dtype=index_dtypes)
def test_insert_in_any_order_makes_what_pack_makes(level, data, dtype):
    problem = data.draw(fibres(level))
    packed = level.pack(
        problem.parents, problem.coordinates, problem.n_parents, problem.extent, dtype
    )
    order = data.draw(st.permutations(range(len(problem.parents))))
    builder = Builder(["n_parents", "extent", "made_at", *level.roles])
    view = view_of(level, builder, dtype, writable=True)
    made_at = ir.Buffer("made_at", "int64", writable=True)
    # Twice: the second time the coordinates are there already.
    for entry in [*order, *order]:
        parent, coordinate = problem.parents[entry], problem.coordinates[entry]
        made = level.insert(view, literal(int(parent)), literal(int(coordinate)))
        assert made.found is None
        builder.emit(*made.setup)
        builder.store(made_at, literal(entry), made.position)
    at = np.full(len(order), -1)
    buffers = {role: np.zeros_like(b) for role, b in packed.buffers.items()}
    run_level(view, builder, buffers, problem, made_at=at)
    for role, buffer in packed.buffers.items():
        assert np.array_equal(buffers[role], buffer)
    assert np.array_equal(at, packed.positions)


@pytest.mark.parametrize(
    "level", [v for v in VARIANTS if isinstance(v, Preparable)], ids=str
)
@given(data=st.data(), dtype=index_dtypes)
def test_prepare_makes_what_pack_makes_of_nothing(level, data, dtype):
    problem = data.draw(fibres(level))
    nothing = np.empty(0, dtype=np.int64)
    packed = level.pack(nothing, nothing, problem.n_parents, problem.extent, dtype)
    made = level.prepare(problem.n_parents, problem.extent, dtype)
    assert made.n_positions == packed.n_positions
    assert made.buffers.keys() == packed.buffers.keys()
    for role, buffer in packed.buffers.items():
        assert made.buffers[role].dtype == buffer.dtype
        assert np.array_equal(made.buffers[role], buffer)


@pytest.mark.parametrize(
    "level", [v for v in VARIANTS if isinstance(v, Allottable)], ids=str
)
@given(data=st.data(), dtype=index_dtypes)
def test_allotted_room_is_that_of_what_pack_makes(level, data, dtype):
    problem = data.draw(fibres(level))
    where = (problem.n_parents, problem.extent)
    packed = level.pack(problem.parents, problem.coordinates, *where, dtype)
    counts = np.bincount(problem.parents, minlength=problem.n_parents)
    # Counted more often than there are coordinates, it gets room for all of them.
    made = level.allot(counts, problem.extent, dtype)
    more = level.allot(counts + problem.extent, problem.extent, dtype)
    assert made.n_positions == packed.n_positions <= more.n_positions
    for role, buffer in packed.buffers.items():
        assert made.buffers[role].dtype == buffer.dtype
        assert len(made.buffers[role]) == len(buffer)
    assert not level.occupied(made.buffers, problem.n_parents).any()
    stored = level.occupied(packed.buffers, problem.n_parents)
    assert np.array_equal(stored, counts)


@pytest.mark.parametrize(
    "level",
    [v for v in VARIANTS if isinstance(v, PositionIterable) and v.compact],
    ids=str,
)
@given(data=st.data())
def test_positions_of_a_range_of_parents_are_all_below_them(level, data):
    problem = data.draw(fibres(level))
    packed = level.pack(
        problem.parents, problem.coordinates, problem.n_parents, problem.extent, "int32"
    )
    builder = Builder(["n_parents", "extent", "seen", *level.roles])
    view = view_of(level, builder, "int32")
    bounds = level.positions(view, literal(0), ir.Var("n_parents"))
    seen = ir.Buffer("seen", "int64", writable=True)
    with builder.loop("p", bounds.begin, bounds.end) as position:
        builder.store(seen, position, literal(1), "add")
    counts = np.zeros(packed.n_positions, dtype=np.int64)
    run_level(view, builder, packed.buffers, problem, seen=counts)
    assert np.array_equal(counts, np.ones(packed.n_positions))


@pytest.mark.parametrize(
    "level", [v for v in VARIANTS if isinstance(v, Appendable)], ids=str
)
@given(data=st.data(), dtype=index_dtypes)
def test_append_makes_what_pack_makes(level, data, dtype):
    problem = data.draw(fibres(level))
    expected = level.pack(
        problem.parents, problem.coordinates, problem.n_parents, problem.extent, dtype
    )
    builder = Builder(["n_parents", "extent", *level.roles])
    view = view_of(level, builder, dtype, writable=True)
    position = 0
    for parent in range(problem.n_parents):
        for coordinate in problem.coordinates[problem.parents == parent]:
            statements = level.append_coordinate(
                view, literal(position), literal(int(coordinate))
            )
            builder.emit(*statements)
            position += 1
        builder.emit(*level.append_edges(view, literal(parent), literal(position)))
    made = {role: np.zeros_like(b) for role, b in expected.buffers.items()}
    run_level(view, builder, made, problem)
    for role, buffer in expected.buffers.items():
        assert np.array_equal(made[role], buffer)


@pytest.mark.parametrize(
    "level", [v for v in VARIANTS if isinstance(v, Slotted)], ids=str
)
@given(data=st.data(), dtype=index_dtypes)
def test_slots_filled_in_any_order_of_fibres_are_what_pack_makes(level, data, dtype):
    problem = data.draw(fibres(level))
    expected = level.pack(
        problem.parents, problem.coordinates, problem.n_parents, problem.extent, dtype
    )
    begins = np.bincount(problem.parents, minlength=problem.n_parents)
    allotted = level.allot(begins, dtype)
    builder = Builder(["n_parents", "extent", "made_at", *level.roles])
    view = view_of(level, builder, dtype, writable=True)
    made_at = ir.Buffer("made_at", "int64", writable=True)
    for parent in data.draw(st.permutations(range(problem.n_parents))):
        fibre = np.flatnonzero(problem.parents == parent)
        for number, entry in enumerate(fibre, int(begins[parent])):
            coordinate = literal(int(problem.coordinates[entry]))
            made = level.fill_slot(view, literal(number), coordinate)
            builder.emit(*made.setup)
            builder.store(made_at, literal(int(entry)), made.position)
    at = np.full(len(problem.parents), -1)
    run_level(view, builder, allotted.buffers, problem, made_at=at)
    assert np.array_equal(at, expected.positions)
    assert allotted.n_positions == expected.n_positions
    for role, buffer in expected.buffers.items():
        assert allotted.buffers[role].dtype == buffer.dtype
        assert np.array_equal(allotted.buffers[role], buffer)


@every_level
@given(data=st.data())
def test_size_counts_positions(level, data):
    problem = data.draw(fibres(level))
    packed = level.pack(
        problem.parents, problem.coordinates, problem.n_parents, problem.extent, "int32"
    )
    builder = Builder(["n_parents", "extent", "size", *level.roles])
    view = view_of(level, builder, "int32")
    size = ir.Buffer("size", "int64", writable=True)
    builder.store(size, literal(0), level.size(view, ir.Var("n_parents")))
    found = np.zeros(1, dtype=np.int64)
    run_level(view, builder, packed.buffers, problem, size=found)
    assert found[0] == packed.n_positions


@every_level
def test_text_makes_an_equal_level(level):
    made = type(level).from_arguments(level.arguments())
    assert made == level
    assert hash(made) == hash(level)


def test_registry_names_are_the_levels_own():
    assert {name: t.name for name, t in LEVEL_TYPES.items()} == {
        name: name for name in LEVEL_TYPES
    }
    expected = {"dense", "compressed", "singleton", "range", "bitmap", "padded"}
    assert expected | {"structured", "hashed"} <= set(LEVEL_TYPES)


def test_a_property_that_always_holds_cannot_be_taken_away():
    with pytest.raises(FormatError, match="dense level: expected ordered to hold"):
        Dense(ordered=False)
    with pytest.raises(FormatError, match="hashed level: expected unique and unord"):
        Hashed(ordered=True)
    with pytest.raises(FormatError, match="expected nonunique, unordered, got sorted"):
        Compressed.from_arguments(["sorted"])


@pytest.mark.parametrize("parents", [[0, 2], [0, 1, 1, 2], []])
def test_singleton_packs_exactly_one_entry_per_parent(parents):
    parents = np.array(parents, dtype=np.int64)
    with pytest.raises(FormatError, match="expected exactly one entry per parent"):
        Singleton().pack(parents, np.zeros_like(parents), 3, 5, "int32")


def test_unique_compressed_merges_equal_runs_and_nonunique_keeps_them():
    parents = np.array([0, 0, 0, 2], dtype=np.int64)
    coordinates = np.array([1, 1, 3, 3], dtype=np.int64)
    merged = Compressed().pack(parents, coordinates, 3, 4, "int32")
    assert merged.buffers["pos"].tolist() == [0, 2, 2, 3]
    assert merged.buffers["crd"].tolist() == [1, 3, 3]
    assert merged.positions.tolist() == [0, 0, 1, 2]
    kept = Compressed(unique=False).pack(parents, coordinates, 3, 4, "int32")
    assert kept.buffers["pos"].tolist() == [0, 3, 3, 4]
    assert kept.positions.tolist() == [0, 1, 2, 3]


def test_dense_refuses_more_positions_than_int64_counts():
    none = np.empty(0, dtype=np.int64)
    with pytest.raises(KernelMemoryError, match=r"below 2\*\*63"):
        Dense().pack(none, none, 2**40, 2**40, "int64")


def test_groups_join_the_fibres_of_parents_that_are_one_coordinate():
    crd = {"crd": np.array([2, 1, 0], dtype=np.int32)}
    apart = np.array([0, 1, 2])
    joined = np.array([0, 0, 1])
    assert Singleton().check(crd, 3, 3, apart) == 3
    with pytest.raises(InvalidBufferError, match="ascend in each fibre"):
        Singleton().check(crd, 3, 3, joined)
    assert Singleton(ordered=False).check(crd, 3, 3, joined) == 3
    twice = {"crd": np.array([2, 0, 2], dtype=np.int32)}
    with pytest.raises(InvalidBufferError, match="no coordinate twice"):
        Singleton(ordered=False).check(twice, 3, 3, np.array([0, 1, 0]))


@given(data=st.data(), dtype=index_dtypes)
def test_insertion_into_tables_in_any_order(data, dtype):
    level = Hashed()
    problem = data.draw(fibres(level))
    where = (problem.n_parents, problem.extent)
    packed = level.pack(problem.parents, problem.coordinates, *where, dtype)
    order = data.draw(st.permutations(range(len(problem.parents))))
    builder = Builder(["n_parents", "extent", "made_at", *level.roles])
    view = view_of(level, builder, dtype, writable=True)
    made_at = ir.Buffer("made_at", "int64", writable=True)
    for entry in [*order, *order]:
        parent, coordinate = problem.parents[entry], problem.coordinates[entry]
        made = level.insert(view, literal(int(parent)), literal(int(coordinate)))
        assert made.found is None
        builder.emit(*made.setup)
        builder.store(made_at, literal(entry), made.position)
    crd = np.full_like(packed.buffers["crd"], -1)
    buffers = {"pos": packed.buffers["pos"], "crd": crd}
    at = np.full(len(order), -1)
    run_level(view, builder, buffers, problem, made_at=at)
    assert level.check(buffers, *where) == packed.n_positions
    assert np.array_equal(crd[at], problem.coordinates)
    assert np.count_nonzero(crd >= 0) == len(order)
    found = level.unpack(buffers, *where)
    assert np.array_equal(found.parents[at], problem.parents)


@pytest.mark.parametrize("stride", [1, 2, 2**16, 2**20, 2**31 - 1])
def test_tables_of_strided_coordinates_stay_short_to_search(stride):
    coordinates = np.arange(2000, dtype=np.int64) * stride
    parents = np.zeros_like(coordinates)
    packed = Hashed().pack(parents, coordinates, 1, 2000 * stride, "int64")
    home = Hashed().pack(np.arange(2000), coordinates, 2000, 2000 * stride, "int64")
    assert home.n_positions == packed.n_positions == 4000
    occupied = packed.buffers["crd"] >= 0
    runs = np.diff(np.flatnonzero(~occupied)) - 1
    if stride != 2**31 - 1:  # the prime: all of them have one hash
        assert runs.max() < 200


def test_structured_makes_up_blocks_with_the_lowest_free_coordinates():
    parents = np.array([0, 2, 2], dtype=np.int64)
    coordinates = np.array([3, 0, 1], dtype=np.int64)
    packed = Structured(2, 4).pack(parents, coordinates, 3, 4, "int32")
    assert packed.buffers["crd"].tolist() == [0, 3, 0, 1, 0, 1]
    assert packed.positions.tolist() == [1, 4, 5]
