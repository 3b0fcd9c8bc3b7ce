"""Kinds of dtypes, and the dtype in which each is computed."""

import sys

import ml_dtypes
import numpy as np
import pytest

from sparray.compiler.loop_ir.dtypes import (
    computed_dtype,
    dtype_kind,
    half_bits,
    is_half,
    numpy_dtype,
    weakly_promoted,
    widened,
)
from sparray.errors import MissingExtraError

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def test_only_16_bit_floats_are_computed_in_another_dtype():
    for name in ("bool", "int16", "uint64", "float32", "float64", "complex64"):
        assert computed_dtype(name) == name
        assert not is_half(name) and not is_half(np.dtype(name))
        assert dtype_kind(name) == np.dtype(name).kind
        array = np.ones(2, name)
        assert widened(array) is array
    for dtype in (np.dtype("float16"), BFLOAT16):
        assert computed_dtype(dtype.name) == "float32"
        assert is_half(dtype) and is_half(dtype.name)
        assert dtype_kind(dtype) == dtype_kind(dtype.name) == "f"
        assert widened(np.ones(2, dtype)).dtype == np.float32
        assert widened(dtype.type(2)) == np.float32(2)


def test_bfloat16_is_imported_when_it_is_named(monkeypatch):
    assert numpy_dtype("bfloat16") == BFLOAT16
    assert numpy_dtype("float16") == np.float16
    with pytest.raises(TypeError):
        numpy_dtype("float7")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(MissingExtraError, match=r"bfloat16: .*levels\[bfloat16\]"):
        numpy_dtype("bfloat16")


@pytest.mark.parametrize(
    ("value", "dtype", "bits"),
    [
        (1.0, "float16", 0x3C00),
        (-0.0, "float16", 0x8000),
        (1e6, "float16", 0x7C00),
        (2**-24, "float16", 1),
        (2049, "float16", 0x6800),
        (1.0, "bfloat16", 0x3F80),
        (257, "bfloat16", 0x4380),
        (259, "bfloat16", 0x4382),
    ],
)
def test_half_bits(value, dtype, bits):
    assert half_bits(value, dtype) == bits


def test_a_python_number_beside_an_array():
    assert weakly_promoted(BFLOAT16, 0.1) == BFLOAT16
    assert weakly_promoted(BFLOAT16, 2) == BFLOAT16
    assert weakly_promoted(BFLOAT16, 1j) == np.complex64
    assert weakly_promoted(np.dtype("int8"), 0.1) == np.float64
    assert weakly_promoted(np.dtype("float32"), 0.1) == np.float32
