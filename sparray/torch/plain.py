"""States with sparse tensors as states of plain tensors, and back.

So any container of named tensors holds them: a safetensors file, ``torch.save`` that is
to be read without sparray, an archive of arrays.
"""

import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from sparray.errors import FileFormatError
from sparray.formats.format import Format
from sparray.torch.rebuilding import (
    parts_of_fill,
    parts_of_pattern,
    rebuild_pattern,
    rebuild_tensor,
)
from sparray.torch.tensor import SparseTensor

__all__ = ["from_plain", "to_plain"]

# What names of parts begin with, after the tensor's own name. A name that has it
# already is refused, so no two names come out alike.
_MARK = "::"
_HEADER = f"{_MARK}sparray"


def to_plain(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return a state whose sparse tensors are taken apart into plain ones.

    Parameters
    ----------
    state : mapping of str to Tensor
        Such as ``model.state_dict()``.

    Returns
    -------
    dict of str to Tensor
        Of ``W``: ``W::values``, ``W::level1.pos`` and so on, ``W::fill_value``, and
        ``W::sparray``, the bytes of a header in JSON. Values are shared, others as
        they are.

    Raises
    ------
    FileFormatError
        If a name has ``::`` in it, or what it names is no tensor.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> state = {"W": spt.tensor(torch.eye(2), "csr"), "b": torch.ones(2)}
    >>> plain = spt.to_plain(state)
    >>> sorted(plain)  # doctest: +NORMALIZE_WHITESPACE
    ['W::fill_value', 'W::level1.crd', 'W::level1.pos', 'W::sparray', 'W::values',
     'b']
    >>> spt.from_plain(plain)["W"].format.name
    'csr'
    """
    made: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if _MARK in name or not isinstance(tensor, Tensor):
            raise FileFormatError(
                f"state: expected tensors whose names have no {_MARK!r}, got "
                f"{name!r}: {type(tensor).__name__}"
            )
        if isinstance(tensor, SparseTensor):
            made |= _parts(name, tensor)
        else:
            made[name] = tensor
    return made


def _parts(name: str, tensor: SparseTensor) -> dict[str, Tensor]:
    format, shape, levels, n_values = parts_of_pattern(tensor.pattern)
    header = json.dumps({"format": format, "shape": shape, "n_values": n_values})
    made = {
        f"level{number}.{role}": buffer.clone()
        for number, roles in enumerate(levels)
        for role, buffer in roles.items()
    }
    made["values"] = tensor.values().detach()
    made["fill_value"] = torch.tensor(tensor.fill_value, dtype=tensor.dtype)
    made["sparray"] = torch.frombuffer(bytearray(header.encode()), dtype=torch.uint8)
    return {f"{name}{_MARK}{part}": one for part, one in made.items()}


def from_plain(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state that `to_plain` took apart.

    Parameters
    ----------
    state : mapping of str to Tensor
        What `to_plain` returned, in any order.

    Returns
    -------
    dict of str to Tensor
        Every buffer is checked: a state may come from a file that is anyone's.

    Raises
    ------
    FileFormatError
        If parts are missing, or a header is none.
    InvalidBufferError, FormatError
        If the parts do not fit together.
    """
    made: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if name.endswith(_HEADER):
            owner = name.removesuffix(_HEADER)
            made[owner] = _whole(owner, state)
        elif _MARK not in name:
            made[name] = tensor
        elif name.split(_MARK)[0] + _HEADER not in state:
            raise FileFormatError(
                f"{name}: expected {name.split(_MARK)[0]}{_HEADER} beside it, got none"
            )
    return made


def _whole(name: str, state: Mapping[str, Tensor]) -> SparseTensor:
    try:
        header = json.loads(bytes(state[name + _HEADER].tolist()))
        format, shape, n_values = (
            header[key] for key in ("format", "shape", "n_values")
        )
        n_levels = len(Format.parse(format, len(shape)).levels)
        levels: list[dict[str, Tensor]] = [{} for _ in range(n_levels)]
        for part, tensor in state.items():
            level, dot, role = part.removeprefix(f"{name}{_MARK}level").partition(".")
            if part.startswith(f"{name}{_MARK}level") and dot:
                levels[int(level)][role] = tensor
        values = state[f"{name}{_MARK}values"]
        fill = parts_of_fill(state[f"{name}{_MARK}fill_value"].item())
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise FileFormatError(
            f"{name}: expected a header and the parts that it names, got "
            f"{type(error).__name__}: {error}"
        ) from error
    pattern = rebuild_pattern(format, shape, levels, n_values)
    return rebuild_tensor(pattern, values, fill, {})
