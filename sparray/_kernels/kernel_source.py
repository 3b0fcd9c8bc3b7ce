"""What the compiler hands to the kernel layer."""

from typing import TYPE_CHECKING

from sparray.records import dataclass

if TYPE_CHECKING:
    from sparray.compiler.loop_ir.nodes import Function

__all__ = ["KernelSource"]


@dataclass(frozen=True, slots=True)
class KernelSource:
    """One kernel before it is printed.

    Attributes
    ----------
    key : str
        Identifies the problem that it solves.
    functions : tuple of Function
        Its entry points; their names are unique in the kernel.
    header : tuple of str
        Lines of text that the generated source opens with.
    """

    key: str
    functions: "tuple[Function, ...]"
    header: tuple[str, ...]
