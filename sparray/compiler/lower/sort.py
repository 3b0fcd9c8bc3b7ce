"""Sort a coordinate list: kernels that partition it, then sort each bucket in cache.

The entries go to *buckets* first, by the leading bits of their outer coordinates (one
pass over memory, each thread with its part of the entries); each bucket is then sorted
by what is left of the coordinates, a digit at a time (several passes, within a cache).
Within a bucket the bits that are left of all coordinates are *joined* to one number if
they fit the dtype of the result's coordinates, and it is this number that the passes
move, where the first level's coordinates will be; they are parted again at last. If
they do not fit, a digit may have bits of several levels, so extents do not matter.
Every step keeps equal coordinates in the order in which they came.

Source: least-significant-digit radix sort, Knuth TAOCP 5.2.5 algorithm R; partitioning
first, so that its passes stay in a cache, follows Polychroniou, Ross 2014, "A
comprehensive study of main-memory partitioning", section 4.
"""

from sparray.compiler import names
from sparray.compiler.kernel_facts.sort_spec import SortSpec
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import (
    Builder,
    add,
    cast,
    equal,
    less,
    literal,
    minimum,
    mul,
    sub,
)
from sparray.compiler.lower.parallel import even_share

__all__ = ["lower_sort"]

_ENTRIES_AHEAD = 24
"""Entries ahead of a bucket's cursor that are prefetched: a line of 64 bytes has 16."""

_PARTS = ("low", "place", "high", "base")
"""What the last step knows of each level whose coordinates are joined."""


_ENTRIES = ir.Var("n_entries")
_CHUNKS = ir.Var("n_chunks")
_BUCKETS = ir.Var("n_buckets")
_THREADS = ir.Var(names.THREADS)
_OFFSETS = ir.Buffer("offsets", "int64", writable=True)
_STARTS = ir.Buffer("starts", "int64")
_SHARES = ir.Buffer("shares", "int64")
_SCRATCH = ir.Buffer("scratch", "int64")
_DIGITS = ir.Buffer("digits", "int64")
_PASSES = ir.Var("n_passes")
_COUNTERS = ir.Var("n_counters")
_DESCENTS = ir.Buffer("descents", "int64", writable=True)


def _coordinate(crd: ir.Buffer, p: ir.Expr) -> ir.Expr:
    return cast(ir.Load(crd, p), "int64")


def _shifted(op: str, value: ir.Expr, by: ir.Expr) -> ir.Expr:
    return ir.Binary(op, value, by, "int64")


def _bucket(spec: SortSpec, p: ir.Expr) -> ir.Expr:
    """Return the bucket of an entry."""
    total: ir.Expr = literal(0)
    levels = zip(
        spec.crds("A"),
        spec.level_variables("low"),
        spec.level_variables("place"),
        strict=True,
    )
    for crd, low, place in levels:
        kept = _shifted("shift_right", _coordinate(crd, p), low)
        total = add(total, _shifted("shift_left", kept, place))
    return total


def _count(spec: SortSpec) -> ir.Function:
    """Return the function that counts each bucket's entries, and looks for descents."""
    given: tuple[ir.Buffer | ir.Var, ...] = (
        *spec.crds("A"),
        _OFFSETS,
        _DESCENTS,
        *(_ENTRIES, _CHUNKS, _BUCKETS),
        *spec.level_variables("low"),
        *spec.level_variables("place"),
        _THREADS,
    )
    b = Builder([p.name for p in given])
    with b.parallel("t", _CHUNKS, _THREADS) as t:
        first, last = _chunk(b, t)
        counts = b.declare("counts", mul(t, _BUCKETS))
        descends = b.declare("descends", literal(False))
        previous = ir.Binary("max", sub(first, literal(1)), literal(0), "int64")
        before = [
            b.declare("before", _coordinate(crd, previous)) for crd in spec.crds("A")
        ]
        with b.loop("p", first, last) as p:
            here = [b.declare("here", _coordinate(crd, p)) for crd in spec.crds("A")]
            fell = _descent(before, here)
            b.assign(descends, ir.Binary("or", descends, fell, "bool"))
            for old, new in zip(before, here, strict=True):
                b.assign(old, new)
            at = add(counts, _bucket(spec, p))
            b.store(_OFFSETS, at, literal(1), "add")
        b.store(_DESCENTS, t, ir.Select(descends, literal(1), literal(0)))
    return ir.Function(names.COUNT, given, b.block())


def _descent(before: list[ir.Var], here: list[ir.Var]) -> ir.Expr:
    """Return whether coordinates come before others, the first level deciding first."""
    falls: ir.Expr = less(here[-1], before[-1])
    for old, new in zip(reversed(before[:-1]), reversed(here[:-1]), strict=True):
        deeper = ir.Binary("and", equal(new, old), falls, "bool")
        falls = ir.Binary("or", less(new, old), deeper, "bool")
    return falls


def _scatter(spec: SortSpec) -> ir.Function:
    """Return the function that moves every entry to its bucket."""
    given: tuple[ir.Buffer | ir.Var, ...] = (
        *spec.crds("A"),
        spec.values("A"),
        *spec.moved,
        _OFFSETS,
        *(_ENTRIES, _CHUNKS, _BUCKETS),
        *spec.level_variables("low"),
        *spec.level_variables("place"),
        *(spec.level_variables("base") if spec.joined else ()),
        _THREADS,
    )
    b = Builder([p.name for p in given])
    with b.parallel("t", _CHUNKS, _THREADS) as t:
        first, last = _chunk(b, t)
        offsets = b.declare("first_offset", mul(t, _BUCKETS))
        with b.loop("p", first, last) as p:
            at = b.declare("at", add(offsets, _bucket(spec, p)))
            to = b.declare("to", ir.Load(_OFFSETS, at))
            b.store(_OFFSETS, at, add(to, literal(1)))
            final = sub(_ENTRIES, literal(1))
            ahead = b.declare("ahead", minimum(add(to, literal(_ENTRIES_AHEAD)), final))
            kept = [_joined(spec, p)] if spec.joined else _loaded(spec.crds("A"), p)
            kept.append(ir.Load(spec.values("A"), p))
            for value, target in zip(kept, spec.moved, strict=True):
                b.store(target, to, cast(value, target.dtype))
                # There are more buckets than streams that a processor foresees.
                b.emit(ir.Prefetch(target, ahead))
    return ir.Function("scatter", given, b.block())


def _loaded(crds: tuple[ir.Buffer, ...], p: ir.Expr) -> list[ir.Expr]:
    return [ir.Load(crd, p) for crd in crds]


def _ones(bits: ir.Expr) -> ir.Expr:
    """Return the number whose lowest bits are set."""
    return sub(_shifted("shift_left", literal(1), bits), literal(1))


def _masked(value: ir.Expr, mask: ir.Expr) -> ir.Expr:
    return ir.Binary("mask", value, mask, "int64")


def _joined(spec: SortSpec, p: ir.Expr) -> ir.Expr:
    """Return what the bucket leaves of an entry's coordinates, as one number."""
    total: ir.Expr = literal(0)
    levels = zip(
        spec.crds("A"),
        spec.level_variables("low"),
        spec.level_variables("base"),
        strict=True,
    )
    for crd, low, base in levels:
        kept = _masked(_coordinate(crd, p), _ones(low))
        total = add(total, _shifted("shift_left", kept, base))
    return total


def _chunk(b: Builder, t: ir.Var) -> tuple[ir.Var, ir.Var]:
    """Declare which entries a task has."""
    first = b.declare("first", even_share(_ENTRIES, t, _CHUNKS))
    last = b.declare("last", even_share(_ENTRIES, add(t, literal(1)), _CHUNKS))
    return first, last


def _sort_buckets(spec: SortSpec) -> ir.Function:
    """Return the function that sorts each bucket by the bits that are left."""
    given: tuple[ir.Buffer | ir.Var, ...] = (
        *spec.crds(names.OUTPUT),
        spec.values(names.OUTPUT),
        *(_STARTS, _SHARES, _SCRATCH, _DIGITS),
        *(_CHUNKS, _PASSES, _COUNTERS),
        *(v for word in _PARTS if spec.joined for v in spec.level_variables(word)),
        _THREADS,
    )
    b = Builder([p.name for p in given])
    with b.parallel("t", _CHUNKS, _THREADS) as t:
        digits = b.allocate("counters", "int64", _COUNTERS)
        begin, end = ir.Load(_SHARES, t), ir.Load(_SHARES, add(t, literal(1)))
        scratch = ir.Load(_SCRATCH, t)
        with b.loop("bucket", begin, end) as bucket:
            first = b.declare("first", ir.Load(_STARTS, bucket))
            after = ir.Load(_STARTS, add(bucket, literal(1)))
            size = b.declare("size", sub(after, first))
            if spec.joined:
                source = b.declare("source", first)
                with b.branch(less(literal(1), size)):
                    _sort_bucket(spec, b, digits, source, size, scratch)
                _part(spec, b, bucket, first, source, size)
            else:
                with b.branch(less(literal(1), size)):
                    source = b.declare("source", first)
                    _sort_bucket(spec, b, digits, source, size, scratch)
        b.free(digits)
    return ir.Function(names.FILL, given, b.block())


def _sort_bucket(
    spec: SortSpec,
    b: Builder,
    digits: ir.Buffer,
    source: ir.Var,
    size: ir.Var,
    scratch: ir.Expr,
) -> None:
    """Emit the passes over one bucket, to and fro between it and the scratch.

    At last the entries are at ``source``. That is the bucket, an odd number of passes
    having started in the scratch; or, of joined coordinates, wherever the last pass put
    them.
    """
    target = b.declare("target", scratch)
    if not spec.joined:
        odd = _masked(_PASSES, literal(1))
        with b.branch(equal(odd, literal(1))):
            with b.loop("p", literal(0), size) as p:
                for buffer in spec.moved:
                    b.store(buffer, add(target, p), ir.Load(buffer, add(source, p)))
            _swap(b, source, target)
    with b.loop("n", literal(0), _PASSES) as n:
        _pass(spec, b, n, digits, (source, target), size)
        _swap(b, source, target)


def _part(
    spec: SortSpec,
    b: Builder,
    bucket: ir.Var,
    first: ir.Var,
    source: ir.Var,
    size: ir.Var,
) -> None:
    """Emit the parting of a bucket's joined numbers to coordinates, in its place."""
    joined, values = spec.moved
    levels = []
    for crd, low, place, high, base in zip(
        spec.crds(names.OUTPUT), *map(spec.level_variables, _PARTS), strict=True
    ):
        above = _masked(_shifted("shift_right", bucket, place), high)
        leading = b.declare("leading", _shifted("shift_left", above, low))
        levels.append((crd, leading, base, b.declare("ones", _ones(low))))
    with b.loop("p", literal(0), size) as p:
        number = b.declare("number", _coordinate(joined, add(source, p)))
        for crd, leading, base, ones in levels:
            kept = _masked(_shifted("shift_right", number, base), ones)
            b.store(crd, add(first, p), cast(add(leading, kept), crd.dtype))
    with b.branch(ir.Binary("ne", source, first, "bool")):
        with b.loop("p", literal(0), size) as p:
            b.store(values, add(first, p), ir.Load(values, add(source, p)))


def _swap(b: Builder, source: ir.Var, target: ir.Var) -> None:
    held = b.declare("held", source)
    b.assign(source, target)
    b.assign(target, held)


def _pass(
    spec: SortSpec,
    b: Builder,
    number: ir.Var,
    digits: ir.Buffer,
    between: tuple[ir.Var, ir.Var],
    size: ir.Var,
) -> None:
    """Emit one stable pass by a digit: count, turn to offsets, move."""
    source, target = between
    last = b.declare("source_end", add(source, size))
    keys = spec.moved[:-1]
    parts = [
        tuple(
            b.declare(word, ir.Load(_DIGITS, _entry(len(keys), number, depth, place)))
            for place, word in enumerate(("shift", "mask", "place"))
        )
        for depth in range(len(keys))
    ]

    def digit_at(p: ir.Expr) -> ir.Expr:
        total: ir.Expr = literal(0)
        for crd, part in zip(keys, parts, strict=True):
            shift, mask, place = part
            kept = _shifted("shift_right", _coordinate(crd, p), shift)
            kept = _masked(kept, mask)
            total = add(total, _shifted("shift_left", kept, place))
        return total

    with b.loop("d", literal(0), _COUNTERS) as d:
        b.store(digits, d, literal(0))
    with b.loop("p", source, last) as p:
        b.store(digits, digit_at(p), literal(1), "add")
    offset = b.declare("offset", target)
    with b.loop("d", literal(0), _COUNTERS) as d:
        count = b.declare("count_of_digit", ir.Load(digits, d))
        b.store(digits, d, offset)
        b.increment(offset, count)
    with b.loop("p", source, last) as p:
        at = b.declare("at", digit_at(p))
        to = b.declare("to", ir.Load(digits, at))
        b.store(digits, at, add(to, literal(1)))
        for buffer in spec.moved:
            b.store(buffer, to, ir.Load(buffer, p))


def _entry(n_keys: int, number: ir.Var, depth: int, place: int) -> ir.Expr:
    """Return where ``digits`` has one part of what a pass takes from one level."""
    here = literal(3 * depth + place)
    return add(mul(number, literal(3 * n_keys)), here)


def lower_sort(spec: SortSpec) -> tuple[ir.Function, ...]:
    """Return the functions in loop IR."""
    return (_count(spec), _scatter(spec), _sort_buckets(spec))
