"""Random functions in the style of NumPy: straight-line code over a few arrays.

`random_function` returns a function, which is run by NumPy and traced alike, and arrays
for it. Values stay small, so that what is compared is what was asked for.
"""

import numpy as np

UNARY = (
    *(np.negative, np.abs, np.square, np.tanh),
    *(np.cos, np.sign, np.floor, np.isfinite),
)
BINARY = (
    *(np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.hypot),
    *(np.greater, np.less_equal, np.logical_or, np.arctan2),
)
REDUCTIONS = ("sum", "mean", "max", "min", "any", "all")
NUMBERS = (0, 1, 2, -1, 3, 0.5, -2.5, True)


def random_function(seed):
    """Return a function of a list of arrays, and arrays for it."""
    rng = np.random.default_rng(seed)
    shapes = [(3, 4), (4,), (4, 3), (1, 4), (3, 1), (2, 3, 4), (3, 3)]
    arrays = []
    for _ in range(rng.integers(1, 4)):
        shape = shapes[rng.integers(len(shapes))]
        values = rng.integers(-2, 3, shape) * rng.integers(0, 2, shape)
        arrays.append(values.astype(rng.choice(["float64", "float32", "int64"])))
    moves = [(int(x), int(y), int(z)) for x, y, z in rng.integers(0, 2**31, (6, 3))]

    def function(*given):
        known = list(given)
        for kind, first, second in moves:
            x, y = known[first % len(known)], known[second % len(known)]
            made = _moved(kind, first, second, x, y)
            if made is not None and made.size <= 200:
                known.append(made)
        return tuple(known[len(given) :][-2:])

    return function, arrays


def _moved(kind, first, second, x, y):
    """Return what one line of code makes; None for one that NumPy would refuse."""
    line = LINES[kind % len(LINES)]
    return line(kind // len(LINES), first, second, x, y)


def _unary(choice, first, second, x, y):
    return UNARY[choice % len(UNARY)](x)


def _binary(choice, first, second, x, y):
    if not _broadcast(x.shape, y.shape):
        return None
    return BINARY[choice % len(BINARY)](x, y)


def _number(choice, first, second, x, y):
    number = NUMBERS[choice % len(NUMBERS)]
    operator = BINARY[first % 6]
    return operator(x, number) if second % 2 else operator(number, x)


def _matmul(choice, first, second, x, y):
    if not x.ndim or not y.ndim:
        return None
    inner = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inner or not _broadcast(x.shape[:-2], y.shape[:-2]):
        return None
    return x @ y


def _turned(choice, first, second, x, y):
    if choice % 3 == 0:
        return x.T
    return x[:, None] if x.ndim and choice % 3 == 1 else x[None]


def _einsum(choice, first, second, x, y):
    if x.ndim != 2:
        return None
    return np.einsum(("ij->ji", "ij->j", "ij->")[choice % 3], x)


def _weights(choice, first, second, x, y):
    return np.exp(-np.abs(x))


def _reduced(choice, first, second, x, y):
    name = REDUCTIONS[choice % len(REDUCTIONS)]
    axis = None if not x.ndim else (None, 0, -1, tuple(range(x.ndim)))[second % 4]
    if x.dtype == bool and name in ("max", "min"):
        return None
    return getattr(x, name)(axis=axis, keepdims=bool(second // 4 % 2))


def _where(choice, first, second, x, y):
    if not _broadcast(x.shape, y.shape):
        return None
    return np.where(x > 0, (y, 1.5, -1)[choice % 3], (0, y, -np.inf)[choice // 3 % 3])


def _broadcast(a, b):
    return all(
        m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False)
    )


LINES = (
    *(_unary, _unary, _binary, _binary, _binary, _number, _number, _reduced),
    *(_reduced, _matmul, _matmul, _turned, _turned, _where, _einsum, _weights),
)
