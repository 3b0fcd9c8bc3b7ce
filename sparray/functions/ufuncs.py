"""NumPy's ufuncs of sparse arrays: what `__array_ufunc__` answers.

A ufunc that sparray has a function for is that function. Others are composed of
operators, as one expression and one kernel. What is left, ufuncs of other packages
included, is applied to the stored values and to the fill value.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.array_operators import ArrayOperators, apply_operands, broadcast_shape
from sparray.errors import DTypeError, ShapeError, UnsupportedError
from sparray.functions import elementwise
from sparray.functions.creation import asarray, zeros
from sparray.functions.dask_chunks import register
from sparray.functions.einsum import as_operand, einsum
from sparray.functions.ufunc_methods import METHODS
from sparray.sparse_array import SparseArray

__all__ = ["apply_ufunc"]

Result = SparseArray | npt.NDArray[Any]

# NumPy's names of functions that sparray calls otherwise.
_ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
}

# Expressions of a and b, in the dtype of NumPy's loop; a result is rounded as NumPy's.
_COMPOSED = {
    "deg2rad": "{a} * 0.017453292519943295",
    "radians": "{a} * 0.017453292519943295",
    "rad2deg": "{a} * 57.29577951308232",
    "degrees": "{a} * 57.29577951308232",
    "fabs": "abs({a})",
    "rint": "round({a})",
    "float_power": "{a} ** {b}",
    "fmax": "where(isnan({a}), {b}, where(isnan({b}), {a}, max({a}, {b})))",
    "fmin": "where(isnan({a}), {b}, where(isnan({b}), {a}, min({a}, {b})))",
    "heaviside": "where({a} < 0, 0.0, where({a} > 0, 1.0, where({a} == 0, {b}, {a})))",
    "logaddexp2": (
        "where({a} == {b}, {a} + 1.0, max({a}, {b}) "
        "+ log1p(exp2(-abs({a} - {b}))) * 1.4426950408889634)"
    ),
}
# Of floats the remainder of magnitudes is exact; of integers the difference is.
_FMOD = {
    "f": "copysign(modulo(abs({a}), abs({b})), {a})",
    "i": (
        "where((modulo({a}, {b}) != 0) & (({a} < 0) != ({b} < 0)), "
        "modulo({a}, {b}) - {b}, modulo({a}, {b}))"
    ),
    "u": "modulo({a}, {b})",
}

_PRODUCTS = {
    "matvec": "...ij,...j->...i",
    "vecmat": "...i,...ij->...j",
    "vecdot": "...i,...i->...",
}


def apply_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """Apply a ufunc, or one of its methods, to operands of which one is sparse.

    Parameters
    ----------
    ufunc : numpy.ufunc
        NumPy's or another package's.
    method : str
        ``"__call__"``, ``"reduce"``, ``"accumulate"``, ``"outer"``, ...
    inputs : sequence
        The operands.
    options : mapping
        NumPy's keywords: ``dtype`` and ``out``, and those of the method.

    Returns
    -------
    SparseArray, ndarray or tuple of them
        NotImplemented if an operand is of a kind that sparray does not know.

    Raises
    ------
    UnsupportedError
        If the ufunc, the method or a keyword is none that sparray computes.
    """
    if not all(map(_is_ours, inputs)):
        register()
        return NotImplemented
    given = dict(options)
    outs = given.pop("out", None)
    if method == "__call__":
        if outs is not None and given.get("where", True) is not True:
            return _where_chosen(ufunc, inputs, outs, given)
        result = _call(ufunc, inputs, given)
    else:
        result = METHODS[method](ufunc, inputs, given)
    if outs is None or result is NotImplemented:
        return result
    return _written(ufunc, result, outs)


def _where_chosen(
    ufunc: np.ufunc, inputs: Sequence[Any], outs: Sequence[Any], given: dict[str, Any]
) -> Any:
    """Write results where a condition holds; the other elements stay."""
    where = given.pop("where")
    found = _several(_call(ufunc, inputs, given))
    made = [
        one if out is None else elementwise.where(where, one, out)
        for one, out in zip(found, outs, strict=True)
    ]
    return _written(ufunc, made[0] if len(made) == 1 else tuple(made), outs)


def _is_ours(operand: Any) -> bool:
    """Tell whether an operand does not answer ufuncs itself, as lazy arrays do."""
    hook = getattr(type(operand), "__array_ufunc__", None)
    return isinstance(operand, ArrayOperators | np.ndarray | np.generic) or hook is None


def _written(ufunc: np.ufunc, result: Any, outs: Sequence[Any]) -> Any:
    """Write results to the arrays that ``out`` names, as ``x += A`` does."""
    made = []
    for one, out in zip(_several(result), outs, strict=True):
        if out is None:
            made.append(one)
            continue
        if np.shape(one) != out.shape:
            raise ShapeError(
                f"{ufunc.__name__}: expected an array of shape {np.shape(one)} to "
                f"write to, got one of shape {out.shape}"
            )
        if not np.can_cast(one.dtype, out.dtype, "same_kind"):
            raise DTypeError(
                f"{ufunc.__name__}: expected an array to write to that {one.dtype} can "
                f"be cast to, got {out.dtype}"
            )
        if isinstance(out, np.ndarray) and isinstance(one, SparseArray):
            one = one.todense()
        out[...] = one
        made.append(out)
    return made[0] if len(made) == 1 else tuple(made)


def _call(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    dtype = options.pop("dtype", None)
    if options.pop("where", True) is not True:
        raise UnsupportedError(
            f"{ufunc.__name__}: where: expected True without an array to write to, got "
            "a condition; sparray.where chooses between two arrays"
        )
    for name, harmless in (("casting", "same_kind"), ("order", "K"), ("subok", True)):
        if options.pop(name, harmless) != harmless:
            raise UnsupportedError(f"{ufunc.__name__}: {name}: expected {harmless!r}")
    if options:
        raise UnsupportedError(
            f"{ufunc.__name__}: expected none of {', '.join(options)}"
        )
    if dtype is not None:
        inputs = [_converted(x, np.dtype(dtype)) for x in inputs]
    name = _ALIASES.get(ufunc.__name__, ufunc.__name__)
    function = _known(ufunc, name)
    return function(*inputs) if function is not None else _other(ufunc, inputs)


def _known(ufunc: np.ufunc, name: str) -> Callable[..., Any] | None:
    """Return sparray's function that is NumPy's ufunc; None if there is none."""
    if getattr(np, ufunc.__name__, None) is not ufunc:
        return None
    if name == "matmul":
        return lambda a, b: a @ b if isinstance(a, ArrayOperators) else b.__rmatmul__(a)
    if name == "divmod":
        return _divmod
    if name in _PRODUCTS:
        return lambda a, b: _product(name, a, b)
    if name in ("rint", "round"):
        return None
    return getattr(elementwise, name, None) if name in elementwise.__all__ else None


def _divmod(a: Any, b: Any) -> tuple[Result, Result]:
    return elementwise.floor_divide(a, b), elementwise.remainder(a, b)


def _product(name: str, a: Any, b: Any) -> Any:
    """Compute a product of vectors; the first one is conjugated, as in NumPy."""
    left = as_operand("x1", a)
    if name != "matvec" and left.dtype.kind == "c":
        left = elementwise.conj(left)
    return einsum(_PRODUCTS[name], left, b)


def _other(ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    given = [_operand(x) for x in inputs]
    if any(x is None for x in given):
        return NotImplemented
    if not any(isinstance(x, SparseArray) for x in given):
        return ufunc(*given)
    text = _COMPOSED.get(ufunc.__name__) if hasattr(np, ufunc.__name__) else None
    if ufunc is np.fmod:
        text = _FMOD[_loop(ufunc, given)[0].kind]
    if ufunc is np.ldexp:
        return _ldexp(*given)
    if text is not None:
        wanted = _loop(ufunc, given)
        operands = [_converted(x, w) for x, w in zip(given, wanted, strict=False)]
        return apply_operands(text, operands)
    return _by_values(ufunc, given)


def _operand(value: Any) -> Any:
    """Return a sparse array, a dense one or a Python number; None for others."""
    if isinstance(value, bool | int | float | complex) and not isinstance(
        value, np.generic
    ):
        return value
    try:
        operand = as_operand("operand", value)
    except DTypeError:
        return None
    if isinstance(operand, SparseArray) and operand.format.is_dense:
        return np.asarray(operand)
    return operand


def _loop(ufunc: np.ufunc, given: Sequence[Any]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes that NumPy computes in: at least float32 for floats."""
    kinds = [type(x) if _is_number(x) else x.dtype for x in given]
    if ufunc not in (np.fmax, np.fmin, np.fmod, np.float_power, np.ldexp):
        # As sparray's functions do; NumPy takes float16 for narrow integers.
        kinds = [_at_least_float(kind) for kind in kinds]
    try:
        return ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError as error:
        raise DTypeError(f"{ufunc.__name__}: {error}") from None


def _at_least_float(kind: Any) -> Any:
    integer = isinstance(kind, np.dtype) and kind.kind in "biu"
    return np.dtype(np.float64) if integer else kind


def _is_number(value: Any) -> bool:
    return type(value) in (bool, int, float, complex)


def _converted(operand: Any, dtype: np.dtype[Any]) -> Any:
    """Return an operand in a dtype; Python's numbers become arrays of it."""
    if isinstance(operand, SparseArray):
        return operand if operand.dtype == dtype else operand.astype(dtype)
    return np.asarray(operand, dtype)


def _ldexp(x: Any, exponent: Any) -> Any:
    """Multiply by a power of two, in two steps: one power might overflow."""
    loop = _loop(np.ldexp, [x, exponent])
    operands = [_converted(x, loop[0]), _converted(exponent, np.dtype(np.float64))]
    half = "floor({b} * 0.5)"
    text = f"{{a}} * exp2({half}) * exp2({{b}} - {half})"
    return apply_operands(text, operands).astype(loop[2])


def _by_values(ufunc: np.ufunc, given: Sequence[Any]) -> Any:
    """Apply a ufunc to stored values and to fill values."""
    if ufunc.signature is not None:
        raise UnsupportedError(
            f"{ufunc.__name__}: expected a ufunc of elements, got one of "
            f"{ufunc.signature}"
        )
    shape = broadcast_shape(
        ufunc.__name__, [() if _is_number(x) else x.shape for x in given]
    )
    if any(isinstance(x, np.ndarray) and x.size != 1 for x in given):
        # Every element may have a value of its own: the result is dense.
        dense = [x.todense() if isinstance(x, SparseArray) else x for x in given]
        return ufunc(*dense)
    sparse = [x for x in given if isinstance(x, SparseArray)]
    aligned = iter(_aligned(sparse, shape))
    parts = [next(aligned) if isinstance(x, SparseArray) else x for x in given]
    flat = [x.reshape(()) if isinstance(x, np.ndarray) else x for x in parts]
    try:
        with np.errstate(all="ignore"):
            values = ufunc(*[getattr(x, "values", x) for x in flat])
            fills = ufunc(*[getattr(x, "fill_value", x) for x in flat])
    except TypeError as error:
        raise DTypeError(f"{ufunc.__name__}: {error}") from None
    like = next(x for x in parts if isinstance(x, SparseArray))
    made = [
        SparseArray._from_trusted(
            like.format, like.shape, like._levels, part, part.dtype.type(fill)
        )
        for part, fill in zip(_several(values), _several(fills), strict=True)
    ]
    return made[0] if len(made) == 1 else tuple(made)


def _several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _aligned(
    arrays: Sequence[SparseArray], shape: tuple[int, ...]
) -> list[SparseArray]:
    """Return arrays with the union of their patterns, in one format."""
    unique = [x if x.format.unique else _plain(x) for x in arrays]
    if len(unique) == 1 and unique[0].shape == shape:
        return unique
    everything = None
    for array in unique:
        mark = np.ones(len(array.values), bool)
        pattern = SparseArray._from_trusted(
            array.format, array.shape, array._levels, mark, np.False_
        )
        everything = pattern if everything is None else everything | pattern
    union = asarray(everything)
    if union.shape != shape:
        union = asarray(union | zeros(shape, bool))
    if union.format.is_dense:
        # Every element is stored; what has no pattern of its own is dense.
        union = union.to_format(_plain(union).format)
    made = []
    for array in unique:
        # Adding zeros that are stored stores what they do, and changes no number.
        nothing = union.astype(array.dtype)
        nothing.values[:] = 0
        summed = array + nothing if array.dtype != bool else array | nothing
        made.append(summed.to_format(union.format))
    return made


def _plain(array: SparseArray) -> SparseArray:
    return array.to_format("csr" if array.ndim == 2 else "csf")
