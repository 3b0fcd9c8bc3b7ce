"""Functions of the loop IR to the source of one Cython module."""

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from sparray.compiler.codegen.cython.names import comment_line
from sparray.compiler.codegen.cython.printer import PrintedModule, print_functions
from sparray.compiler.codegen.cython.types import c_type
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.traversal import walk
from sparray.errors import InternalError

__all__ = ["module_flags", "render_module"]

# -ffast-math is never among them: NaN and inf must survive, and GCC would link code
# that switches the whole process to flush-to-zero.
_FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-fopenmp")


def render_module(functions: Sequence[ir.Function], header: Sequence[str]) -> str:
    """Return the source of a Cython module with one entry point per function.

    Parameters
    ----------
    functions : sequence of Function
        Verified functions with different names.
    header : sequence of str
        Lines that say where the module comes from; they become comments.

    Returns
    -------
    str
        Text of a ``.pyx`` file, the same for equal arguments.

    Raises
    ------
    InternalError
        If two functions share a name, or a name may not appear in source.
    UnsupportedError
        If C has no such operation on that dtype.

    Notes
    -----
    An entry point takes the function's parameters by position, an address
    (``uintptr_t``) per buffer and a number per scalar. It returns 0, or 1 if it could
    not allocate a workspace. It checks nothing: lengths, alignment of elements and
    that a writable buffer overlaps no other one are the caller's to know.
    """
    names = [function.name for function in functions]
    if len(set(names)) != len(names):
        raise InternalError(f"expected functions of different names, got {names}")
    return _render(print_functions(functions), header)


def module_flags(functions: Sequence[ir.Function]) -> tuple[str, ...]:
    """Return the C compiler's flags for a module of these functions.

    Parameters
    ----------
    functions : sequence of Function
        What the module holds.

    Returns
    -------
    tuple of str
        Without the instruction set (``-march``), which the caller chooses.
    """
    flags = list(_FLAGS)
    if any(function.reassociate for function in functions):
        flags += ["-fassociative-math", "-fno-signed-zeros"]
    nodes = [node for function in functions for node in walk(function.body)]
    nodes += [item for function in functions for item in function.parameters]
    if any(_is_complex(node) for node in nodes):
        # NumPy's complex products and quotients: no second look at NaN results.
        flags.append("-fcx-fortran-rules")
    if any(getattr(node, "lanes", 1) > 1 for node in nodes):
        # Vectors wider than the machine's pass between static functions only.
        flags.append("-Wno-psabi")
    return tuple(flags)


def _is_complex(node: object) -> bool:
    dtype = getattr(node, "dtype", None)
    return dtype is not None and c_type(dtype).kind == "complex"


def _render(module: PrintedModule, header: Sequence[str]) -> str:
    support = module.support
    text: str = _template().substitute(
        header=[comment_line(line) for text in header for line in text.splitlines()],
        includes=sorted(support.includes),
        helpers=list(support.helpers.values()),
        declarations=[h.declaration for h in support.helpers.values()],
        sorts=sorted(support.sorts),
        sorts_marked=support.sorts_marked,
        searches=sorted(support.searches),
        allocates=support.allocates,
        parallel=support.parallel,
        functions=module.functions,
    )
    return text


@cache
def _template() -> Any:
    # Imported here: a process that finds its kernels in the cache needs no Cython.
    from Cython import Tempita

    source = resources.files("sparray._kernels").joinpath("templates/kernel.pyx.tp")
    return Tempita.Template(source.read_text(encoding="utf-8"))
