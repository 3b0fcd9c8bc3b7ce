"""What kernels that add up repeated coordinates are made of."""

from sparray.compiler import names
from sparray.compiler.kernel_facts.list_spec import ListSpec
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.dtypes import computed_dtype
from sparray.records import dataclass

__all__ = ["GatherSpec", "REHASH"]


REHASH = "rehash"
"""The entry point that fills a larger table."""


@dataclass(frozen=True)
class GatherSpec(ListSpec):
    """The kernels that add up what has the same coordinates in a list.

    Attributes
    ----------
    n_levels : int
        Coordinates per entry.
    given, made : str
        The index dtypes of the list and of the result.
    dtype : str
        Of the values; those of the result have the dtype in which it is added up.

    Notes
    -----
    Parameters, after the list's coordinates and values (``A``, ``evaluate`` only), and
    before the number of threads:

    - ``evaluate``: ``table : int64[n_slots]``, the result's coordinates and values
      (``out``, each of ``n_room``), ``state``, ``n_entries``, ``n_slots``, ``n_room``.
    - ``rehash``: ``table``, the result's coordinates, ``n_known``, ``n_slots``.

    An empty slot holds -1. ``n_slots`` is a power of two up to 2**32, and at least
    twice ``n_room``. ``state : int64[2]`` has the next entry, and how many coordinates
    are known.
    """

    dtype: str

    def describe(self) -> str:
        """Return everything that the kernels' source depends on."""
        return f"gather {self.n_levels} {self.given} {self.made} {self.dtype}"

    def lower(self) -> tuple[ir.Function, ...]:
        """Return the functions in loop IR."""
        # Not needed where the kernels are found in the cache.
        from sparray.compiler.lower.gather import lower_gather

        return lower_gather(self)

    @property
    def header(self) -> tuple[str, ...]:
        """Lines that say what the generated module came from."""
        return (
            f"add up repeated coordinates in a list of {self.n_levels} {self.given} "
            f"coordinates and {self.dtype} values",
        )

    @property
    def summed(self) -> str:
        """The dtype in which values are added up."""
        return computed_dtype(self.dtype)

    def values(self, tensor: str) -> ir.Buffer:
        """Return the values of the list or of the result."""
        made = tensor == names.OUTPUT
        dtype = self.summed if made else self.dtype
        return ir.Buffer(names.values(tensor), dtype, made)
