"""Linear algebra: the extension of the array API standard, and what SciPy needs."""

from sparray.functions.linear_algebra.norms import (
    diagonal,
    matrix_norm,
    matrix_transpose,
    trace,
    vector_norm,
)
from sparray.functions.linear_algebra.products import (
    cross,
    kron,
    matmul,
    matrix_power,
    outer,
    tensordot,
    vecdot,
)
from sparray.functions.linear_algebra.solving import (
    SlogdetResult,
    aslinearoperator,
    det,
    slogdet,
    solve,
)
from sparray.functions.linear_algebra.spectra import (
    EighResult,
    SVDResult,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    svd,
    svdvals,
)

__all__ = [
    "EighResult",
    "SVDResult",
    "SlogdetResult",
    "aslinearoperator",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "kron",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "outer",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def __getattr__(name: str) -> object:
    from sparray.errors import MissingNameError
    from sparray.functions.standard import REFUSED

    message = f"module 'sparray.linalg' has no attribute {name!r}"
    if f"linalg.{name}" in REFUSED:
        raise MissingNameError(f"{message}: {REFUSED[f'linalg.{name}']}")
    raise AttributeError(message)
