"""What modules, optimizers and gradient scalers call besides arithmetic."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sparray.errors import WouldDensifyError
from sparray.torch.table import TABLE, implements, name_of
from sparray.torch.tensor import SparseTensor, values_of

__all__: list[str] = []


@implements([torch._has_compatible_shallow_copy_type])
def _has_compatible_shallow_copy_type(input: Tensor, other: Tensor) -> bool:
    # `Module.to` asks whether `.data = other` will do: a wrapper has no data.
    return False


def _register_factory(function: Callable[..., Any]) -> None:
    @implements([function])
    def factory(self: SparseTensor, *args: Any, **kwargs: Any) -> Tensor:
        """Make a dense tensor: of this one, only its dtype and device are asked for."""
        made: Tensor = function(self.values().detach(), *args, **kwargs)
        return made


for _name in ("new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"):
    _register_factory(getattr(Tensor, _name))


@implements([torch._amp_foreach_non_finite_check_and_unscale_])
def _unscale_(grads: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Divide gradients by a scale, as `torch.amp.GradScaler` does."""
    torch._amp_foreach_non_finite_check_and_unscale_(
        [values_of(grad) for grad in grads], found_inf, inv_scale
    )


@implements([Tensor.share_memory_])
def _share_memory_(self: SparseTensor) -> SparseTensor:
    self.values().share_memory_()  # type: ignore[no-untyped-call]
    return self


@implements([Tensor.is_shared])
def _is_shared(self: SparseTensor) -> bool:
    return bool(self.values().is_shared())  # type: ignore[no-untyped-call]


def _register_storage(function: Callable[..., Any]) -> None:
    @implements([function])
    def storage(self: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        raise WouldDensifyError(
            f"{name_of(function)}: expected a tensor with one storage, got {self!r:.60}"
            "...; W.values() and the level buffers have one each, and "
            "sparray.torch.to_plain(state) is made of such tensors alone"
        )


# Of a dense copy, an address would be that of memory that is given back at once.
for _name in ("data_ptr", "storage"):
    _register_storage(getattr(Tensor, _name))


if Tensor.__setitem__ not in TABLE:

    @implements([Tensor.__setitem__])
    def _setitem(self: Tensor, key: Any, value: Any) -> Any:
        """Change the entries where a mask of the same pattern is true."""
        is_number = not isinstance(value, Tensor) or value.dim() == 0
        if not (
            is_number
            and isinstance(self, SparseTensor)
            and isinstance(key, SparseTensor)
            and key.dtype == torch.bool
            and self.pattern.same_as(key.pattern)
            and not (key.fill_value and self.requires_grad)
        ):
            return NotImplemented
        self.values()[key.values()] = value
        if key.fill_value:
            self._fill = torch.as_tensor(value).to(self.dtype).item()
        return None
