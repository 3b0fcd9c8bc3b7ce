"""What `explain` returns: text that is HTML too, with the sources on demand."""

from collections.abc import Callable, Sequence
from typing import Any

from sparray._kernels.render import render_module
from sparray.compiler.pipeline import KernelSpec
from sparray.errors import UnsupportedError
from sparray.view.section import Section, section_text
from sparray.view.section_html import page_html, section_html

__all__ = ["Explanation", "cython_source"]


class Explanation(str):
    """How an expression is computed, as text; notebooks show it as HTML.

    Attributes
    ----------
    loops : str
        The loop IR of each kernel.
    source : str
        The Cython source of each kernel, as it would be compiled.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")
    >>> explanation = sp.explain("ij,j->i", A, [1.0, 1.0])
    >>> "for i [parallel]" in explanation
    True
    >>> print(explanation.loops)  # doctest: +ELLIPSIS
    function evaluate(...
    >>> page = explanation.html()
    >>> page.startswith("<!DOCTYPE html>")
    True
    """

    _build: Callable[[bool], Sequence[Section]]
    _kernels: Sequence[KernelSpec]

    def __new__(
        cls,
        build: Callable[[bool], Sequence[Section]],
        kernels: Sequence[KernelSpec],
        *,
        source: bool = False,
    ) -> "Explanation":
        """Make an explanation of sections, which ``build`` gives with sources too."""
        text = "\n".join(map(section_text, build(source)))
        made = super().__new__(cls, text)
        made._build = build
        made._kernels = tuple(kernels)
        return made

    @classmethod
    def joined(cls, parts: "Sequence[Explanation]", source: bool) -> "Explanation":
        """Return several explanations as one."""

        def build(source: bool) -> Sequence[Section]:
            return [section for part in parts for section in part._build(source)]

        kernels = [kernel for part in parts for kernel in part._kernels]
        return cls(build, kernels, source=source)

    @property
    def loops(self) -> str:
        """The loop IR of each kernel."""
        return "\n\n".join(kernel.loops for kernel in self._kernels)

    @property
    def source(self) -> str:
        """The Cython source of each kernel."""
        return "\n".join(map(cython_source, self._kernels))

    def html(self) -> str:
        """Return a page of its own, which loads nothing from elsewhere."""
        first, *rest = self._build(True)
        return page_html(first, *rest)

    def _repr_html_(self) -> str:
        return "".join(map(section_html, self._build(True)))

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # What it was made from is compiler state; the text is what is worth keeping.
        return str, (str(self),)


def cython_source(kernel: KernelSpec) -> str:
    """Return the Cython source of a kernel, or why there is none."""
    try:
        return render_module(kernel.functions, kernel.header)
    except ModuleNotFoundError:
        return "Cython is not installed: kernels are interpreted"
    except UnsupportedError as error:
        return f"not compiled: {error}"
