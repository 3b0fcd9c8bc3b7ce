"""Call the kernels of one list of coordinates, or their interpreter."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.address import address
from sparray._kernels.kernel_source import KernelSource
from sparray._kernels.runtime import LoadedKernel, load_kernel
from sparray._kernels.threads import num_threads
from sparray.compiler.kernel_facts.list_spec import ListSpec
from sparray.errors import KernelMemoryError

__all__ = ["ListKernel"]


class ListKernel:
    """The functions of a `ListSpec`: compiled, or interpreted where nothing compiles.

    Parameters
    ----------
    spec : ListSpec
        The functions.
    """

    def __init__(self, spec: ListSpec) -> None:
        self.spec = spec
        self._loaded: LoadedKernel | None = load_kernel(spec.key, self._make)

    def _make(self) -> KernelSource:
        return KernelSource(self.spec.key, self.spec.functions, self.spec.header)

    @property
    def is_compiled(self) -> bool:
        """Whether there is a compiled kernel."""
        return self._loaded is not None

    def __call__(
        self, name: str, arrays: Sequence[npt.NDArray[Any]], sizes: Sequence[int]
    ) -> None:
        """Call a function with arrays, sizes and the number of threads.

        Raises
        ------
        KernelMemoryError
            If it could not allocate its workspace.
        """
        if self._loaded is None:
            # Imported late: it is there for where nothing compiles.
            from sparray.compiler.loop_ir.interpreter import run_named

            flat = [np.reshape(array, -1) for array in arrays]
            run_named(self.spec.functions, name, [*flat, *sizes, num_threads()])
            return
        addresses = [address(array) for array in arrays]
        if self._loaded.functions[name](*addresses, *sizes, num_threads()):
            raise KernelMemoryError(
                "expected memory for sorting to be available, got a failed allocation"
            )
