"""Write how each torch operator is computed in each format: `user/torch_operators.md`.

``python docs/extensions/torch_table.py`` writes the page anew. What it says is found
out by calling: each row is a call of `tests/torch/operator_calls.py`, and the functions
are those of the table that `SparseTensor.__torch_function__` answers from.
"""

import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "user" / "torch_operators.md"
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "torch")]

_HEAD = """\
# Operators of torch and formats

Written by `docs/extensions/torch_table.py`, which calls each operator in each format.

- *compiled*: expressions in index notation, for which kernels of that format are
  compiled.
- *converted*: compiled too, after a conversion to a format that there are kernels for.
  The pattern is converted once and kept.
- *values*: torch computes it on the stored values, or entries move to other places:
  there is nothing to compile.
- *dense*: computed on a dense copy, with one warning for each place in the code; an
  error in `spt.strict()`.

Gradients, first and second, are computed in the same way as what they are gradients of.
"""

_NO_OPERATORS = "conversions copying differentiation metadata training".split()

_PUBLIC = {
    "torch._sparse_": "torch.sparse.",
    "torch.sparse_": "torch.sparse.",
    "torch.linalg_": "torch.linalg.",
    "torch.special_": "torch.special.",
    "torch.functional.": "torch.",
}

_FUNCTIONS = """\
## Functions

What the table of `SparseTensor` answers, besides conversions and what tells about a
tensor. Any other function is computed densely.
"""


def operator_page() -> str:
    """Return the page."""
    from operator_calls import CALLS, FORMATS, interpreted, mode

    lines = [_HEAD]
    with interpreted():
        for ndim, formats in FORMATS.items():
            lines += [f"## {ndim} dimensions", ""]
            lines.append(f"| operator | {' | '.join(f'`{f}`' for f in formats)} |")
            lines.append("|---" * (len(formats) + 1) + "|")
            for call in CALLS:
                if call.ndim == ndim:
                    cells = [mode(call, format) for format in formats]
                    lines.append(f"| {call.functions} | {' | '.join(cells)} |")
            lines.append("")
    lines += [_FUNCTIONS, *_functions(), ""]
    return "\n".join(lines)


def _functions() -> list[str]:
    """Return a row for each area of the table."""
    from sparray.torch.table import TABLE, name_of

    areas = defaultdict(set)
    for function, implementation in TABLE.items():
        area = implementation.__module__.rpartition(".")[2]
        if area not in _NO_OPERATORS:
            areas[area].add(_public(name_of(function)))
    rows = ["| area | functions |", "|---|---|"]
    for area, names in sorted(areas.items()):
        listed = " ".join(f"`{name}`" for name in sorted(names))
        rows.append(f"| {area.replace('_', ' ')} | {listed} |")
    return rows


def _public(name: str) -> str:
    """Return the name that torch's documentation has for a built-in function."""
    for built_in, public in _PUBLIC.items():
        name = name.replace(built_in, public)
    return name


if __name__ == "__main__":
    PAGE.write_text(operator_page(), encoding="utf-8")
