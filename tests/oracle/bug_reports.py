"""Inputs from public bug reports, made into arrays.

`cases/cases.jsonl` names the report of each; see its ``source``.
"""

import json
import math
from pathlib import Path

import numpy as np

from sparray.convert import array, from_buffers, from_coords
from sparray.formats import Format

__all__ = ["CASES", "LARGEST", "numbers", "operand", "reference"]

FILE = Path(__file__).parents[1] / "cases" / "cases.jsonl"
CASES = {
    case["id"]: case for case in map(json.loads, FILE.read_text("utf-8").splitlines())
}
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
LARGEST = 10**6


def numbers(value):
    """Turn the words and pairs that JSON needs for some numbers into numbers."""
    if isinstance(value, list):
        return [numbers(item) for item in value]
    if isinstance(value, dict):
        return complex(numbers(value["re"]), numbers(value["im"]))
    return SPECIAL.get(value, value) if isinstance(value, str) else value


def operand(entry):
    """Make the array that an entry of a case's setup describes."""
    dtype = entry["dtype"]
    shape = entry["shape"]
    if entry["given"] == "compressed":
        order = (0, 1) if entry["compressed_axis"] == "rows" else (1, 0)
        buffers = {"pos": entry["indptr"], "crd": entry["indices"]}
        levels = [{}, {role: np.array(b, "int32") for role, b in buffers.items()}]
        csr = Format.parse("csr", 2)
        values = np.array(numbers(entry["values"]), dtype)
        return from_buffers(Format(csr.levels, order), shape, levels, values)
    fill = numbers(entry.get("fill_value", 0))
    if entry["given"] == "coords":
        values = np.array(numbers(entry["values"]), entry.get("values_dtype", dtype))
        return from_coords(entry["coords"], values, shape, fill_value=fill, dtype=dtype)
    dense = np.array(numbers(entry["data"]), dtype).reshape(shape)
    return array(dense, fill_value=fill)


def reference(entry):
    """Make the same array densely, one entry after the other."""
    shape = entry["shape"]
    if entry["given"] in ("dense", "numpy"):
        return np.array(numbers(entry["data"]), entry["dtype"]).reshape(shape)
    dense = np.zeros(shape, entry["dtype"])
    values = numbers(entry["values"])
    if entry["given"] == "coords":
        coords = zip(*entry["coords"], strict=True) if shape else [()] * len(values)
    else:
        outer = np.repeat(np.arange(len(entry["indptr"]) - 1), np.diff(entry["indptr"]))
        pairs = zip(outer.tolist(), entry["indices"], strict=True)
        by_row = entry["compressed_axis"] == "rows"
        coords = (pair if by_row else pair[::-1] for pair in pairs)
    for coordinate, value in zip(coords, values, strict=True):
        dense[tuple(coordinate)] += np.asarray(value, entry["dtype"])
    return dense
