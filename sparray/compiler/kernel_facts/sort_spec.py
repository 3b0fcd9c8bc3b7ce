"""What kernels that sort a list of coordinates are made of."""

from sparray.compiler import names
from sparray.compiler.kernel_facts.list_spec import ListSpec
from sparray.compiler.loop_ir import nodes as ir
from sparray.records import dataclass

__all__ = ["MOST_DIGIT_BITS", "SortSpec"]


MOST_DIGIT_BITS = 12
"""Widest digit: 2^12 counters of 8 bytes take 32 KiB of a first-level cache."""


_VALUES_OF_SIZE = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}


@dataclass(frozen=True)
class SortSpec(ListSpec):
    """The kernels that sort a coordinate list.

    Attributes
    ----------
    n_levels : int
        Coordinates per entry.
    given, made : str
        The index dtypes of the list and of the sorted one.
    value_bytes : int
        Size of a value; what it means does not matter.
    joined : bool
        Whether what is left of an entry's coordinates in its bucket is one number.

    Notes
    -----
    Parameters, after the list's coordinates and values (``A``) and the result's
    (``out``), as far as a function has them, and before the number of threads:

    ==================== ========================== ================================
    ``count``            ``scatter``                ``evaluate``
    ==================== ========================== ================================
    offsets, descents,   offsets, n_entries,        starts, shares, scratch, digits,
    n_entries, n_chunks, n_chunks, n_buckets,       n_chunks, n_passes, n_counters;
    n_buckets, low and   low and place of each      if joined, low, place, high and
    place of each level  level; if joined, its base base of each level
    ==================== ========================== ================================

    An entry's bucket is the sum of ``(coordinate >> low) << place`` over the levels,
    its digit in a pass that of ``((coordinate >> shift) & mask) << place``.
    ``offsets : int64[n_chunks, n_buckets]`` holds counts, then offsets;
    ``descents : int64[n_chunks]`` is 0 where a chunk's entries ascend. ``starts :
    int64[n_buckets + 1]`` are the buckets, ``shares : int64[n_chunks + 1]`` the
    buckets of each task, and ``scratch : int64[n_chunks]`` where in the result's
    buffers, behind the entries, a task may write as many as its largest bucket has.
    ``digits : int64[n_passes, n_levels, 3]`` are shift, mask and place; a joined
    number is as one level. It has ``coordinate & (2^low - 1)`` at bit ``base``, and
    ``high`` is the mask of a level's bits at ``place`` of the bucket.
    """

    value_bytes: int
    joined: bool = True

    def describe(self) -> str:
        """Return everything that the kernels' source depends on."""
        text = f"sort {self.n_levels} {self.given} {self.made} {self.value_bytes}"
        return text + " joined" * self.joined

    def lower(self) -> tuple[ir.Function, ...]:
        """Return the functions in loop IR."""
        # Not needed where the kernels are found in the cache.
        from sparray.compiler.lower.sort import lower_sort

        return lower_sort(self)

    @property
    def header(self) -> tuple[str, ...]:
        """Lines that say what the generated module came from."""
        return (
            f"sort a list of {self.n_levels} {self.given} coordinates and values of "
            f"{self.value_bytes} bytes{', joined to one number' * self.joined}",
        )

    def values(self, tensor: str) -> ir.Buffer:
        """Return the values, moved as integers of their size where there are any."""
        dtype = _VALUES_OF_SIZE.get(self.value_bytes, "complex128")
        return ir.Buffer(names.values(tensor), dtype, tensor == names.OUTPUT)

    @property
    def moved(self) -> tuple[ir.Buffer, ...]:
        """The result's buffers that the passes move; what they sort by comes first."""
        crds = self.crds(names.OUTPUT)
        return (*(crds[:1] if self.joined else crds), self.values(names.OUTPUT))

    def level_variables(self, word: str) -> tuple[ir.Var, ...]:
        """Return a parameter for each level."""
        return tuple(ir.Var(f"{word}{depth + 1}") for depth in range(self.n_levels))
