"""What kernels have in common that make one list of coordinates of another."""

import hashlib
from functools import cached_property

from sparray.compiler import names
from sparray.compiler.loop_ir import nodes as ir
from sparray.records import dataclass

__all__ = ["ListSpec"]


@dataclass(frozen=True)
class ListSpec:
    """Kernels that read a list of coordinates and make another one.

    Attributes
    ----------
    n_levels : int
        Coordinates per entry.
    given, made : str
        The index dtypes of the list and of the one that is made.
    """

    n_levels: int
    given: str
    made: str

    def describe(self) -> str:
        """Return everything that the kernels' source depends on."""
        raise NotImplementedError

    def lower(self) -> tuple[ir.Function, ...]:
        """Return the functions in loop IR."""
        raise NotImplementedError

    @property
    def header(self) -> tuple[str, ...]:
        """What the source says of itself at its top."""
        raise NotImplementedError

    @cached_property
    def key(self) -> str:
        """Hash of everything that the kernels' source depends on."""
        return hashlib.sha256(self.describe().encode()).hexdigest()[:32]

    @cached_property
    def functions(self) -> tuple[ir.Function, ...]:
        """The functions in loop IR, verified."""
        # Not needed where the kernels are found in the cache.
        from sparray.compiler.loop_ir.verify import verify

        made = self.lower()
        for function in made:
            verify(function)
        return made

    @property
    def loops(self) -> str:
        """The functions as text."""
        from sparray.compiler.loop_ir.printer import print_function

        return "\n\n".join(map(print_function, self.functions))

    def crds(self, tensor: str) -> tuple[ir.Buffer, ...]:
        """Return the coordinate buffers of the list or of the result."""
        made = tensor == names.OUTPUT
        dtype = self.made if made else self.given
        return tuple(
            ir.Buffer(names.level_buffer(tensor, depth, "crd"), dtype, made)
            for depth in range(self.n_levels)
        )
