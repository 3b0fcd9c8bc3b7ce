"""Arrays in safetensors files."""

import json

import numpy as np
import pytest
from arrays import same

import sparray as sp
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.errors import FileFormatError, MissingExtraError
from sparray.io import describe, read_safetensors, write_safetensors

safetensors = pytest.importorskip("safetensors.numpy")


@pytest.mark.parametrize("format", ["dense", "csr", "csc", "coo", "dcsr", "csf"])
@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "int8", "int16", "int64", "uint8", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    ],
)
def test_every_format_and_dtype_comes_back_as_it_was(tmp_path, format, dtype):
    dense = np.array([[0, 1, 0], [2, 0, 3]]).astype(numpy_dtype(dtype))
    array = sp.array(dense, format=format)
    path = tmp_path / "A.safetensors"
    write_safetensors(path, array)
    for read in (read_safetensors(path), sp.load(path)):
        assert read.format == array.format
        assert read.dtype == array.dtype
        assert same(array, read)
    assert describe(path).dtype == dtype
    assert read_safetensors(path, "coo", dtype="complex128").dtype == np.complex128


def test_16_bit_floats_are_what_other_readers_call_them(tmp_path):
    path = tmp_path / "A.safetensors"
    for dtype in ("float16", "bfloat16"):
        write_safetensors(path, sp.array([[0, 1.5], [2, 0]], "csr", dtype=dtype))
        values = safetensors.load_file(str(path))["values"]
        assert values.dtype.name == dtype
        assert values.tolist() == [1.5, 2]


def test_fill_values_and_dimensions(tmp_path):
    path = tmp_path / "A.safetensors"
    for array in (
        sp.array(2.5),
        sp.from_coords([[0, 2]], [1.0, 2.0], (4,), fill_value=np.nan),
        sp.from_coords(np.zeros((4, 0)), [], (3, 0, 2, 5)),
    ):
        write_safetensors(path, array)
        assert same(array, read_safetensors(path))


def test_other_readers_see_the_buffers(tmp_path):
    path = tmp_path / "A.safetensors"
    array = sp.array([[0, 1.5], [2.5, 0]])
    write_safetensors(path, array)
    tensors = safetensors.load_file(path)
    np.testing.assert_array_equal(tensors["values"], array.values)
    np.testing.assert_array_equal(tensors["level1.crd"], array.levels[1]["crd"])


def test_wrong_files_are_refused(tmp_path):
    path = tmp_path / "A.safetensors"
    array = sp.array([[0, 1.5], [2.5, 0]])
    write_safetensors(path, array)
    content = path.read_bytes()
    for cut in range(0, len(content), 17):
        path.write_bytes(content[:cut])
        with pytest.raises(FileFormatError):
            read_safetensors(path)
    for content in (
        (10**18).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (2).to_bytes(8, "little") + b"\xff\xff",
    ):
        path.write_bytes(content)
        with pytest.raises(FileFormatError):
            read_safetensors(path)
    safetensors.save_file({"values": np.ones(3)}, path)
    with pytest.raises(FileFormatError, match="metadata 'sparray'"):
        read_safetensors(path)
    header = {"version": 1, "format": "(i) -> (i: compressed)", "shape": [4]}
    header |= {"dtype": "float64", "buffers": {"values": 3}}
    metadata = {"sparray": json.dumps(header)}
    safetensors.save_file({"values": np.ones(3)}, path, metadata)
    with pytest.raises(FileFormatError, match=r"'level0\.pos'"):
        read_safetensors(path)
    with pytest.raises(FileNotFoundError):
        read_safetensors(tmp_path / "nothing.safetensors")


@pytest.mark.parametrize(
    ("package", "suffix"), [("safetensors", ".safetensors"), ("h5py", ".h5")]
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, package, suffix):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    for use in (lambda p: sp.save(p, sp.array([1.0])), sp.load):
        with pytest.raises(MissingExtraError, match=r"sparray-levels\[io\]"):
            use(tmp_path / f"A{suffix}")
