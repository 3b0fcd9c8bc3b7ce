"""Functions of the loop IR as Cython source.

Each function becomes a C-level function over restrict pointers, one more for the body
of each parallel loop, and an entry point that Python calls with addresses.
"""

from collections.abc import Sequence
from dataclasses import replace

from sparray.compiler.codegen.cython.expressions import expression, index_of
from sparray.compiler.codegen.cython.names import checked_name, comment_line
from sparray.compiler.codegen.cython.statements import Writer, statement
from sparray.compiler.codegen.cython.support import Support
from sparray.compiler.codegen.cython.types import (
    scalar_parameter,
    type_name,
)
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.traversal import free_names, walk
from sparray.records import dataclass

__all__ = ["PrintedModule", "print_functions"]


@dataclass(frozen=True, slots=True)
class PrintedModule:
    """The parts that a module's template puts together.

    Attributes
    ----------
    functions : tuple of str
        Source of each function: its C-level functions, then the entry point.
    support : Support
        What they need.
    """

    functions: tuple[str, ...]
    support: Support


def print_functions(functions: Sequence[ir.Function]) -> PrintedModule:
    """Print functions for one module.

    Parameters
    ----------
    functions : sequence of Function
        Verified functions with different names.

    Returns
    -------
    PrintedModule
        Their source and what it needs.

    Raises
    ------
    InternalError
        If a name may not appear in source.
    UnsupportedError
        If C has no such operation on that dtype.
    """
    support = Support()
    sources = tuple(_FunctionPrinter(f, support).source() for f in functions)
    return PrintedModule(sources, support)


class _FunctionPrinter:
    def __init__(self, function: ir.Function, support: Support) -> None:
        self._function = function
        self._support = support
        self._name = checked_name(function.name)
        self._tasks: list[str] = []

    def source(self) -> str:
        run = self._c_function(
            f"sp_run_{self._name}", self._function.parameters, self._function.body
        )
        return "\n\n".join([*self._tasks, run, self._entry_point()])

    def _c_function(
        self, name: str, parameters: Sequence[ir.Var | ir.Buffer], body: ir.Block
    ) -> str:
        out = Writer(self._support, self._parallel)
        out.workspaces = _workspaces(body, self._support)
        statement(body, out)
        out.line("return 0")
        declarations = [
            f"    cdef {type_} {', '.join(names)}"
            for type_, names in out.locals.items()
        ]
        declarations += [
            f"    cdef {element}* {workspace} = NULL"
            for workspace, element in out.workspaces.items()
        ]
        signature = _list_lines([self._c_parameter(p) for p in parameters], "")
        head = f"cdef int {name}({signature}) noexcept nogil:"
        return "\n".join([head, *declarations, *out.lines])

    def _c_parameter(self, item: ir.Var | ir.Buffer) -> str:
        name = checked_name(item.name)
        if isinstance(item, ir.Buffer):
            pointer = self._support.pointer(item.dtype, writable=item.writable)
            return f"{pointer} {name}"
        self._support.vector(item.dtype, item.lanes)
        return f"{type_name(item.dtype, item.lanes)} {name}"

    def _entry_point(self) -> str:
        """Print the function that Python sees: addresses in, a status out.

        Its arguments come as one tuple, which one helper takes apart: conversions and
        checks of each argument, with their errors, would be most of the module.
        """
        kinds, arguments = "", []
        for number, item in enumerate(self._function.parameters):
            if isinstance(item, ir.Buffer):
                type_ = self._support.pointer(item.dtype, writable=item.writable)
                kind, member = "a", "address"
            else:
                type_ = type_name(item.dtype, 1)
                kind, member = scalar_parameter(item.dtype)
            kinds += kind
            arguments.append(f"<{type_}>sp_given[{number}].{member}")
        return "\n".join(
            [
                *map(comment_line, self._function.documentation),
                f"def {self._name}(*sp_arguments):",
                f"    cdef sp_argument[{max(len(kinds), 1)}] sp_given",
                "    cdef int sp_status",
                f'    sp_unpack(sp_arguments, "{kinds}", sp_given)',
                "    with nogil:",
                f"        sp_status = sp_run_{self._name}"
                f"({_list_lines(arguments, ' ' * 8)})",
                "    return sp_status",
            ]
        )

    def _parallel(self, node: ir.Parallel, out: Writer) -> None:
        """Outline the body of a parallel loop and print the loop around its calls.

        Outlined, the body's variables are private to a task, and no assignment in it
        can turn into one of prange's reductions by the way it is written.
        """
        self._support.parallel = True
        number = len(self._tasks) + 1
        task = f"sp_task_{self._name}_{number}"
        captured = free_names(node.body)
        captured.pop(node.var.name, None)
        self._tasks.append(
            self._c_function(task, [*captured.values(), node.var], node.body)
        )
        var = out.local(checked_name(node.var.name), "int64_t")
        count = out.local(f"sp_count_{number}", "int64_t")
        threads = out.local(f"sp_threads_{number}", "int")
        failed = out.local(f"sp_failed_{number}", "int")
        call = f"{task}({', '.join([*captured, var])})"
        out.line(f"{count} = {index_of(node.count, out.support)}")
        out.line(f"{threads} = <int>{expression(node.threads, out.support)}")
        out.line(f"{failed} = 0")
        out.line(f"if {threads} <= 1 or {count} <= 1:")
        out.line(f"    for {var} in range({count}):")
        out.line(f"        {failed} |= {call}")
        out.line("else:")
        out.line(
            "    # |= is a reduction here: each thread has its own, joined at the end."
        )
        out.line(f"    for {var} in prange(")
        out.line(
            f"        {count}, num_threads={threads}, schedule='dynamic', chunksize=1"
        )
        out.line("    ):")
        out.line(f"        {failed} |= {call}")
        out.leave_if(f"{failed}")


def _list_lines(items: Sequence[str], indent: str) -> str:
    """Return what stands between two parentheses, one item a line."""
    lines = "".join(f"\n{indent}    {item}," for item in items)
    return f"{lines}\n{indent}" if items else ""


def _workspaces(body: ir.Block, support: Support) -> dict[str, str]:
    """Return the buffers that a function allocates itself, not in a parallel task."""
    return {
        checked_name(n.buffer.name): support.scalar(n.buffer.dtype)
        for n in walk(_without_tasks(body))
        if isinstance(n, ir.Allocate)
    }


def _without_tasks(body: ir.Block) -> ir.Block:
    """Return a function's statements without the parallel loops in them."""
    kept: list[ir.Stmt] = []
    for each in body.statements:
        if isinstance(each, ir.Block):
            kept.append(_without_tasks(each))
        elif isinstance(each, ir.While):
            kept.append(replace(each, body=_without_tasks(each.body)))
        elif not isinstance(each, ir.Parallel):
            kept.append(each)
    return ir.Block(tuple(kept))
