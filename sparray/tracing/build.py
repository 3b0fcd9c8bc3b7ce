"""From lazy arrays to a program, and the arrays that it reads."""

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from sparray.compiler.index_notation.affine import bases, rename_coordinate
from sparray.compiler.index_notation.grammar import CONSTANTS, is_function
from sparray.compiler.index_notation.inline import inline_temporaries
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Expr,
    Reduce,
)
from sparray.compiler.index_notation.printer import print_expression
from sparray.compiler.index_notation.program import Program
from sparray.compiler.index_notation.traversal import (
    children,
    replace_children,
)
from sparray.records import dataclass
from sparray.tracing.graph import Computed, Source, Tensor, View, Writer, ordered
from sparray.tracing.settle_choices import settle_choices

__all__ = ["Built", "build"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NUMBERED = re.compile(r"[a-z]\d+")
_LETTERS = "ijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Built:
    """A program with what it reads.

    Attributes
    ----------
    program : Program or None
        None if there is nothing to compute.
    sources : tuple of Source
        What each of the program's operands is.
    operands : tuple of str
        What the program calls them.
    names : tuple of str
        The name of each result in the program, for each lazy array.
    """

    program: Program | None
    sources: tuple[Source, ...]
    operands: tuple[str, ...]
    names: tuple[str, ...]


def build(views: Sequence[View]) -> Built:
    """Return the program that computes views.

    Statements that say the same of the same tensors are one.
    """
    if not views:
        return Built(None, (), (), ())
    results = [_result(view) for view in views]
    tensors = list(ordered(results))
    named = _Names(tensors)
    statements: list[Assignment] = []
    known: dict[tuple[str, ...], str] = {}
    for tensor in tensors:
        if not isinstance(tensor, Computed):
            continue
        statement = named.statement(tensor, results)
        # The text tells numbers of different types apart.
        text = (print_expression(statement.value), *statement.target.indices)
        if text in known:
            named.names[id(tensor)] = known[text]
            continue
        known[text] = statement.target.tensor
        statements.append(statement)
    names = tuple(named.names[id(result)] for result in results)
    program = Program(tuple(statements), tuple(dict.fromkeys(names)))
    dtypes = {named.names[id(x)]: x.dtype.name for x in tensors}
    program = settle_choices(inline_temporaries(program), dtypes)
    by_name = {
        named.names[id(x)]: x for x in reversed(tensors) if isinstance(x, Source)
    }
    operands = program.operands
    sources = tuple(by_name[name] for name in operands)
    return Built(program, sources, operands, names)


def _result(view: View) -> Computed:
    """Return the statement that makes a view an array of its own."""
    if view.is_whole and isinstance(view.tensor, Computed):
        return view.tensor
    writer = Writer()
    indices = [writer.index() for _ in view.dims]
    value = writer.access(view, indices)
    for dim, index in zip(view.dims, indices, strict=True):
        if dim is None:
            # A dimension of extent 1: of an array of one 1.
            ones = np.ones(1, view.tensor.dtype)
            one = Source((1,), ones.dtype, ones, hint="one", is_number=True)
            value = Apply("mul", (value, writer.access(View(one, (0,)), [index])))
    made = writer.made(value, indices, view.shape, view.tensor.dtype)
    if not isinstance(made.tensor, Computed):
        raise TypeError("expected a statement")
    return made.tensor


class _Names:
    """What tensors and indices are called in a program."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.names: dict[int, str] = {}
        captured: dict[int, str] = {}
        taken: set[str] = set()
        for tensor in tensors:
            if not isinstance(tensor, Source):
                continue
            if tensor.value is not None and id(tensor.value) in captured:
                self.names[id(tensor)] = captured[id(tensor.value)]
                continue
            name = _fresh(tensor.hint, taken)
            taken.add(name)
            self.names[id(tensor)] = name
            if tensor.value is not None:
                captured[id(tensor.value)] = name
        self.taken = taken
        self.temporaries = (f"T{n}" for n in count(1) if f"T{n}" not in taken)
        self.letters = [x for x in _LETTERS if x not in taken]

    def statement(self, tensor: Computed, results: Sequence[Tensor]) -> Assignment:
        """Return a statement in the program's names, and name what it makes."""
        is_result = any(tensor is result for result in results)
        if is_result and len(results) == 1 and "out" not in self.taken:
            name = "out"
        else:
            name = next(self.temporaries)
        self.names[id(tensor)] = name
        reads = {f"t{n}": self.names[id(x)] for n, x in enumerate(tensor.reads)}
        found = dict.fromkeys((*tensor.indices, *_indices(tensor.value)))
        free = self._free_indices()
        indices = {index: next(free) for index in found}
        target = Access(name, tuple(indices[i] for i in tensor.indices))
        return Assignment(target, _renamed(tensor.value, reads, indices))

    def _free_indices(self) -> Iterator[str]:
        yield from self.letters
        yield from (f"i{n}" for n in count() if f"i{n}" not in self.taken)


def _fresh(hint: str, taken: set[str]) -> str:
    """Return a name that the parser reads as a tensor's, like a hint if it can be."""
    usable = _NAME.fullmatch(hint) and not is_function(hint) and hint not in CONSTANTS
    # Names of temporaries, and of indices, are the program's.
    if not usable or hint == "out" or _NUMBERED.fullmatch(hint) or hint[0] == "T":
        hint = "x"
    if hint not in taken:
        return hint
    return next(f"{hint}_{n}" for n in count(2) if f"{hint}_{n}" not in taken)


def _indices(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Access | Reduce):
        # A coordinate may be a window, or a constant.
        yield from (index for text in expr.indices for index in bases(text))
    for child in children(expr):
        yield from _indices(child)


def _renamed(expr: Expr, names: dict[str, str], indices: dict[str, str]) -> Expr:
    if isinstance(expr, Access):
        coordinates = tuple(rename_coordinate(x, indices) for x in expr.indices)
        return Access(names[expr.tensor], coordinates)
    below: Any = tuple(_renamed(child, names, indices) for child in children(expr))
    if isinstance(expr, Reduce):
        return Reduce(expr.op, tuple(indices[i] for i in expr.indices), below[0])
    return replace_children(expr, below)
