"""What compiled kernels were made of, as text."""

from collections.abc import Sequence

from sparray.compiler.cin.printer import print_statement
from sparray.compiler.pipeline import KernelSpec

__all__ = ["KernelTexts"]


class KernelTexts:
    """Mixin with the texts of what holds one kernel or several."""

    __slots__ = ()

    @property
    def _specs(self) -> Sequence[KernelSpec]:
        raise NotImplementedError

    @property
    def schedule(self) -> str:
        """The commands that were applied, a line per kernel."""
        return "\n".join(spec.decision.schedule for spec in self._specs)

    @property
    def cin(self) -> str:
        """The scheduled concrete index notation of each kernel."""
        return "\n".join(
            print_statement(spec.decision.statement) for spec in self._specs
        )

    @property
    def loops(self) -> str:
        """The loop IR of each kernel."""
        return "\n\n".join(spec.loops for spec in self._specs)
