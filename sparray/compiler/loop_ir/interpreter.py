"""Run loop IR over NumPy arrays in plain Python: what compiled kernels must equal.

Slow and strict. What C would leave undefined is an error here: an index outside its
buffer, two parallel tasks that touch one element, a size below 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.dtypes import dtype_kind, numpy_dtype
from sparray.compiler.loop_ir.operators import INDEX_OPERATORS, OPERATORS, REAL_RESULTS
from sparray.errors import InternalError, UnsupportedError

__all__ = ["run", "run_named"]

Array = npt.NDArray[Any]
# A NumPy scalar, or an array of one element per lane.
Value = Any


def run_named(
    functions: Sequence[ir.Function], name: str, arguments: Sequence[Any]
) -> None:
    """Run the function of a name, with arguments in the order of its parameters.

    Raises
    ------
    InternalError, UnsupportedError
        As `run` does.
    """
    (function,) = (each for each in functions if each.name == name)
    parameters = [parameter.name for parameter in function.parameters]
    run(function, dict(zip(parameters, arguments, strict=True)))


def run(
    function: ir.Function,
    arguments: Mapping[str, Array | int | float],
    *,
    counter: dict[str, int] | None = None,
) -> None:
    """Run a function; writable buffers among the arguments receive its results.

    Parameters
    ----------
    function : Function
        A verified function.
    arguments : mapping of str to ndarray, int or float
        By parameter name: a 1-D array of the buffer's dtype, or a scalar.
    counter : dict of str to int, optional
        Receives the number of iterations by loop variable (added to what is there);
        all `While` loops together count as ``"while"``.

    Raises
    ------
    InternalError
        If an argument is missing or is of another dtype, or the function reads or
        writes outside a buffer, or two tasks of a parallel loop touch an element
        that one of them writes.
    UnsupportedError
        If NumPy has no such operation on that dtype.
    """
    state = _State(function.name, {} if counter is None else counter)
    for item in function.parameters:
        if item.name not in arguments:
            raise InternalError(
                f"function {function.name}: expected an argument {item.name}, got "
                f"{', '.join(arguments)}"
            )
        state.bind(item, arguments[item.name])
    # Wraparound and inf are C's answers too, not worth a warning.
    with np.errstate(all="ignore"):
        _execute(function.body, state)


@dataclass(slots=True)
class _State:
    function: str
    counter: dict[str, int]
    values: dict[str, Value] = field(default_factory=dict)
    buffers: dict[str, Array] = field(default_factory=dict)
    races: "_Races | None" = None

    def bind(self, item: ir.Buffer | ir.Var, argument: Any) -> None:
        if isinstance(item, ir.Var):
            self.values[item.name] = np.dtype(item.dtype).type(argument)
            return
        array = np.asarray(argument)
        if array.ndim != 1 or array.dtype != item.dtype:
            raise InternalError(
                f"function {self.function}: expected {item.name} as a 1-D array of "
                f"{item.dtype}, got {array.ndim}-D of {array.dtype}"
            )
        self.buffers[item.name] = array

    def window(
        self, name: str, begin: int, length: int, *, write: bool
    ) -> tuple[Array, slice]:
        """Return a buffer and a slice of it, having checked bounds and races."""
        array = self.buffers[name]
        if begin < 0 or length < 0 or begin + length > len(array):
            raise InternalError(
                f"function {self.function}: {name}[{begin}:{begin + length}] is "
                f"outside its {len(array)} elements"
            )
        if self.races is not None:
            self.races.touch(self.function, name, range(begin, begin + length), write)
        return array, slice(begin, begin + length)

    def count(self, loop: str) -> None:
        self.counter[loop] = self.counter.get(loop, 0) + 1


@dataclass(slots=True)
class _Races:
    """Which task of a parallel loop read or wrote each element of a shared buffer."""

    shared: frozenset[str]
    task: int = 0
    readers: dict[tuple[str, int], int] = field(default_factory=dict)
    writers: dict[tuple[str, int], int] = field(default_factory=dict)

    def touch(self, function: str, name: str, indices: range, write: bool) -> None:
        if name not in self.shared:
            return
        for i in indices:
            others = [self.writers.get((name, i), self.task)]
            if write:
                others.append(self.readers.get((name, i), self.task))
            if any(other != self.task for other in others):
                raise InternalError(
                    f"function {function}: two parallel tasks touch {name}[{i}]"
                )
            (self.writers if write else self.readers)[name, i] = self.task


@singledispatch
def _evaluate(node: ir.Expr, state: _State) -> Value:
    raise InternalError(f"expected an expression of the loop IR, got {node!r}")


@_evaluate.register
def _(node: ir.Literal, state: _State) -> Value:
    value = numpy_dtype(node.dtype).type(node.value)
    return value if node.lanes == 1 else np.full(node.lanes, value)


@_evaluate.register
def _(node: ir.Var, state: _State) -> Value:
    return state.values[node.name]


@_evaluate.register
def _(node: ir.Load, state: _State) -> Value:
    index = int(_evaluate(node.index, state))
    array, window = state.window(node.buffer.name, index, node.lanes, write=False)
    return array[index] if node.lanes == 1 else array[window].copy()


@_evaluate.register
def _(node: ir.Unary, state: _State) -> Value:
    return _apply(node.op, node.dtype, _evaluate(node.operand, state))


@_evaluate.register
def _(node: ir.Binary, state: _State) -> Value:
    left, right = _evaluate(node.left, state), _evaluate(node.right, state)
    return _apply(node.op, node.dtype, left, right)


@_evaluate.register
def _(node: ir.Select, state: _State) -> Value:
    condition = _evaluate(node.condition, state)
    # Both sides, always: the compiled kernel may evaluate both.
    then, otherwise = _evaluate(node.then, state), _evaluate(node.otherwise, state)
    if node.condition.lanes == 1:
        return then if condition else otherwise
    return np.where(condition, then, otherwise)


@_evaluate.register
def _(node: ir.Cast, state: _State) -> Value:
    return _convert(_evaluate(node.operand, state), node.dtype)


@_evaluate.register
def _(node: ir.Broadcast, state: _State) -> Value:
    value = _evaluate(node.operand, state)
    return value if node.lanes == 1 else np.full(node.lanes, value)


@_evaluate.register
def _(node: ir.ReduceLanes, state: _State) -> Value:
    value = _evaluate(node.operand, state)
    while len(value) > 1:
        half = len(value) // 2
        value = _apply(node.op, node.dtype, value[:half], value[half:])
    return value[0]


@_evaluate.register
def _(node: ir.Search, state: _State) -> Value:
    begin, end = int(_evaluate(node.begin, state)), int(_evaluate(node.end, state))
    array, window = state.window(node.buffer.name, begin, end - begin, write=False)
    value = _evaluate(node.value, state)
    return np.int64(begin + np.searchsorted(array[window], value))


@_evaluate.register
def _(node: ir.Lookup, state: _State) -> Value:
    index = int(_evaluate(node.index, state))
    if not 0 <= index < len(node.table):
        raise InternalError(
            f"function {state.function}: element {index} is outside a table of "
            f"{len(node.table)}"
        )
    return np.int64(node.table[index])


@singledispatch
def _execute(node: ir.Stmt, state: _State) -> None:
    raise InternalError(f"expected a statement of the loop IR, got {node!r}")


@_execute.register
def _(node: ir.Block, state: _State) -> None:
    for statement in node.statements:
        _execute(statement, state)


@_execute.register(ir.Declare)
@_execute.register(ir.Assign)
def _(node: ir.Declare | ir.Assign, state: _State) -> None:
    state.values[node.var.name] = _evaluate(node.value, state)


@_execute.register
def _(node: ir.Store, state: _State) -> None:
    index, lanes = int(_evaluate(node.index, state)), node.value.lanes
    value = _evaluate(node.value, state)
    if node.op is not None:
        before = _evaluate(ir.Load(node.buffer, node.index, lanes), state)
        value = _apply(node.op, node.buffer.dtype, before, value)
    array, window = state.window(node.buffer.name, index, lanes, write=True)
    array[window] = value


@_execute.register
def _(node: ir.For, state: _State) -> None:
    begin, end = int(_evaluate(node.begin, state)), int(_evaluate(node.end, state))
    for i in range(begin, end, node.step):
        state.count(node.var.name)
        state.values[node.var.name] = np.int64(i)
        _execute(node.body, state)


@_execute.register
def _(node: ir.While, state: _State) -> None:
    while _evaluate(node.condition, state):
        state.count("while")
        _execute(node.body, state)


@_execute.register
def _(node: ir.If, state: _State) -> None:
    if _evaluate(node.condition, state):
        _execute(node.then, state)
    elif node.otherwise is not None:
        _execute(node.otherwise, state)


@_execute.register
def _(node: ir.Parallel, state: _State) -> None:
    state.races = _Races(frozenset(state.buffers))
    for task in range(int(_evaluate(node.count, state))):
        state.count(node.var.name)
        state.races.task = task
        state.values[node.var.name] = np.int64(task)
        _execute(node.body, state)
    state.races = None


@_execute.register(ir.Allocate)
@_execute.register(ir.Renew)
def _(node: ir.Allocate | ir.Renew, state: _State) -> None:
    size = int(_evaluate(node.size, state))
    if size < 0:
        raise InternalError(
            f"function {state.function}: {node.buffer.name} has a size of {size}"
        )
    dtype = numpy_dtype(node.buffer.dtype)
    state.buffers[node.buffer.name] = (
        np.zeros(size, dtype) if node.zeroed else np.full(size, _poison(dtype), dtype)
    )


@_execute.register
def _(node: ir.Free, state: _State) -> None:
    del state.buffers[node.buffer.name]


@_execute.register
def _(node: ir.Sort, state: _State) -> None:
    count = int(_evaluate(node.count, state))
    array, window = state.window(node.buffer.name, 0, count, write=True)
    array[window].sort()
    if node.marks is not None:
        marked = np.flatnonzero(state.buffers[node.marks.name])
        if not np.array_equal(marked, array[window]):
            raise InternalError(
                f"function {state.function}: {node.marks.name} does not mark what is "
                f"in {node.buffer.name}"
            )


@_execute.register
def _(node: ir.Prefetch, state: _State) -> None:
    # Nothing is read, but a prefetch that points nowhere would be a mistake; the place
    # after the last element is where a full fibre's cursor points to.
    state.window(node.buffer.name, int(_evaluate(node.index, state)), 0, write=False)


@_execute.register
def _(node: ir.Comment, state: _State) -> None:
    pass


def _poison(dtype: np.dtype[Any]) -> Any:
    """Return what no result should be made of: memory that was never written."""
    kind = dtype_kind(dtype)
    if kind in "fc":
        return np.nan
    return True if kind == "b" else np.iinfo(dtype).min


def _apply(op: str, dtype: str, *operands: Value) -> Value:
    if op in INDEX_OPERATORS:
        return _index_arithmetic(op, *operands)
    if dtype.startswith(("float", "complex")) and op not in REAL_RESULTS:
        operands = tuple(_convert(each, dtype) for each in operands)
    if op == "pow" and operands[1].dtype.kind == "i":
        return _integer_power(*operands)
    try:
        result = OPERATORS[op].evaluate(*operands)
    except TypeError as error:
        raise UnsupportedError(
            f"expected an operation that NumPy has, got {op} of {operands[0].dtype}"
        ) from error
    return _convert(result, dtype)


def _integer_power(base: Value, exponent: Value) -> Value:
    # NumPy refuses a negative exponent; generated code answers 0.
    zero = exponent.dtype.type(0)
    powers = np.power(base, np.maximum(exponent, zero))
    return np.where(exponent < 0, zero, powers).astype(base.dtype)[()]


_INDEX_ARITHMETIC = {
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "mask": np.bitwise_and,
}


def _index_arithmetic(op: str, left: Value, right: Value) -> Value:
    by_zero = op in ("floordiv", "mod") and right == 0
    too_far = op.startswith("shift") and right > 63
    if left < 0 or right < 0 or by_zero or too_far:
        raise InternalError(f"expected indices, got {left} {op} {right}")
    return _INDEX_ARITHMETIC[op](left, right)


def _convert(value: Value, dtype: str) -> Value:
    array = np.asarray(value)
    if array.dtype.kind == "c" and dtype_kind(dtype) not in "cb":
        array = array.real
    return array.astype(numpy_dtype(dtype))[()]
