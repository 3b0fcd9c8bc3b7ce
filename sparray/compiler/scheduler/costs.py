"""The constants of the cost model, read from a file that says where they come from.

They are relative to one multiply-add on operands in cache. Only their order of
magnitude matters: candidates that differ asymptotically differ by far more. The
package's file is `costs.json`; ``SPARRAY_COSTS`` names one of the user's, whose
constants replace the package's. ``python -m sparray measure-costs`` writes such a file.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sparray.errors import SettingError
from sparray.records import dataclass

__all__ = ["BUILT_IN_COSTS", "Costs", "load_costs", "read_costs"]

BUILT_IN_COSTS = Path(__file__).with_name("costs.json")


@dataclass(frozen=True, slots=True)
class Costs:
    """Constants with their provenance.

    Attributes
    ----------
    values : mapping of str to float
        Each constant.
    provenance : mapping of str to str
        CPU, compiler, date and how they were found.
    meanings : mapping of str to str
        What each constant is the cost of.
    """

    values: Mapping[str, float]
    provenance: Mapping[str, str]
    meanings: Mapping[str, str]


def load_costs() -> Costs:
    """Return the package's constants, or the user's where ``SPARRAY_COSTS`` is set.

    Raises
    ------
    SettingError
        If the user's file cannot be read, or has an unknown constant or one that is no
        positive number.
    """
    usual = read_costs(BUILT_IN_COSTS)
    setting = os.environ.get("SPARRAY_COSTS", "")
    if not setting:
        return usual
    own = read_costs(Path(setting).expanduser())
    unknown = sorted(set(own.values) - set(usual.values))
    if unknown:
        raise SettingError(
            f"SPARRAY_COSTS: expected constants of {', '.join(usual.values)}, got "
            f"{', '.join(unknown)} in {setting}"
        )
    merged = MappingProxyType({**usual.values, **own.values})
    return Costs(merged, own.provenance, usual.meanings)


def read_costs(path: Path) -> Costs:
    """Return the constants of a file.

    Raises
    ------
    SettingError
        If it cannot be read, or a constant is no positive number.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = dict(content["costs"])
        provenance = {str(k): str(v) for k, v in dict(content["provenance"]).items()}
        values = {
            name: _positive(path, name, row["value"]) for name, row in rows.items()
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, SettingError):
            raise
        raise SettingError(
            f"SPARRAY_COSTS: expected a file with provenance and costs, got {path} "
            f"({type(error).__name__}: {error})"
        ) from error
    meanings = {name: str(row.get("meaning", "")) for name, row in rows.items()}
    return Costs(MappingProxyType(values), provenance, meanings)


def _positive(path: Path, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingError(f"{path}: expected a number for {name}, got {value!r}")
    if not (math.isfinite(value) and value > 0):
        raise SettingError(f"{path}: expected a positive {name}, got {value!r}")
    return float(value)
