"""Arrays in and out: coordinates, raw buffers, NumPy, SciPy and torch.

Every entrance checks what it is given; what is inside is trusted. Nothing becomes
dense, and no stored value is dropped, without being asked for. SciPy and torch are
imported when a function that needs them is called.
"""

from sparray.convert.entries import (
    convert_format,
    default_format,
    from_buffers,
    from_coords,
    from_dense,
)
from sparray.convert.objects import array
from sparray.convert.scipy_arrays import from_scipy, to_scipy
from sparray.convert.torch_tensors import from_torch, strided_ndarray, to_torch

__all__ = [
    "array",
    "convert_format",
    "default_format",
    "from_buffers",
    "from_coords",
    "from_dense",
    "from_scipy",
    "from_torch",
    "to_scipy",
    "strided_ndarray",
    "to_torch",
]
