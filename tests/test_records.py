"""Records are dataclasses: each is compared with what the standard library makes."""

import copy
import dataclasses
import functools
import inspect
import pickle
from dataclasses import FrozenInstanceError, field
from typing import ClassVar

import pytest

from sparray import records

MAKERS = {"standard": dataclasses.dataclass, "ours": records.dataclass}


def classes(dataclass):
    """Return classes of every kind that the package has, made by a decorator."""

    @dataclass(frozen=True, slots=True)
    class Empty:
        """Nothing."""

    @dataclass(frozen=True, slots=True)
    class Base:
        """Defaults, a class variable, and a check."""

        kind: ClassVar[str] = "base"
        a: int
        b: tuple[int, ...] = ()
        ordered: bool = field(default=True, kw_only=True)

        def __post_init__(self):
            if self.a < 0:
                raise ValueError("expected a number that is not negative")

    @dataclass(frozen=True, slots=True)
    class Derived(Base):
        """More fields, not all of which are compared or shown."""

        names: list[str] = field(default_factory=list, hash=False)
        seen: dict[str, int] = field(default_factory=dict, compare=False)
        hidden: int = field(default=3, repr=False)

    @dataclass(frozen=True, slots=True)
    class Later:
        """Fields that no argument is for."""

        x: int
        twice: int = field(init=False)
        listed: list[int] = field(init=False, default_factory=list)
        fixed: int = field(init=False, default=7)

        def __post_init__(self):
            object.__setattr__(self, "twice", 2 * self.x)

    @dataclass(frozen=True, slots=True)
    class Own:
        """Functions of its own."""

        x: float

        def __init__(self, x):
            object.__setattr__(self, "x", 2 * x)

        def __eq__(self, other):
            return isinstance(other, Own) and abs(self.x - other.x) < 1

        def __hash__(self):
            return 1

        def __repr__(self):
            return "own"

    @dataclass(frozen=True)
    class Open:
        """No slots, so that something may be kept."""

        x: int
        y: tuple[int, ...] = ()

        @functools.cached_property
        def twice(self):
            return 2 * self.x

    @dataclass(frozen=True)
    class Opened(Open):
        """One more field."""

        z: int = 3

    return {
        "Empty": Empty,
        "Open": Open,
        "Opened": Opened,
        "Base": Base,
        "Derived": Derived,
        "Later": Later,
        "Own": Own,
    }


CLASSES = {name: classes(make) for name, make in MAKERS.items()}

CALLS = [
    ("Empty", (), {}),
    ("Base", (1,), {}),
    ("Base", (1, (2, 3)), {"ordered": False}),
    ("Base", (), {"b": (4,), "a": 0}),
    ("Derived", (1,), {}),
    ("Derived", (1, (2,), ["x"]), {"seen": {"y": 1}, "hidden": 4}),
    ("Later", (3,), {}),
    ("Own", (0.5,), {}),
    ("Open", (2,), {}),
    ("Opened", (2, (1,)), {"z": 5}),
]
WRONG = [
    ("Empty", (1,), {}),
    ("Base", (), {}),
    ("Base", (-1,), {}),
    ("Base", (1, (), False), {}),
    ("Base", (1,), {"c": 2}),
    ("Base", (1,), {"a": 2}),
    ("Later", (1, 2), {}),
    ("Opened", (1, (), 2, 3), {}),
]


def both(name, arguments, named):
    return [CLASSES[maker][name](*arguments, **named) for maker in MAKERS]


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_instances_are_alike(call):
    expected, made = both(*call)
    plain = repr(expected).replace("<locals>.", "")
    assert repr(made).replace("<locals>.", "") == plain
    # Classes of one name in one function: only the values are compared.
    values = [
        {f.name: getattr(one, f.name) for f in dataclasses.fields(one)}
        for one in (expected, made)
    ]
    assert values[0] == values[1]
    assert outcome(lambda: hash(made)) == outcome(lambda: hash(expected))
    assert type(made).__match_args__ == type(expected).__match_args__
    for word in ("__slots__", "__dict__"):
        assert getattr(type(made), word, None).__class__ == (
            getattr(type(expected), word, None).__class__
        )
    assert hasattr(made, "__dict__") == hasattr(expected, "__dict__")


def test_a_record_without_slots_keeps_what_is_computed_once():
    for one in both("Opened", (4,), {}):
        assert one.twice == 8 == vars(one)["twice"]
        with pytest.raises(FrozenInstanceError):
            one.x = 3
        assert copy.copy(one) == one


def test_what_waits_for_the_first_use_may_be_called_after_it():
    """Another thread may have been about to call it."""

    @records.dataclass(frozen=True, slots=True)
    class Record:
        x: int

    waiting = [vars(Record)[name] for name in ("__hash__", "__eq__")]
    one, other = Record(1), Record(1)
    assert waiting[0](one) == hash(other)
    assert waiting[1](one, other)


def test_signatures_are_alike():
    for name in ("Base", "Derived", "Open", "Own"):
        expected, made = (inspect.signature(CLASSES[maker][name]) for maker in MAKERS)
        assert list(expected.parameters) == list(made.parameters)


@pytest.mark.parametrize("call", WRONG, ids=str)
def test_wrong_arguments_raise_alike(call):
    name, arguments, named = call
    kinds = [
        outcome(lambda maker=maker: CLASSES[maker][name](*arguments, **named))
        for maker in MAKERS
    ]
    assert kinds[0] is kinds[1]
    assert issubclass(kinds[0], Exception)


@pytest.mark.parametrize("maker", MAKERS)
def test_equal_is_what_has_equal_values_and_the_same_class(maker):
    base, derived = CLASSES[maker]["Base"], CLASSES[maker]["Derived"]
    assert base(1, (2,)) == base(1, (2,))
    assert base(1, (2,)) != base(1, (3,))
    assert base(1) != derived(1)
    assert derived(1, seen={"a": 1}) == derived(1)
    assert derived(1, names=["a"]) != derived(1)
    nan = float("nan")
    assert base(nan) == base(nan), "as tuples, by identity first"
    assert hash(base(1, (2,))) == hash(base(1, (2,)))
    assert CLASSES[maker]["Own"](0.5) == CLASSES[maker]["Own"](0.7)


@pytest.mark.parametrize("maker", MAKERS)
def test_nothing_is_assigned_after(maker):
    one = CLASSES[maker]["Derived"](1)
    for name in ("a", "hidden"):
        with pytest.raises(
            FrozenInstanceError, match=f"cannot assign to field '{name}'"
        ):
            setattr(one, name, 2)
        with pytest.raises(FrozenInstanceError, match="cannot delete field"):
            delattr(one, name)
    assert one.a == 1
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        one.unknown = 1


@pytest.mark.parametrize("maker", MAKERS)
def test_copies_are_equal(maker):
    one = CLASSES[maker]["Derived"](1, (2,), ["x"], hidden=5)
    for made in (copy.copy(one), copy.deepcopy(one)):
        assert made == one
        assert made.hidden == 5
    assert dataclasses.replace(one, a=7) == CLASSES[maker]["Derived"](
        7, (2,), ["x"], hidden=5
    )
    assert dataclasses.asdict(one)["names"] == ["x"]


def test_a_record_of_the_package_is_pickled():
    from sparray.formats import named_format

    format = named_format("csr", 2)
    assert pickle.loads(pickle.dumps(format)) == format
    level = format.levels[1]
    assert pickle.loads(pickle.dumps(level)) == level


def test_other_options_are_those_of_the_standard_library():
    @records.dataclass(slots=True)
    class Mutable:
        x: int

    one = Mutable(1)
    one.x = 2
    assert one == Mutable(2)


@pytest.mark.parametrize("base", MAKERS)
@pytest.mark.parametrize("derived", MAKERS)
def test_each_derives_from_the_other(base, derived):
    class_ = CLASSES[base]["Base"]

    @MAKERS[derived](frozen=True, slots=True)
    class More(class_):
        """One more field."""

        c: int = 0

    one = More(1, (2,), 3, ordered=False)
    assert dataclasses.astuple(one) == (1, (2,), False, 3)
    assert one == dataclasses.replace(one)
    with pytest.raises(FrozenInstanceError):
        one.c = 4
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(type("Thawed", (class_,), {}))
