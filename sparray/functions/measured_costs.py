"""Measure the constants of the cost model by kernels of this compiler.

Each is the time of one step in units of a multiply-add on operands in cache, as the sum
over a row of a sparse matrix has them, on one thread and in processor time: another
program on the machine changes no constant but that of threads.
"""

import platform
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import perf_counter
from time import process_time as processor_time
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.jit import CompilerMissing, find_toolchain
from sparray._kernels.targets import host_target
from sparray._kernels.threads import num_threads, set_num_threads
from sparray.compiler.kernel_facts.gather_spec import GatherSpec
from sparray.compiler.scheduler.ways import Way
from sparray.convert import from_coords
from sparray.errors import InternalError
from sparray.evaluation.gathering import GatherCall
from sparray.formats.compressed import Compressed
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.formats.singleton import Singleton
from sparray.functions.contest import Contest
from sparray.functions.operands import stated
from sparray.functions.race import race
from sparray.records import dataclass
from sparray.sparse_array import SparseArray

__all__ = ["MeasuredCost", "measure_costs", "provenance"]

Pick = Callable[[Way], bool]


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """One constant.

    Attributes
    ----------
    name : str
        As in `costs.json`.
    value : float
        In multiply-adds, or a factor.
    how : str
        What was timed.
    """

    name: str
    value: float
    how: str


_WIDE = 2**22
"""Columns of a row whose sums are in no cache, each on a page of memory."""


def measure_costs(seconds: float = 0.5) -> Iterator[MeasuredCost]:
    """Measure every constant but the share of elements that pruning keeps.

    Parameters
    ----------
    seconds : float
        How long to time each kernel.

    Yields
    ------
    MeasuredCost
        One after the other, since they take some seconds each the first time.
    """
    with _threads(1):
        yield from _measured_alone(seconds)
    yield _serial(seconds)


def _measured_alone(seconds: float) -> Iterator[MeasuredCost]:
    time = _Timer(seconds)
    long, short = _rows(1000, 64), _rows(64_000, 1)
    # 64,000 entries in both: what differs is the number of rows.
    unrolled, waiting = time.ways(
        "ij,j->i", long, np.ones(1000), picks=[_usual, _setting("sums 1")]
    )
    leaf = unrolled / long.nnz
    yield MeasuredCost("leaf", 1.0, f"SpMV, 64 entries a row: {1e9 * leaf:.2f} ns")
    (ones,) = time.ways("ij,j->i", short, np.ones(1000))
    yield MeasuredCost(
        "loop", _positive((ones - unrolled) / 64_000 / leaf), "SpMV, one entry a row"
    )
    yield MeasuredCost("waiting", _factor(waiting / unrolled), "SpMV, a single sum")
    few = _rows(1000, 16)
    registers, memory = time.ways(
        *("ij,jk->ik", few, np.ones((1000, 256))), picks=[_usual, _setting("memory")]
    )
    vector = registers / (256 * few.nnz)
    yield MeasuredCost("vector", _positive(vector / leaf), "SpMM, 256 columns")
    yield MeasuredCost("memory", _factor(memory / registers), "SpMM, sums in memory")
    yield from _conversions(time, leaf)


def _conversions(time: "_Timer", leaf: float) -> Iterator[MeasuredCost]:
    dense = np.ones((1500, 1500))
    (jumps,) = time.ways(
        *("ij,j->i", np.asfortranarray(dense), np.ones(1500)),
        picks=[lambda way: _order(way) == ("i", "j")],
    )
    stride = jumps / dense.size / leaf - 1
    yield MeasuredCost("stride", _positive(stride), "matrix times vector along columns")
    (copied,) = time.ways("ij->ij", dense, format=Format(_dense_levels(), (1, 0)))
    transpose = copied / dense.size / leaf
    yield MeasuredCost("transpose", _positive(transpose), "a dense copy, columns first")
    rows = _rows(2000, 8)
    listed, hashed = time.ways(
        *("ij,jk->ik", rows, rows), picks=[_usual, _setting("hashed")]
    )
    each = 8 * rows.nnz * leaf
    yield MeasuredCost("list", _positive(listed / each - 1), "SpGEMM, 64 a row")
    beside = _positive((hashed - listed) / each)
    yield MeasuredCost("hashed", beside, "the same with tables")
    yield MeasuredCost("page", _positive(_page(time) / leaf), f"{_WIDE:,} columns")
    many = _rows(100_000, 8)
    (moved,) = time.ways("ij->ij", many, format=named_format("csc", 2))
    scattered = moved / many.nnz / leaf
    yield MeasuredCost("scatter", _positive(scattered - 1), "CSR to CSC: one way")
    yield MeasuredCost("convert", _positive(scattered), "CSR to CSC, an entry")
    (ordered,) = time.ways("ij->ij", _shuffled(many), format=named_format("csr", 2))
    yield MeasuredCost(
        "sort", _positive(ordered / many.nnz / leaf), "a list in no order to CSR"
    )
    csr = named_format("csr", 2)
    (steps,) = time.ways("ij->ij", _shuffled(_rows(4, 1)), format=csr)
    yield MeasuredCost(
        "step", _positive(steps / 2 / leaf), "four entries sorted, then to CSR: half"
    )
    near, far = (_gathered(time, distinct) / leaf for distinct in (1000, 2_000_000))
    yield MeasuredCost("gather", _positive(near), "1,000 coordinates in a table")
    yield MeasuredCost("miss", _positive(far - near), "2,000,000 of them")


def _page(time: "_Timer") -> float:
    """Return the seconds that the first touch of a page of a list takes."""
    rng, n_rows = np.random.default_rng(3), 500
    left = _rows(n_rows, 8)
    seconds = []
    for n_columns in (1000, _WIDE):
        columns = rng.integers(0, n_columns, 8 * n_rows)
        coords = np.stack([np.arange(n_rows).repeat(8), columns])
        given = coords, np.ones(coords.shape[1]), (n_rows, n_columns), "csr"
        right = from_coords(*given, duplicates="sum")
        seconds += time.ways("ij,jk->ik", left, right, picks=[_listed])
    pages = _WIDE * right.dtype.itemsize / 4096
    return (seconds[1] - seconds[0]) / pages


def _gathered(time: "_Timer", distinct: int) -> float:
    """Return the seconds of an entry that is added up in a hash table."""
    rng, n = np.random.default_rng(2), 2_000_000
    known = rng.integers(0, 10**6, (2, distinct), np.int32)
    chosen = rng.integers(0, distinct, n)
    coords = [row[chosen] for row in known]
    call = GatherCall(coords, np.ones(n), GatherSpec(2, "int32", "int32", "float64"))
    (seconds,) = race([call.run], time.seconds, time.clock)
    return seconds / n


def _serial(seconds: float) -> MeasuredCost:
    """Return the factor of one thread against those that there are."""
    operands = _rows(4000, 16), np.ones((1000, 64))
    (together,) = _Timer(seconds, perf_counter).ways("ij,jk->ik", *operands)
    threads = num_threads()
    with _threads(1):
        (alone,) = _Timer(seconds, perf_counter).ways("ij,jk->ik", *operands)
    return MeasuredCost("serial", _factor(alone / together), f"SpMM, {threads} threads")


@dataclass(frozen=True, slots=True)
class _Timer:
    """Times ways to compute an expression."""

    seconds: float
    clock: Callable[[], float] = processor_time

    def ways(
        self,
        expression: str,
        *operands: Any,
        picks: "list[Pick] | None" = None,
        format: Format | None = None,
    ) -> list[float]:
        """Return the seconds of the cheapest way that each of the picks takes."""
        contest = Contest(*stated(expression, operands, {}, format))
        chosen = []
        for pick in picks or [_usual]:
            found = next((way for way in contest.ways if pick(way)), None)
            if found is None:
                raise InternalError(f"expected a way to compute {expression}")
            chosen.append(found)
        contenders = contest.contenders(chosen)
        calls = [contender.run for contender in contenders]
        return race(calls, self.seconds, self.clock)


def _dense_levels() -> tuple[Any, ...]:
    """Return the levels of a dense matrix."""
    return named_format("dense", 2).levels


def _usual(way: Way) -> bool:
    return True


def _listed(way: Way) -> bool:
    if way.option is None or way.option.convert or way.option.final is not None:
        return False
    known = way.option.candidate.collecting
    return (way.knobs.workspace or known[0][0]) == "list" if known else False


def _setting(text: str) -> Pick:
    return lambda way: str(way.knobs) == text and way.option is not None


def _order(way: Way) -> tuple[str, ...]:
    if way.option is None or way.option.convert:
        return ()
    return way.option.candidate.order


def _rows(n_rows: int, per_row: int) -> SparseArray:
    """Return a CSR matrix of 1,000 columns at most: its operands stay in cache."""
    rng = np.random.default_rng(0)
    n_columns = min(n_rows, 1000) if per_row != 8 else n_rows
    columns = rng.integers(0, n_columns, n_rows * per_row)
    coords = np.stack([np.arange(n_rows).repeat(per_row), columns])
    ones = np.ones(coords.shape[1])
    return from_coords(coords, ones, (n_rows, n_columns), "csr", duplicates="sum")


def _shuffled(array: SparseArray) -> SparseArray:
    coords, values = array.to_coords()
    order: npt.NDArray[Any] = np.random.default_rng(1).permutation(array.nnz)
    levels = Format(
        [Compressed(unique=False, ordered=False), Singleton(ordered=False)], (0, 1)
    )
    made = np.asarray(coords)[:, order], np.asarray(values)[order]
    return from_coords(*made, array.shape, levels)


def _positive(value: float) -> float:
    """Return a cost, which is never nothing, whatever the noise says."""
    return max(value, 0.05)


def _factor(value: float) -> float:
    """Return a factor of what costs more by its nature."""
    return max(value, 1.01)


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = num_threads()
    set_num_threads(number)
    try:
        yield
    finally:
        set_num_threads(before)


def provenance() -> dict[str, str]:
    """Return where measurements of this process come from: CPU, compiler and date."""
    return {
        "cpu": f"{_cpu()}, {host_target().name}, {num_threads()} threads",
        "compiler": _compiler(),
        "date": datetime.now(UTC).date().isoformat(),
        "how": "python -m sparray measure-costs",
    }


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _compiler() -> str:
    try:
        command = [*find_toolchain().command, "--version"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except (CompilerMissing, OSError):
        return "none"
    return done.stdout.partition("\n")[0] or command[0]
