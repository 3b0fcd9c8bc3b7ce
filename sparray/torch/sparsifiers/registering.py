"""Ways of sparsifiers that users add, for formats of the input and of the result."""

from collections.abc import Callable
from typing import Any

from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.torch.sparsifiers.sparsifier import IMPLEMENTATIONS, Sparsifier

__all__ = ["register_sparsifier"]

Function = Callable[..., Any]


def register_sparsifier(
    kind: type[Sparsifier],
    input: str | Format | None = None,
    output: str | Format | None = None,
) -> Callable[[Function], Function]:
    """Register the decorated function as a sparsifier's way from one format to another.

    Parameters
    ----------
    kind : type
        A class of sparsifiers.
    input : str or Format, optional
        Of what it is called with; dense by default.
    output : str or Format, optional
        Of the result; any by default.

    Returns
    -------
    callable
        The decorator; it returns the function as it is.

    Raises
    ------
    TypeError
        If the class is none of sparsifiers.

    Notes
    -----
    The function takes the sparsifier, the tensor and the format that is asked for; it
    returns a `SparseTensor`. What is registered comes before the sparsifier's own
    `keep`, the last one first.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> class Diagonal(spt.Sparsifier):
    ...     def keep(self, x):
    ...         return torch.eye(*x.shape, dtype=torch.bool)
    >>> @spt.register_sparsifier(Diagonal, input=None, output="coo")
    ... def diagonal(sparsifier, x, format):
    ...     n = torch.arange(min(x.shape))
    ...     levels = [{"pos": [0, len(n)], "crd": n}, {"crd": n.clone()}]
    ...     return spt.from_buffers(format, x.shape, levels, x.diagonal().contiguous())
    >>> Diagonal()(torch.ones(3, 3), format="coo").nnz
    3
    """
    if not (isinstance(kind, type) and issubclass(kind, Sparsifier)):
        raise TypeError(f"register_sparsifier: expected a Sparsifier, got {kind!r}")

    def register(function: Function) -> Function:
        def fits(given: Format | None, wanted: Format) -> bool:
            return _is(given, input) and (output is None or _is(wanted, output))

        IMPLEMENTATIONS.setdefault(kind, []).append((fits, function))
        return function

    return register


def _is(format: Format | None, wanted: str | Format | None) -> bool:
    if format is None or wanted is None:
        return format is None and wanted is None
    return format == as_format(wanted, format.ndim)
