"""An array in one paragraph: what ``repr`` says."""

from collections import defaultdict
from typing import TYPE_CHECKING

from sparray._kernels.sizes import byte_text
from sparray.formats.named import format_text
from sparray.view.labels import (
    density_text,
    entries_text,
    has_plain_fill,
    level_labels,
    shape_text,
    value_text,
)

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

__all__ = ["buffer_sizes", "summary"]

_MOST_BUFFERS = 6
"""Index buffers that are listed one by one."""


def summary(array: "SparseArray") -> str:
    """Return format, shape, dtype, stored entries, density and bytes per buffer.

    Examples
    --------
    >>> import sparray as sp
    >>> print(summary(sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")))
    <SparseArray csr, shape (2, 2), float64: 2 stored entries, density 0.5, 36 B
    (pos 12 B, crd 8 B, values 16 B)>
    """
    nnz = array.nnz
    sizes = buffer_sizes(array)
    total = byte_text(array.nbytes)
    if len(sizes) > 1:
        total += f" ({', '.join(f'{name} {size}' for name, size in sizes)})"
    fill = (
        ""
        if has_plain_fill(array)
        else f", fill value {value_text(array.dtype.type(array.fill_value))}"
    )
    return (
        f"<SparseArray {format_text(array.format)}, shape {shape_text(array.shape)}, "
        f"{array.dtype}: {entries_text(nnz)}, density "
        f"{density_text(nnz, array.size)}, {total}{fill}>"
    )


def buffer_sizes(array: "SparseArray") -> list[tuple[str, str]]:
    """Return the name and the size of each buffer, ``values`` last.

    A buffer is named with its level where several levels have one; of very many, those
    of one role are added up.
    """
    named = [
        (label.split(":")[0], role, buffer.nbytes)
        for label, buffers in zip(level_labels(array.format), array.levels, strict=True)
        for role, buffer in buffers.items()
    ]
    if len(named) > _MOST_BUFFERS:
        by_role: defaultdict[str, list[int]] = defaultdict(list)
        for _, role, size in named:
            by_role[role].append(size)
        sizes = [(f"{len(of)} {role}", sum(of)) for role, of in by_role.items()]
    elif len({level for level, _, _ in named}) > 1:
        sizes = [(f"{level}.{role}", size) for level, role, size in named]
    else:
        sizes = [(role, size) for _, role, size in named]
    sizes.append(("values", array.values.nbytes))
    return [(name, byte_text(size)) for name, size in sizes]
