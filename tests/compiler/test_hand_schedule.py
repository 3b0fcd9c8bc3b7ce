"""A schedule as text: built, printed, read back; what is none is refused."""

import pytest

from sparray.compiler.hand_schedule import Schedule, parse_schedule
from sparray.errors import ScheduleError

EVERY_COMMAND = (
    Schedule()
    .split("j", 64)
    .split("k", "k-i")
    .reorder("i k-i j_out j_in")
    .accumulate()
    .tile("j", "16 4 1")
    .prefetch("k", 8)
    .unroll("k", 4)
    .vectorize("j_in")
    .parallelize("i")
    .assemble("inherit from A")
)


def test_text_is_read_back():
    text = (
        "split(j, 64).split(k, k-i).reorder(i k-i j_out j_in).accumulate()"
        ".tile(j, 16 4 1).prefetch(k, 8).unroll(k, 4).vectorize(j_in).parallelize(i)"
        ".assemble(inherit from A)"
    )
    assert str(EVERY_COMMAND) == text
    assert parse_schedule(text) == EVERY_COMMAND
    assert hash(parse_schedule(text)) == hash(EVERY_COMMAND)
    assert parse_schedule("") == Schedule() == parse_schedule(" \n ")


def test_text_may_have_spaces_and_lines():
    found = parse_schedule(" reorder( i  k j )\n  .tile( j , 4 )  unroll(k,2)")
    assert found == Schedule().reorder("i k j").tile("j", 4).unroll("k", 2)


def test_parts_of_expressions_keep_their_commas():
    text = "precompute(max(x[j,k], 0.5) * exp(y[j]), i).pack(B[k,j], i).fuse(i, j)"
    read = parse_schedule(text)
    assert str(read) == text
    assert str(parse_schedule("fuse(i,j) pos( i , A[i, j])")) == (
        "fuse(i, j).pos(i, A[i,j])"
    )
    with pytest.raises(ScheduleError, match="pos: expected the name of a tensor"):
        Schedule().pos("i", "A-B")
    assert read.commands[0].arguments == ("max(x[j,k], 0.5) * exp(y[j])", "i")
    assert read.commands[1].arguments == ("B[k,j]", "i")
    for part in ("", "f(x", "x), i", 3):
        with pytest.raises(ScheduleError, match="precompute: expected"):
            Schedule().precompute(part, "i")


def test_a_schedule_does_not_change():
    first = Schedule().reorder("i j")
    first.unroll("j", 2)
    assert str(first) == "reorder(i j)"


def test_a_tile_stands_for_its_halves():
    assert str(Schedule().tile("j", 8)) == "tile(j, 8 4 2 1)"
    assert str(Schedule().tile("j", "8 1")) == "tile(j, 8 1)"
    assert str(Schedule().tile("j", 1)) == "tile(j, 1)"


def test_zeroed_is_printed_and_read_over():
    read = parse_schedule("assemble(insert, zeroed)")
    assert read == Schedule().assemble("insert")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "spin(i)",
            "reorder",
            "reorder(i",
            "reorder i",
            "reorder(i)) ",
            "_then(a, b)",
        ),
        *("split(i, 4) + 3", "commands()", "reorder(i).\x00(j)", "reorder(i)(j)"),
    ],
)
def test_what_is_no_command_is_marked(text):
    with pytest.raises(ScheduleError, match="expected a command of accumulate") as e:
        parse_schedule(text)
    assert str(e.value).endswith("^")
    assert "\x00" not in str(e.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("reorder(i j, k)", "other arguments for reorder"),
        ("split(i)", "other arguments for split"),
        ("split(i, 1)", "a number from 2"),
        ("split(i, 99999999999)", "a whole number, got '99999999999'"),
        ("split(i, 9999999999)", "a number from 2 to 2147483647"),
        ("split(i, -4)", "the name of an index"),
        ("reorder(i 4)", "the name of an index, got '4'"),
        ("reorder(i;j)", "the name of an index"),
        ("tile(j, x)", "a whole number, got 'x'"),
        ("tile(j, )", "sizes, got none"),
        ("unroll(k, 1)", "a number from 2"),
        ("prefetch(k, 0)", "a number from 1"),
        ("assemble(somehow)", "one of insert, place, "),
    ],
)
def test_arguments_are_checked(text, message):
    with pytest.raises(ScheduleError, match=message):
        parse_schedule(text)


def test_arguments_of_other_types_are_refused():
    with pytest.raises(ScheduleError, match="reorder: expected text, got list"):
        Schedule().reorder(["i", "j"])
    with pytest.raises(ScheduleError, match="a whole number, got True"):
        Schedule().split("i", True)
    with pytest.raises(ScheduleError, match="a whole number, got 2"):
        Schedule().unroll("i", 2.0)
    with pytest.raises(ScheduleError, match="schedule: expected text"):
        parse_schedule(3)
