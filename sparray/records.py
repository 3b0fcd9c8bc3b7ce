"""Frozen dataclasses, most with slots, that are made in a third of the time.

The first call of a process makes some 200 of these classes. `dataclasses.dataclass`
compiles six functions for each of them, one by one, 0.6 to 0.9 ms in Python 3.11, which
was half of what that call took; here three are compiled, at once, when the first of
them is called, and the others are the same for all. What these classes do does not
differ (the tests compare them), and a type checker reads ``dataclass`` itself.
"""

import dataclasses
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

_OF_EACH_CLASS = "__init__", "__eq__", "__hash__"
_FUNCTIONS = """
def __init__({parameters}):
    {body}
def __eq__(self, other):
    if other.__class__ is self.__class__:
        return {ours} == {theirs}
    return NotImplemented
def __hash__(self):
    return hash({hashed})
"""

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Decorate a class as `dataclasses.dataclass` does, with its options."""

        def decorate(cls: type) -> type:
            slots = options.get("slots", False)
            if options != {"frozen": True} | ({"slots": True} if slots else {}):
                return dataclasses.dataclass(cls, **options)
            return _made(cls, slots)

        return decorate if cls is None else decorate(cls)


def _made(cls: type, slots: bool) -> type:
    with _thawed(cls.__mro__[1:]):
        # Fields, in their order, with those of bases; no functions.
        cls = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    cls.__dataclass_params__.frozen = True  # type: ignore[attr-defined]
    own = dict(vars(cls))
    fields = [f for f in vars(cls)["__dataclass_fields__"].values() if _is_field(f)]
    made = _with_slots(cls, own, [f.name for f in fields]) if slots else cls
    setters = {f.name: _setter(made, f.name, slots) for f in fields}
    functions = {
        "__repr__": _representer([f.name for f in fields if f.repr]),
        "__setattr__": _refuse_assignment,
        "__delattr__": _refuse_deletion,
    }
    if slots:
        functions["__getstate__"] = _state_getter([f.name for f in fields])
        functions["__setstate__"] = _state_setter(list(setters.values()))
    # `__hash__` is None where there is an `__eq__` and no `__hash__`.
    lacking = {name for name in (*functions, *_OF_EACH_CLASS) if own.get(name) is None}
    then = hasattr(made, "__post_init__")
    build = partial(_build, made, lacking, fields, setters, then)
    functions |= {name: _on_first_use(name, build) for name in _OF_EACH_CLASS}
    made.__signature__ = _Signature(build)  # type: ignore[attr-defined]
    _add(made, lacking, functions)
    return made


def _setter(made: type, name: str, slots: bool) -> Callable[[Any, Any], None]:
    if slots:
        setter: Callable[[Any, Any], None] = getattr(made, name).__set__
        return setter
    return lambda self, value: self.__dict__.__setitem__(name, value)


def _add(made: type, lacking: Container[str], functions: Mapping[str, Any]) -> None:
    """Give a class the functions that it is lacking."""
    for name, function in functions.items():
        if name in lacking:
            function.__qualname__ = f"{made.__qualname__}.{name}"
            setattr(made, name, function)


def _build(
    made: type,
    lacking: Container[str],
    fields: "list[Field[Any]]",
    setters: dict[str, Any],
    then: bool,
) -> dict[str, Any]:
    """Put what is compiled in place of what waits for the first use."""
    functions = _compiled(fields, setters, then)
    _add(made, lacking, functions)
    return functions


def _on_first_use(name: str, build: Callable[[], dict[str, Any]]) -> Callable[..., Any]:
    """Return what stands for a function of a class until it is called."""

    def wait(self: Any, *args: Any, **named: Any) -> Any:
        return build()[name](self, *args, **named)

    return wait


class _Signature:
    """The signature of a class, which has to be compiled for it."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build

    def __get__(self, instance: Any, owner: type) -> Any:
        from inspect import Signature, signature

        self._build()
        found = signature(owner.__init__)  # type: ignore[misc]
        return Signature([*found.parameters.values()][1:])


@contextmanager
def _thawed(bases: Iterable[type]) -> Iterator[None]:
    """Let bases pass for ones that are not frozen: what is frozen here is made here."""
    frozen = []
    for base in bases:
        parameters = vars(base).get("__dataclass_params__")
        if parameters is not None and parameters.frozen:
            frozen.append(parameters)
            parameters.frozen = False
    try:
        yield
    finally:
        for parameters in frozen:
            parameters.frozen = True


def _is_field(field: "Field[Any]") -> bool:
    # Others are ClassVar and InitVar, which none of these classes initialises.
    return field._field_type is dataclasses._FIELD  # type: ignore[attr-defined]


def _with_slots(cls: type, own: dict[str, Any], names: list[str]) -> type:
    """Return the class with a slot for each field that no base has one for."""
    inherited = {
        slot for base in cls.__mro__[1:] for slot in getattr(base, "__slots__", ())
    }
    content = {
        name: value
        for name, value in own.items()
        if name not in names and name not in ("__dict__", "__weakref__")
    }
    content["__slots__"] = tuple(name for name in names if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, content)
    made.__qualname__ = cls.__qualname__
    return made


def _compiled(
    fields: "list[Field[Any]]", setters: dict[str, Any], then: bool
) -> dict[str, Callable[..., Any]]:
    """Compile the functions that a class has of its own, all of them at once.

    ``__init__`` assigns to slots, past what refuses assignments.
    """
    known: dict[str, Any] = {"_MISSING": MISSING}
    positional: list[str] = []
    named: list[str] = []
    lines = []
    for f in fields:
        name, value = f.name, f.name
        known[f"_set_{name}"] = setters[name]
        parameter = name
        if f.default is not MISSING:
            known[f"_default_{name}"] = f.default
            parameter = f"{name}=_default_{name}"
        elif f.default_factory is not MISSING:
            known[f"_make_{name}"] = f.default_factory
            parameter = f"{name}=_MISSING"
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        if f.init:
            (named if f.kw_only else positional).append(parameter)
            lines.append(f"_set_{name}(self, {value})")
        elif f.default_factory is not MISSING:
            lines.append(f"_set_{name}(self, _make_{name}())")
        elif f.default is not MISSING:
            lines.append(f"_set_{name}(self, _default_{name})")
    if named:
        named.insert(0, "*")
    if then:
        lines.append("self.__post_init__()")
    body = "\n    ".join(lines or ["pass"])
    compared = [f.name for f in fields if f.compare]
    hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
    text = _FUNCTIONS.format(
        parameters=", ".join(["self", *positional, *named]),
        body=body,
        ours=_tuple("self", compared),
        theirs=_tuple("other", compared),
        hashed=_tuple("self", hashed),
    )
    exec(text, known)
    known["__init__"].__annotations__ = {f.name: f.type for f in fields if f.init}
    return {name: known[name] for name in _OF_EACH_CLASS}


def _tuple(owner: str, names: list[str]) -> str:
    return "(" + "".join(f"{owner}.{name}, " for name in names) + ")"


def _representer(names: list[str]) -> Callable[[Any], str]:
    def represent(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return represent


def _refuse_assignment(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state_getter(names: list[str]) -> Callable[[Any], list[Any]]:
    return lambda self: [getattr(self, name) for name in names]


def _state_setter(setters: list[Any]) -> Callable[[Any, list[Any]], None]:
    def restore(self: Any, state: list[Any]) -> None:
        for assign, value in zip(setters, state, strict=True):
            assign(self, value)

    return restore
