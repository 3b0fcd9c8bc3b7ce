"""Arguments of NumPy's and torch's methods, as lazy arrays take them."""

from typing import Any

import numpy as np

from sparray.errors import ShapeError
from sparray.functions.einsum import Operand, as_operand
from sparray.tracing.refusal import refusal

__all__ = ["as_array", "filled_keys", "is_full", "refuse_options", "torch_words"]


def as_array(argument: str, value: Any) -> Operand:
    """Return an array, or a tensor of torch, as an operand; dense ones stay dense."""
    if type(value).__module__.partition(".")[0] == "torch":
        if getattr(value, "requires_grad", False):
            raise refusal(
                argument,
                "expected arrays without gradients, got a tensor that requires one",
            )
        if str(getattr(value, "layout", "")) == "torch.strided":
            return np.asarray(value)
    return as_operand(argument, value)


def filled_keys(key: Any, ndim: int) -> list[Any]:
    """Return what a subscript has for each dimension, and None for new ones."""
    keys = list(key) if isinstance(key, tuple) else [key]
    made: list[Any] = []
    for one in keys:
        if isinstance(one, int | np.integer) and not isinstance(one, bool):
            made.append(int(one))
        elif one is None or one is Ellipsis or _is_plain_slice(one):
            made.append(one)
        else:
            raise refusal(
                f"[{type(one).__name__}]",
                "expected integers, slices of integers, None and ...",
            )
    given = sum(one is not None and one is not Ellipsis for one in made)
    if given > ndim or sum(one is Ellipsis for one in made) > 1:
        raise ShapeError(f"[...]: expected up to {ndim} coordinates, got {given}")
    if not any(one is Ellipsis for one in made):
        made.append(Ellipsis)
    place = next(n for n, one in enumerate(made) if one is Ellipsis)
    made[place : place + 1] = [slice(None)] * (ndim - given)
    return made


def _is_plain_slice(key: Any) -> bool:
    if not isinstance(key, slice):
        return False
    parts = (key.start, key.stop, key.step)
    return key.step != 0 and all(part is None or type(part) is int for part in parts)


def is_full(key: Any) -> bool:
    """Tell whether a key is a slice of everything."""
    return isinstance(key, slice) and key == slice(None)


def torch_words(options: dict[str, Any], axis: Any, keepdims: bool) -> tuple[Any, bool]:
    """Take what torch calls `dim` and `keepdim` out of options."""
    return options.pop("dim", axis), options.pop("keepdim", keepdims)


def refuse_options(name: str, **options: Any) -> None:
    """Refuse what a reduction of NumPy takes and no expression says."""
    given = [
        key for key, x in options.items() if x is not None and x is not np._NoValue
    ]
    if given:
        raise refusal(f"{name}({given[0]}=...)", "expected axis, dtype and keepdims")
