"""What a format is: one small array, stored in several ways."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert import array
from sparray.formats.named import as_format

__all__ = ["EXAMPLE", "describe_format", "tour"]

EXAMPLE: npt.NDArray[np.float32] = np.array(
    [
        [0, 5, 0, 0, 7, 0],
        [0, 0, 0, 0, 0, 0],
        [1, 0, 0, 2, 0, 0],
        [0, 0, 3, 0, 0, 4],
    ],
    np.float32,
)

_REMARKS = {
    "csr": "a slice of crd for each row; rows without an entry cost a number each",
    "coo": "both coordinates of each entry; nothing is looked up",
    "dcsr": "the rows are compressed too, so that an empty one costs nothing",
}


def tour() -> str:
    """Return the example and how three formats store it."""
    lines = ["A 4 x 6 array with 6 stored entries:", ""]
    lines += ["    " + " ".join(_cell(value) for value in row) for row in EXAMPLE]
    lines += [
        "",
        "A format is a list of levels, one per dimension. Each level has its buffers:",
        "pos says which positions belong to the one above, crd which coordinate each "
        "has.",
    ]
    for name, remark in _REMARKS.items():
        lines += ["", describe_format(EXAMPLE, name), f"    -> {remark}"]
    return "\n".join(lines)


def describe_format(elements: npt.NDArray[Any], name: str) -> str:
    """Return how a format stores an array: a line for each level's buffers."""
    stored = array(elements, format=name)
    lines = [f"  {name}: {as_format(name, elements.ndim)}, {stored.nbytes} bytes"]
    letters = "ijklmnop"
    levels = zip(stored.format.levels, stored.levels, stored.format.order, strict=True)
    for level, buffers, dimension in levels:
        held = [f"{role} = {buffer.tolist()}" for role, buffer in buffers.items()]
        lines.append(
            f"    {letters[dimension]}: {level!s:<22} {'  '.join(held) or 'no buffers'}"
        )
    lines.append(f"    values{'':<19} {stored.values.tolist()}")
    return "\n".join(lines)


def _cell(value: np.float32) -> str:
    return f"{value:.0f}" if value else "."
