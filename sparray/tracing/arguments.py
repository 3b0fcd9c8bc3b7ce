"""Arguments of NumPy's and torch's methods, as lazy arrays take them."""

from typing import Any

import numpy as np

from sparray.functions.einsum import Operand, as_operand
from sparray.tracing.refusal import refusal

__all__ = ["as_array", "is_full", "refuse_options", "torch_words"]


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
