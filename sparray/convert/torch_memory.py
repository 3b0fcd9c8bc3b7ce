"""Dense torch tensors and NumPy arrays that share memory."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.errors import DTypeError

if TYPE_CHECKING:
    import torch

__all__ = ["as_ndarray", "as_strided_tensor"]


def as_ndarray(tensor: "torch.Tensor") -> npt.NDArray[Any]:
    """Return a CPU tensor as an array that shares its memory.

    Parameters
    ----------
    tensor : torch.Tensor
        Strided, without grad, conjugation and negation.

    Returns
    -------
    ndarray
        A bfloat16 tensor as an array of ml_dtypes' dtype.

    Raises
    ------
    DTypeError
        If NumPy has no such dtype.
    MissingExtraError
        If it is bfloat16, and ml_dtypes is not installed.
    """
    import torch

    try:
        if tensor.dtype == torch.bfloat16:
            bits: npt.NDArray[Any] = tensor.view(torch.int16).numpy()
            return bits.view(numpy_dtype("bfloat16"))
        return np.asarray(tensor.numpy())
    except TypeError:
        raise DTypeError(
            f"tensor: expected a dtype that NumPy has, got {tensor.dtype}"
        ) from None


def as_strided_tensor(array: npt.NDArray[Any]) -> "torch.Tensor":
    """Return an array as a strided tensor that shares its memory."""
    import torch

    # Only what NumPy did not define has this kind; the name takes a while to make.
    if array.dtype.kind == "V" and array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
