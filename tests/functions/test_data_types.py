"""Functions about dtypes, and what the namespace says of itself."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import DeviceError, DTypeError, MissingNameError, SettingError

A = sp.array(np.eye(3, dtype="float32"))


def test_astype():
    assert sp.astype(A, "float32", copy=False) is A
    assert sp.astype(A, sp.float32) is not A
    assert sp.astype(A, sp.int64).dtype == np.int64
    assert sp.astype(sp.full(2, 1j), sp.bool).todense().tolist() == [True, True]
    assert sp.astype([1, 0], "float64").dtype == np.float64
    with pytest.raises(DTypeError, match="real and imag"):
        sp.astype(sp.ones(2, dtype="complex64"), "float32")
    with pytest.raises(DTypeError):
        sp.astype(A, "U1")


def test_promotion():
    assert sp.result_type(A, "int8") == np.float32
    assert sp.result_type(A, 1.0) == np.float32
    assert sp.result_type(sp.int8, sp.ones(2, dtype="uint8")) == np.int16
    assert sp.result_type(A, 1j) == np.complex64
    assert sp.result_type(1, 2.0) == np.float64
    assert sp.can_cast(A, "float64") and not sp.can_cast("int64", "int8")
    with pytest.raises(DTypeError, match="result_type"):
        sp.result_type()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_limits_of_floats(dtype):
    found, expected = sp.finfo(dtype), np.finfo(dtype)
    for name in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(found, name) == getattr(expected, name)
        assert type(getattr(found, name)) in (int, float)
    assert found.dtype == expected.dtype
    assert sp.finfo(A).bits == 32
    with pytest.raises(DTypeError):
        sp.finfo("int8")


def test_bfloat16():
    pytest.importorskip("ml_dtypes")
    assert sp.finfo("bfloat16").bits == 16
    assert sp.isdtype("bfloat16", "real floating")


def test_limits_of_integers():
    assert (sp.iinfo("int8").max, sp.iinfo(sp.uint16).bits) == (127, 16)
    with pytest.raises(DTypeError):
        sp.iinfo(A)


def test_kinds():
    assert sp.isdtype(A.dtype, "real floating")
    assert sp.isdtype("int8", ("bool", "integral"))
    assert not sp.isdtype("bool", "numeric")
    assert sp.isdtype("bool", sp.bool)
    with pytest.raises(DTypeError, match="kind"):
        sp.isdtype("int8", "whole")


def test_the_namespace_says_what_it_has():
    assert A.__array_namespace__() is sp
    assert A.__array_namespace__(api_version="2024.12") is sp
    with pytest.raises(SettingError, match="1999"):
        A.__array_namespace__(api_version="1999.12")
    info = sp.__array_namespace_info__()
    assert info.devices() == [info.default_device()] == ["cpu"]
    assert info.capabilities()["data-dependent shapes"]
    assert info.default_dtypes()["integral"] == sp.int64
    assert len(info.dtypes()) == 13
    assert list(info.dtypes(kind=("bool", "complex floating"))) == [
        "bool", "complex64", "complex128",
    ]  # fmt: skip
    assert len(info.dtypes(kind="integral")) == 8
    assert all(getattr(sp, name) == dtype for name, dtype in info.dtypes().items())
    with pytest.raises(DTypeError, match="kind"):
        info.dtypes(kind="whole")
    with pytest.raises(DeviceError):
        info.dtypes(device="cuda")


def test_names_that_are_refused_say_why():
    assert not hasattr(sp, "fft")
    with pytest.raises(MissingNameError, match="transform of a sparse array is dense"):
        sp.fft  # noqa: B018
    with pytest.raises(AttributeError, match="'no_such_name'"):
        sp.no_such_name  # noqa: B018
