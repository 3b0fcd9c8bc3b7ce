"""Check that a function of the loop IR means something, before it is used."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.dtypes import is_half
from sparray.compiler.loop_ir.operators import (
    INDEX_OPERATORS,
    OPERATORS,
    REAL_RESULTS,
    reductions,
)
from sparray.compiler.loop_ir.printer import print_statement
from sparray.errors import InternalError

__all__ = ["verify"]

_DTYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 bfloat16 float32 float64 complex64 complex128".split()
)


def verify(function: ir.Function) -> None:
    """Check a function; every stage that makes loop IR is followed by it.

    Parameters
    ----------
    function : Function
        What to check.

    Raises
    ------
    InternalError
        If a name is used before it is declared, declared twice or used after it was
        freed; if dtypes or lanes disagree; if a buffer that is not writable is stored
        to; if an index is not int64; if `Parallel` is nested or its body assigns a
        variable of outside; if memory is not freed in the block that allocated it, or
        is renewed by another task.
    """
    checker = _Checker(function.name)
    for item in function.parameters:
        checker.parameter(item)
    checker.block(function.body, top=True)


class _InvalidError(Exception):
    """A problem, before the statement that has it is known."""


@dataclass(slots=True)
class _Checker:
    function: str
    taken: set[str] = field(default_factory=set)
    visible: dict[str, ir.Var | ir.Buffer] = field(default_factory=dict)
    assignable: set[str] = field(default_factory=set)
    allocated: set[str] = field(default_factory=set)

    def parameter(self, item: ir.Var | ir.Buffer) -> None:
        try:
            _expect_dtype(item.dtype)
            self.declare(item)
        except _InvalidError as problem:
            raise InternalError(
                f"function {self.function}: {problem}\n    parameter {item}"
            ) from None

    def block(self, block: ir.Block, *, top: bool = False) -> None:
        with self.scope():
            held: dict[str, ir.Allocate] = {}
            for each in block.statements:
                try:
                    self.statement(each, held, top=top)
                except _InvalidError as problem:
                    raise self.error(str(problem), each) from None
            for name, allocate in held.items():
                raise self.error(f"{name} is not freed in its block", allocate)

    def error(self, problem: str, statement: ir.Stmt) -> InternalError:
        text = print_statement(statement).replace("\n", "\n    ")
        return InternalError(f"function {self.function}: {problem}\n    {text}")

    @contextmanager
    def scope(self) -> Iterator[None]:
        visible, assignable = dict(self.visible), set(self.assignable)
        allocated = set(self.allocated)
        yield
        self.visible, self.assignable = visible, assignable
        self.allocated = allocated

    def declare(self, item: ir.Var | ir.Buffer) -> None:
        _expect(item.name not in self.taken, f"{item.name} is declared twice")
        self.taken.add(item.name)
        self.visible[item.name] = item

    def statement(
        self, node: ir.Stmt, held: dict[str, ir.Allocate], *, top: bool
    ) -> None:
        match node:
            case ir.Block():
                self.block(node)
            case ir.Declare(var, value):
                _expect_dtype(var.dtype)
                self.expression(value)
                _expect_same("variable and value", var, value)
                self.declare(var)
                self.assignable.add(var.name)
            case ir.Assign(var, value):
                self.expression(value)
                self.expression(var)
                _expect_same("variable and value", var, value)
                _expect(
                    var.name in self.assignable,
                    f"{var.name} is a parameter, a loop's variable or declared outside "
                    "the parallel loop",
                )
            case ir.Store():
                self.store(node)
            case ir.Allocate() | ir.Renew() | ir.Free():
                self.memory(node, held)
            case ir.Sort(buffer, count, marks):
                self.buffer(buffer)
                self.index("count", count)
                if marks is not None:
                    self.buffer(marks)
                    _expect(marks.dtype == "bool", f"{marks.name} holds no marks")
                _expect(buffer.writable, f"{buffer.name} is not writable")
                _expect_integers(buffer)
            case ir.Prefetch(buffer, index):
                self.buffer(buffer)
                self.index("index", index)
            case ir.Comment():
                pass
            case _:
                self.control(node, top=top)

    def memory(
        self, node: ir.Allocate | ir.Renew | ir.Free, held: dict[str, ir.Allocate]
    ) -> None:
        match node:
            case ir.Allocate(buffer, size):
                _expect_dtype(buffer.dtype)
                self.index("size", size)
                _expect(buffer.writable, f"{buffer.name} is allocated, not writable")
                self.declare(buffer)
                held[buffer.name] = node
                self.allocated.add(buffer.name)
            case ir.Renew(buffer, size):
                self.buffer(buffer)
                self.index("size", size)
                _expect(
                    buffer.name in self.allocated,
                    f"{buffer.name} was not allocated by this task",
                )
            case ir.Free(buffer):
                self.buffer(buffer)
                _expect(
                    held.pop(buffer.name, None) is not None,
                    f"{buffer.name} was not allocated in this block",
                )
                del self.visible[buffer.name]

    def control(self, node: ir.Stmt, *, top: bool) -> None:
        match node:
            case ir.For(var, begin, end, body, step):
                self.index("begin", begin)
                self.index("end", end)
                _expect(step != 0, "the step of a loop is 0")
                with self.scope():
                    self.loop_variable(var)
                    self.block(body)
            case ir.While(condition, body):
                self.condition(condition)
                self.block(body, top=top)
            case ir.If(condition, then, otherwise):
                self.condition(condition)
                self.block(then)
                if otherwise is not None:
                    self.block(otherwise)
            case ir.Parallel(var, count, threads, body):
                _expect(top, "a parallel loop is inside another than `While`")
                self.index("count", count)
                self.index("threads", threads)
                with self.scope():
                    self.assignable.clear()
                    self.allocated.clear()
                    self.loop_variable(var)
                    self.block(body)
            case _:
                raise InternalError(f"expected a statement of the loop IR, got {node}")

    def store(self, node: ir.Store) -> None:
        self.buffer(node.buffer)
        self.index("index", node.index)
        self.expression(node.value)
        _expect(node.buffer.writable, f"{node.buffer.name} is not writable")
        before = ir.Load(node.buffer, node.index, node.value.lanes)
        _expect_same("buffer and value", before, node.value)
        if node.op is not None:
            self.operation(ir.Binary(node.op, before, node.value, node.buffer.dtype))

    def loop_variable(self, var: ir.Var) -> None:
        _expect(
            var.dtype == "int64" and var.lanes == 1,
            f"loop variable {var.name} is not int64",
        )
        self.declare(var)

    def buffer(self, buffer: ir.Buffer) -> None:
        known = self.visible.get(buffer.name)
        _expect(
            isinstance(known, ir.Buffer),
            f"buffer {buffer.name} is not declared, or freed",
        )
        _expect(known == buffer, f"{buffer.name} was declared as {known}, not {buffer}")

    def index(self, role: str, node: ir.Expr) -> None:
        self.expression(node)
        _expect(
            node.dtype == "int64" and node.lanes == 1,
            f"{role} is {_kind(node)}, not int64",
        )

    def condition(self, node: ir.Expr) -> None:
        self.expression(node)
        _expect(
            node.dtype == "bool" and node.lanes == 1,
            f"the condition is {_kind(node)}, not bool",
        )

    def expression(self, node: ir.Expr) -> None:
        match node:
            case ir.Literal():
                _expect_dtype(node.dtype)
            case ir.Var():
                known = self.visible.get(node.name)
                _expect(isinstance(known, ir.Var), f"{node.name} is not declared")
                _expect(
                    known == node, f"{node.name} was declared as {known}, not {node}"
                )
            case ir.Load():
                self.buffer(node.buffer)
                self.index("index", node.index)
            case ir.Unary() | ir.Binary():
                self.operation(node)
            case ir.Cast():
                _expect_dtype(node.dtype)
                self.expression(node.operand)
                _expect_from_float32(node)
            case _:
                self.compound(node)
        _expect(node.lanes >= 1, f"{node.lanes} lanes")

    def compound(self, node: ir.Expr) -> None:
        match node:
            case ir.Select():
                for each in (node.condition, node.then, node.otherwise):
                    self.expression(each)
                _expect_same("sides of the choice", node.then, node.otherwise)
                _expect(
                    node.condition.dtype == "bool"
                    and node.condition.lanes in (1, node.lanes),
                    f"the choice's condition is {_kind(node.condition)}",
                )
            case ir.Broadcast():
                self.expression(node.operand)
                _expect(node.operand.lanes == 1, "a vector is broadcast")
            case ir.ReduceLanes():
                self.expression(node.operand)
                _expect(node.op in reductions(), f"{node.op} is no reduction")
                _expect(not is_half(node.dtype), f"{node.op} of {node.dtype}")
                lanes = node.operand.lanes
                _expect(
                    lanes > 1 and lanes & (lanes - 1) == 0 and node.lanes == 1,
                    f"{lanes} lanes are reduced to {node.lanes}",
                )
            case ir.Search():
                self.buffer(node.buffer)
                _expect_integers(node.buffer)
                self.index("begin", node.begin)
                self.index("end", node.end)
                self.index("value", node.value)
            case ir.Lookup():
                self.index("index", node.index)
                _expect(len(node.table) > 0, "a table has no elements")
                _expect(
                    all(-(2**63) <= value < 2**63 for value in node.table),
                    "a table's element does not fit int64",
                )
                _expect(_kind(node) == "int64", f"a table of {_kind(node)}, not int64")
            case _:
                raise InternalError(
                    f"expected an expression of the loop IR, got {node!r}"
                )

    def operation(self, node: ir.Unary | ir.Binary) -> None:
        operands = (
            (node.operand,) if isinstance(node, ir.Unary) else (node.left, node.right)
        )
        for each in operands:
            self.expression(each)
        first = operands[0]
        _expect(
            not is_half(first.dtype),
            f"{node.op} of {first.dtype}, which is only stored and cast",
        )
        _expect_same(f"operands of {node.op}", first, operands[-1])
        if node.op in INDEX_OPERATORS:
            _expect(
                len(operands) == 2
                and _kind(first) == "int64"
                and node.dtype == "int64",
                f"{node.op} of {_kind(first)} is not index arithmetic",
            )
            return
        row = OPERATORS.get(node.op)
        _expect(
            row is not None and row.arity == len(operands),
            f"there is no operator {node.op} of {len(operands)} operands",
        )
        expected = _result(node.op, first.dtype, node.dtype)
        _expect(
            node.dtype == expected,
            f"{node.op} of {first.dtype} gives {expected}, not {node.dtype}",
        )


def _result(op: str, operand: str, claimed: str) -> str:
    """Return the dtype that an operator gives, where it may choose the claimed one."""
    rule = OPERATORS[op].result
    if rule == "bool":
        return "bool"
    if rule == "float":
        return claimed if claimed.startswith(("float", "complex")) else "float64"
    if op in REAL_RESULTS and operand.startswith("complex"):
        return str(np.zeros((), operand).real.dtype)
    return operand


def _expect(fact: bool, problem: str) -> None:
    if not fact:
        raise _InvalidError(problem)


def _expect_dtype(dtype: str) -> None:
    _expect(dtype in _DTYPES, f"there is no dtype {dtype}")


def _expect_from_float32(node: ir.Cast) -> None:
    for half, other in (
        (node.dtype, node.operand.dtype),
        (node.operand.dtype, node.dtype),
    ):
        _expect(
            not is_half(half) or other == "float32",
            f"{half} is cast from or to {other}, not float32",
        )


def _expect_integers(buffer: ir.Buffer) -> None:
    _expect(
        buffer.dtype in ("int32", "int64"),
        f"{buffer.name} holds {buffer.dtype}, not coordinates",
    )


def _expect_same(what: str, a: ir.Expr, b: ir.Expr) -> None:
    _expect(
        a.dtype == b.dtype and a.lanes == b.lanes,
        f"{what} are {_kind(a)} and {_kind(b)}",
    )


def _kind(node: ir.Expr) -> str:
    return node.dtype if node.lanes == 1 else f"{node.dtype}x{node.lanes}"
