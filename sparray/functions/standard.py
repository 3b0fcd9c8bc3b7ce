"""The array API standard's functions, and which of them sparray refuses, and why.

The user guide's page about the standard is made of this table.
"""

from types import ModuleType

from sparray.records import dataclass

__all__ = ["REFUSED", "STANDARD", "STANDARD_VERSION", "Row", "rows"]

STANDARD_VERSION = "2025.12"

STANDARD: dict[str, str] = {
    "Constants": "e inf nan newaxis pi",
    "Dtypes": (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 "
        "complex64 complex128"
    ),
    "Inspection": "__array_namespace_info__",
    "Creation functions": (
        "arange asarray empty empty_like eye from_dlpack full full_like linspace "
        "meshgrid ones ones_like tril triu zeros zeros_like"
    ),
    "Dtype functions": "astype can_cast finfo iinfo isdtype result_type",
    "Element-wise functions": (
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift "
        "bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj "
        "copysign cos cosh divide equal exp expm1 floor floor_divide greater "
        "greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 "
        "log10 logaddexp logical_and logical_not logical_or logical_xor maximum "
        "minimum multiply negative nextafter not_equal positive pow real reciprocal "
        "remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc"
    ),
    "Indexing functions": "take take_along_axis",
    "Linear algebra functions": "matmul matrix_transpose tensordot vecdot",
    "Manipulation functions": (
        "broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip "
        "moveaxis permute_dims repeat reshape roll squeeze stack tile unstack"
    ),
    "Searching functions": "argmax argmin count_nonzero nonzero searchsorted where",
    "Set functions": "isin unique_all unique_counts unique_inverse unique_values",
    "Sorting functions": "argsort sort",
    "Statistical functions": (
        "cumulative_prod cumulative_sum max mean min prod std sum var"
    ),
    "Utility functions": "all any diff",
    "Extension: linear algebra": " ".join(
        f"linalg.{name}"
        for name in (
            "cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul "
            "matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr "
            "slogdet solve svd svdvals tensordot trace vecdot vector_norm"
        ).split()
    ),
    "Extension: Fourier transforms": " ".join(
        f"fft.{name}"
        for name in (
            "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq "
            "fftshift ifftshift"
        ).split()
    ),
}
"""The names of the standard by its sections, extensions with their module's name."""

_TRANSFORM = (
    "a transform of a sparse array is dense: numpy.fft, or scipy.fft, of todense()"
)
_ALL_FILLED = (
    "is dense where the matrix is sparse: linalg.solve multiplies by it, without "
    "making it"
)

REFUSED: dict[str, str] = {
    "fft": _TRANSFORM,
    **dict.fromkeys(STANDARD["Extension: Fourier transforms"].split(), _TRANSFORM),
    "argsort": (
        "every element of the result is a place of its own, so that it is dense: "
        "numpy.argsort(x.todense())"
    ),
    "linalg.cholesky": (
        "SciPy has no sparse factorisation for it; linalg.solve factorises by LU"
    ),
    "linalg.inv": f"an inverse {_ALL_FILLED}",
    "linalg.pinv": f"a pseudo-inverse {_ALL_FILLED}; scipy.sparse.linalg.lsqr solves",
    "linalg.matrix_rank": (
        "it asks for all singular values, for which SciPy has no sparse solver: "
        "linalg.svdvals(x, k=...) gives the largest"
    ),
    "linalg.qr": (
        "SciPy has no sparse factorisation for it; scipy.sparse.linalg.lsqr takes "
        "linalg.aslinearoperator(x)"
    ),
}
"""Why a name is no attribute, for every one that is left out on purpose."""


@dataclass(frozen=True, slots=True)
class Row:
    """One function of the standard.

    Attributes
    ----------
    section : str
        Where it is in the standard.
    name : str
        With its module's, in an extension.
    supported : bool
        Whether the namespace has it.
    reason : str
        Why not; empty if it has, or if nobody has written it yet.
    """

    section: str
    name: str
    supported: bool
    reason: str


def rows(namespace: ModuleType) -> list[Row]:
    """Return what a namespace has of the standard.

    Parameters
    ----------
    namespace : module
        `sparray`.

    Returns
    -------
    list of Row
        One for each name, in the standard's order of sections.
    """
    return [
        Row(section, name, _has(namespace, name), REFUSED.get(name, ""))
        for section, names in STANDARD.items()
        for name in names.split()
    ]


def _has(namespace: ModuleType, name: str) -> bool:
    found: object = namespace
    for part in name.split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True
