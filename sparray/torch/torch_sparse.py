"""To and from the sparse matrices of the package ``torch_sparse``.

PyTorch Geometric took its adjacency matrices from there before torch had its own. What
such a matrix is, is known by its methods: the package is needed only to make one.
"""

from importlib import import_module
from typing import Any

import torch

from sparray.errors import FormatError, MissingExtraError, ShapeError, UnsupportedError
from sparray.torch.creation import from_buffers
from sparray.torch.gradient_formats import refuse_anchored
from sparray.torch.operators.conversions import to_format
from sparray.torch.pattern import as_tensor_of
from sparray.torch.tensor import SparseTensor

__all__ = ["from_torch_sparse", "to_torch_sparse"]


def from_torch_sparse(matrix: Any, dtype: torch.dtype | None = None) -> SparseTensor:
    """Return a ``torch_sparse.SparseTensor`` as a csr tensor, part of its graph.

    Parameters
    ----------
    matrix : torch_sparse.SparseTensor
        Or anything with its ``csr()`` and ``sparse_sizes()``.
    dtype : torch.dtype, optional
        Of the values; by default those of the matrix, and torch's default dtype if it
        has none: then every entry is 1.

    Returns
    -------
    SparseTensor
        In format csr. Indices are shared, and values too if they keep their dtype.

    Raises
    ------
    UnsupportedError
        If an entry has more than one value.
    InvalidBufferError
        If columns of a row are out of order, or one is there twice;
        ``matrix.coalesce()`` adds those up.
    FormatError
        If it is no such matrix.

    Examples
    --------
    >>> from torch_sparse import SparseTensor  # doctest: +SKIP
    >>> spt.from_torch_sparse(SparseTensor.eye(3)).nnz  # doctest: +SKIP
    3
    """
    if not (hasattr(matrix, "csr") and hasattr(matrix, "sparse_sizes")):
        raise FormatError(
            "matrix: expected a torch_sparse.SparseTensor, or what has its csr() and "
            f"sparse_sizes(), got {type(matrix).__name__} (as_tensor takes others)"
        )
    rows, columns, values = matrix.csr()
    if values is None:
        values = torch.ones(len(columns), dtype=dtype or torch.get_default_dtype())
    if values.dim() != 1:
        raise UnsupportedError(
            "matrix: expected one value for each entry, got values of shape "
            f"{tuple(values.shape)}; matrix.set_value(values[:, n]) has one"
        )
    levels: list[dict[str, torch.Tensor]] = [{}, {"pos": rows, "crd": columns}]
    made = from_buffers("csr", matrix.sparse_sizes(), levels, values)
    return made if dtype is None else made.to(dtype)  # type: ignore[return-value]


def to_torch_sparse(tensor: SparseTensor) -> Any:
    """Return a matrix as a ``torch_sparse.SparseTensor``, part of the graph.

    Parameters
    ----------
    tensor : SparseTensor, shape (n, m)
        In any format, with fill value 0.

    Returns
    -------
    torch_sparse.SparseTensor
        It shares the values of a csr tensor; indices are copied, as int64.

    Raises
    ------
    ShapeError
        If it is no matrix.
    UnsupportedError
        If it has a fill value.
    MissingExtraError
        If ``torch_sparse`` is not installed.
    """
    if tensor.dim() != 2:
        raise ShapeError(f"tensor: expected a matrix, got shape {tuple(tensor.shape)}")
    if tensor.fill_value != 0:
        raise UnsupportedError(
            f"tensor: expected fill value 0, got {tensor.fill_value}"
        )
    refuse_anchored("to_torch_sparse", tensor)
    try:
        package = import_module("torch_sparse")
    except ImportError as error:
        raise MissingExtraError(
            "to_torch_sparse: expected torch_sparse to be installed, got none "
            f"({error}); PyTorch Geometric also takes a csr tensor as it is"
        ) from error
    made = to_format(tensor, "csr")
    level = made.pattern.levels[1]
    return package.SparseTensor(
        rowptr=as_tensor_of(level["pos"]).to(torch.int64),
        col=as_tensor_of(level["crd"]).to(torch.int64),
        value=made.values(),
        sparse_sizes=tuple(tensor.shape),
        is_sorted=True,
        trust_data=True,
    )
