"""Random programs of a few statements, and the check of all that is made of them.

A program is named by its seed. Its tensors run along ``i`` (rows), ``j`` (columns of a
sparse matrix) and ``d`` (features), as those of attention and graph networks do.
"""

from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
from oracle_check import densify, interpreted, same

from sparray.compiler.cin.interpreter import run as run_cin
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.program import Program
from sparray.compiler.index_notation.program_text import parse_program
from sparray.convert import array, from_buffers
from sparray.errors import DTypeError
from sparray.evaluation import programs
from sparray.formats.named import named_format

__all__ = ["RandomProgram", "check_program", "random_program"]

_ROWS, _COLUMNS, _FEATURES = (0, 1, 2, 3, 5), (0, 1, 2, 4, 6), (1, 2, 3, 9)
_SPARSE = (*["csr"] * 12, "csc", "coo", "dcsr", "bitmap", "ell")


@dataclass
class RandomProgram:
    """A program with its operands."""

    program: Program
    operands: dict[str, Any]

    def __repr__(self) -> str:
        lines = [self.program.text, f"-> {self.program.outputs}"]
        for name, operand in self.operands.items():
            format = getattr(operand, "format", "dense")
            lines.append(f"{name}: {format} {densify(operand).tolist()}")
        return "\n".join(lines)


@dataclass
class _Writer:
    """Writes statements; ``kinds`` has the indices of each tensor that may be read."""

    rng: np.random.Generator
    kinds: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def pick(self, *choices: str) -> str:
        return choices[int(self.rng.integers(len(choices)))]

    def access(self, indices: str) -> str:
        """Return an access that has some of the indices, mostly all of them."""
        exact = [n for n, own in self.kinds.items() if own == indices]
        fewer = [n for n, own in self.kinds.items() if set(own) <= set(indices)]
        names = exact if exact and self.rng.random() < 0.75 else fewer
        made = [name for name in fewer if name.startswith("T")]
        if made and self.rng.random() < 0.5:
            names = made
        name = self.pick(*names)
        own = self.kinds[name]
        return f"{name}[{','.join(own)}]" if own else name

    def expression(self, indices: str, depth: int = 0) -> str:
        kind = self.rng.random()
        if depth >= 2 or kind < 0.25:
            return self.access(indices)
        if kind < 0.7:
            op = self.pick("*", "*", "*", "+", "-")
            left = self.expression(indices, depth + 1)
            return f"({left} {op} {self.expression(indices, depth + 1)})"
        if kind < 0.85:
            one = self.expression(indices, depth + 1)
            return self.pick(
                f"abs({one})", f"({one} * 2)", f"relu({one})", f"({one} + 1)",
                f"max({one}, 1)", f"({one} / 2)",
            )  # fmt: skip
        return self.reduction(indices, depth)

    def reduction(self, indices: str, depth: int = 0) -> str:
        over = self.pick(*[i for i in "ijd" if i not in indices] or ["d"])
        if over in indices:
            return self.access(indices)
        # A reduction needs its index in what it reduces.
        inner = "".join(sorted({*indices, over}, key="ijd".index))
        names = [n for n, own in self.kinds.items() if over in own]
        fit = [n for n in names if set(self.kinds[n]) <= set(inner)]
        if not fit:
            return self.access(indices)
        made = [name for name in fit if name.startswith("T")]
        name = self.pick(*made) if made else self.pick(*fit)
        part = f"{name}[{','.join(self.kinds[name])}]"
        if self.rng.random() < 0.6:
            part = f"{part} * {self.access(inner)}"
        return f"{self.pick('sum', 'sum', 'sum', 'max', 'min')}({over}, {part})"

    def statement(self, name: str, indices: str) -> bool:
        """Add a statement, if one came out that has all the target's indices."""
        if self.rng.random() < (0.25 if indices == "ij" else 0.6):
            value = self.reduction(indices)
        else:
            value = self.expression(indices)
        if indices == "ij" and self.rng.random() < 0.7:
            sparse = [n for n in self.kinds if n in "ABM"]
            mask = f"{self.pick(*sparse)}[i,j]"
            if self.rng.random() < 0.4:
                other = self.pick("0", "1", "-2", "-inf", "y[j]")
                value = f"where({mask}, {value}, {other})"
            else:
                value = f"{mask} * {value}"
        first = not any(made.startswith("T") for made in self.kinds)
        if value.isidentifier() or (not first and "T" not in value):
            return False
        target = f"{name}[{','.join(indices)}]" if indices else name
        line = f"{target} = {value}"
        try:
            parse_program(line)
        except ValueError:
            return False
        self.lines.append(line)
        self.kinds[name] = indices
        return True


def random_program(seed: int) -> RandomProgram:
    """Return the program of a seed: 2 to 4 statements, mostly a chain of them."""
    rng = np.random.default_rng(seed)
    sizes = {
        "i": int(rng.choice(_ROWS)),
        "j": int(rng.choice(_COLUMNS)),
        "d": int(rng.choice(_FEATURES)),
    }
    writer = _Writer(rng)
    writer.kinds = {
        **{"A": "ij", "M": "ij", "Q": "id", "K": "jd", "x": "i", "y": "j", "c": ""},
        **({"B": "ij"} if rng.random() < 0.4 else {}),
    }
    operands = _operands(rng, writer.kinds, sizes)
    wanted = int(rng.integers(2, 5))
    made: list[str] = []
    for number in range(60):
        if len(made) == wanted:
            break
        name = f"T{number}"
        if writer.statement(name, writer.pick("ij", "ij", "i", "i", "id", "jd", "")):
            made.append(name)
            # What was just made is read more often than what is given.
            writer.kinds[name] = writer.kinds.pop(name)
    text = "\n".join(writer.lines)
    outputs = (made[-1],)
    if rng.random() < 0.15:
        outputs = (made[-1], made[0])
    program = parse_program(text, outputs)
    return RandomProgram(program, {n: operands[n] for n in program.operands})


def _operands(
    rng: np.random.Generator, kinds: dict[str, str], sizes: dict[str, int]
) -> dict[str, Any]:
    dtype = str(rng.choice(["float64", "float64", "float32", "int64"]))
    made: dict[str, Any] = {}
    for name, indices in kinds.items():
        shape = tuple(sizes[i] for i in indices)
        dense = rng.integers(-3, 4, shape).astype(dtype)
        if name in "ABM":
            dense = dense * (rng.random(shape) < 0.5)
            format = named_format(str(rng.choice(_SPARSE)), 2)
            made[name] = array(dense.astype(dtype), format=format)
        else:
            made[name] = np.asarray(dense)
    if rng.random() < 0.5:
        # A mask that shares the other matrix's pattern, and its buffers.
        first = made["A"]
        values = rng.integers(0, 3, len(first.values)).astype(dtype)
        if rng.random() < 0.4:
            values = values.astype(bool)
        made["M"] = from_buffers(
            first.format, first.shape, levels=first._levels, values=values
        )
    return made


def check_program(question: RandomProgram) -> int:
    """Compare with dense NumPy; return how many statements were joined to others."""
    try:
        return _check(question)
    except Exception as error:
        error.add_note(repr(question))
        raise


def _check(question: RandomProgram) -> int:
    program, operands = question.program, question.operands
    known = {name: densify(operand) for name, operand in operands.items()}
    try:
        for statement in program.statements:
            read = {n: a for n, a in known.items() if n != statement.target.tensor}
            known[statement.target.tensor] = evaluate(statement, read)
    except DTypeError:
        # NumPy has no difference of bools; what no result needs is not computed.
        return 0
    with interpreted(), mock.patch.object(programs, "_known", {}):
        results = programs.evaluate_program(program, operands)
        (runners,) = programs._known.values()
    for name, result in zip(program.outputs, results, strict=True):
        assert result.values.dtype == known[name].dtype
    if not all(np.isfinite(array).all() for array in known.values()):
        # The minimum of nothing is infinite, and 0 times that is NaN or absent.
        return 0
    for name, result in zip(program.outputs, results, strict=True):
        same(densify(result), known[name])
    groups = [runner.group for runner in runners]
    for step in (step for group in groups for step in group.steps):
        if step.format is not None:
            # An operand by rows, for the statements that are joined.
            (source,) = step.expression.tensors
            known[step.target] = known[source]
    for group in groups:
        if group.kernel is not None:
            _check_cin(group, known)
    return sum(len(group.steps) - 1 for group in groups)


def _check_cin(group: Any, known: dict[str, np.ndarray]) -> None:
    """The joined nest computes what its statements do."""
    decision = group.kernel.decision
    problem, reads = decision.problem, dict(group.operands)
    arrays = {name: known[reads[name]] for name, _ in problem.operands}
    extents: dict[str, int] = {}
    for access in problem.reads:
        if access.tensor in arrays:
            shape = arrays[access.tensor].shape
            extents.update(zip(access.indices, shape, strict=True))
    with np.errstate(all="ignore"):
        found = run_cin(
            decision.statement,
            arrays,
            extents,
            problem.output.dtype,
            target=problem.assignment.target,
        )
    same(found, known[group.steps[-1].target])
