"""Binsparse in archives and HDF5 files."""

import json

import numpy as np
import pytest
from arrays import same

import sparray as sp
from sparray.errors import DTypeError, FileFormatError, UnsupportedError
from sparray.io import describe, read_hdf5, read_npz, write_binsparse_npz, write_hdf5
from sparray.io.binsparse import binsparse_parts, read_binsparse

h5py = pytest.importorskip("h5py")

CONTAINERS = [
    pytest.param((".bsp.npz", write_binsparse_npz, read_npz), id="npz"),
    pytest.param((".bsp.h5", write_hdf5, read_hdf5), id="hdf5"),
]
NAMES = {
    "dense": "DMATR",
    "csr": "CSR",
    "csc": "CSC",
    "coo": "COOR",
    "dcsr": "DCSR",
    "dcsc": "DCSC",
    "(i, j) -> (j: dense, i: dense)": "DMATC",
    "(i, j) -> (j: compressed(nonunique), i: singleton)": "COOC",
}
CUSTOM = [
    "(i, j, k) -> (i: compressed, j: compressed, k: compressed)",
    "(i, j, k) -> (k: dense, i: compressed, j: dense)",
    "(i, j, k) -> (j: compressed, k: compressed(nonunique), i: singleton)",
    "(i, j, k) -> (i: dense, j: compressed(unordered), k: dense)",
    "(i, j, k) -> (i: compressed(nonunique), j: singleton(nonunique), k: singleton)",
    "(i, j, k) -> (i: dense, j: dense, k: dense)",
]


def example(format, dtype="float64"):
    rng = np.random.default_rng(0)
    shape = (4, 5, 6) if "k" in format else (6, 9)
    dense = np.where(rng.random(shape) < 0.3, rng.integers(1, 90, shape), 0)
    return sp.array(dense.astype(dtype), format=format)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("format", [*NAMES, *CUSTOM])
def test_every_format_comes_back_as_it_was(tmp_path, container, format):
    suffix, write, read = container
    path = tmp_path / f"A{suffix}"
    array = example(format)
    write(path, array)
    for again in (read(path), sp.load(path)):
        assert again.format == array.format
        assert again.dtype == array.dtype
        assert same(array, again)
    described = describe(path)
    assert described.shape == array.shape
    assert described.n_entries == len(array.values)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    ],
)
def test_every_dtype(tmp_path, container, dtype):
    suffix, write, read = container
    path = tmp_path / f"A{suffix}"
    array = example("csr", dtype)
    write(path, array, compressed=True)
    assert same(array, read(path))
    assert read(path).dtype == dtype


@pytest.mark.parametrize(("format", "name"), NAMES.items())
def test_formats_have_the_names_of_the_specification(format, name):
    descriptor, arrays = binsparse_parts(example(format))
    assert descriptor["format"] == name
    assert descriptor["version"] == "0.1"
    assert descriptor["data_types"].keys() == arrays.keys()
    assert "custom" not in descriptor


def test_vectors_and_numbers():
    for format, name in (("csf", "CVEC"), ("dense", "DVEC")):
        array = sp.array([0, 2.5, 0], format=format)
        descriptor, arrays = binsparse_parts(array)
        assert descriptor["format"] == name
        assert same(array, read_binsparse(descriptor, arrays.__getitem__))
    number = sp.array(2.5)
    descriptor, arrays = binsparse_parts(number)
    assert read_binsparse(descriptor, arrays.__getitem__).todense() == 2.5


def test_fill_values(tmp_path):
    array = sp.from_coords([[0, 2]], [1.0, 2.0], (4,), fill_value=np.nan)
    write_hdf5(tmp_path / "A.h5", array)
    read = read_hdf5(tmp_path / "A.h5")
    assert np.isnan(read.fill_value)
    np.testing.assert_array_equal(read.todense(), [1, np.nan, 2, np.nan])


# The examples of the specification, section "All Values the Same" and "Structure".
ISO = {
    "version": "0.1",
    "format": "CSR",
    "shape": [5, 5],
    "number_of_stored_values": 6,
    "data_types": {
        "pointers_to_1": "uint64",
        "indices_1": "uint64",
        "values": "iso[int8]",
    },
}
ISO_ARRAYS = {
    "pointers_to_1": np.array([0, 1, 3, 3, 5, 6], np.uint64),
    "indices_1": np.array([3, 1, 4, 1, 2, 3], np.uint64),
    "values": np.array([7], np.int8),
}
SYMMETRIC = {
    **ISO,
    "number_of_stored_values": 9,
    "structure": "symmetric_lower",
    "data_types": {**ISO["data_types"], "values": "int8"},
}
SYMMETRIC_ARRAYS = {
    "pointers_to_1": np.array([0, 1, 3, 5, 7, 9], np.uint64),
    "indices_1": np.array([0, 0, 1, 0, 2, 1, 3, 2, 4], np.uint64),
    "values": np.array([1, 2, 9, 7, 2, 2, 3, 3, 7], np.int8),
}


def test_examples_of_the_specification():
    for descriptor in (ISO, {"binsparse": ISO, "author": "somebody"}):
        array = read_binsparse(descriptor, ISO_ARRAYS.__getitem__)
        assert array.dtype == np.int8
        expected = np.zeros((5, 5))
        expected[[0, 1, 1, 3, 3, 4], [3, 1, 4, 1, 2, 3]] = 7
        np.testing.assert_array_equal(array.todense(), expected)
    array = read_binsparse(SYMMETRIC, SYMMETRIC_ARRAYS.__getitem__)
    lower = [[1, 0, 0, 0, 0], [2, 9, 0, 0, 0], [7, 0, 2, 0, 0], [0, 2, 0, 3, 0]]
    lower = np.array([*lower, [0, 0, 3, 0, 7]])
    np.testing.assert_array_equal(
        array.todense(), np.tril(lower) + np.tril(lower, -1).T
    )
    assert array.format.name == "csr"


def test_indices_from_one():
    arrays = ISO_ARRAYS | {
        name: ISO_ARRAYS[name] + np.uint64(1) for name in ("pointers_to_1", "indices_1")
    }
    array = read_binsparse({**ISO, "index_base": 1}, arrays.__getitem__)
    assert same(read_binsparse(ISO, ISO_ARRAYS.__getitem__), array)


def test_the_other_triangles():
    arrays = {
        "indices_0": np.array([0, 0]),
        "indices_1": np.array([0, 1]),
        "values": np.array([1.0, 0.0, 2.0, 3.0]),
    }
    descriptor = {
        "version": "0.1",
        "format": "COO",
        "shape": [2, 2],
        "number_of_stored_values": 2,
        "data_types": {
            "indices_0": "int64",
            "indices_1": "int64",
            "values": "complex[float64]",
        },
    }

    def read(structure):
        return read_binsparse(
            {**descriptor, "structure": structure}, arrays.__getitem__
        ).todense()

    upper = np.array([[1, 2 + 3j], [0, 0]])
    strict = np.triu(upper, 1)
    np.testing.assert_array_equal(read("symmetric_upper"), upper + strict.T)
    np.testing.assert_array_equal(read("hermitian_upper"), upper + strict.conj().T)
    np.testing.assert_array_equal(read("skew_symmetric_upper"), upper - strict.T)
    for wrong in ("symmetric_lower", "nonsense", 5):
        with pytest.raises(FileFormatError):
            read(wrong)


WRONG = {
    "no object": [],
    "version": {"version": "9.0"},
    "format": {"format": "ELL"},
    "shape": {"shape": [5]},
    "negative shape": {"shape": [5, -5]},
    "long shape": {"shape": [1] * 70},
    "text as shape": {"shape": ["5", "5"]},
    "count": {"number_of_stored_values": 10**18},
    "no types": {"data_types": {}},
    "list of types": {"data_types": []},
    "unknown type": {"data_types": {**ISO["data_types"], "values": "float16"}},
    "other type": {"data_types": {**ISO["data_types"], "values": "int16"}},
    "nested type": {"data_types": {**ISO["data_types"], "values": "iso[iso[int8]]"}},
    "complex integers": {
        "data_types": {**ISO["data_types"], "values": "complex[int8]"}
    },
    "iso indices": {"data_types": {**ISO["data_types"], "indices_1": "iso[uint64]"}},
    "index base": {"index_base": 2},
    "fill": {"fill": True},
    "custom": {"custom": 5},
    "empty custom": {"custom": {}},
    "rank": {"custom": {"level": {"level_desc": "dense", "rank": 0}}},
    "huge rank": {"custom": {"level": {"level_desc": "dense", "rank": 10**18}}},
    "level": {"custom": {"level": {"level_desc": "hashed", "rank": 1}}},
    "no element": {"custom": {"level": {"level_desc": "dense", "rank": 2}}},
    "transpose": {
        "custom": {
            "transpose": [0, 0],
            "level": {
                "level_desc": "dense",
                "rank": 2,
                "level": {"level_desc": "element"},
            },
        }
    },
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_descriptors_are_refused(what):
    change = WRONG[what]
    descriptor = {**ISO, **change} if isinstance(change, dict) else change

    def read(name):
        if name not in ISO_ARRAYS:
            raise FileFormatError(name)
        return ISO_ARRAYS[name]

    with pytest.raises(FileFormatError):
        read_binsparse(descriptor, read)


def test_a_dense_descriptor_alone_allocates_nothing():
    descriptor = {
        "version": "0.1",
        "format": "DMATR",
        "shape": [2**30, 2**30],
        "number_of_stored_values": 2**60,
        "data_types": {"values": "iso[int8]"},
    }
    with pytest.raises(FileFormatError, match="array for each value"):
        read_binsparse(descriptor, {"values": np.array([1], np.int8)}.__getitem__)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pointers_to_1", np.array([0, 1, 3, 3, 5, 2**63], np.uint64)),
        ("pointers_to_1", np.array([0, 3, 1, 3, 5, 6], np.uint64)),
        ("pointers_to_1", np.array([0, 6], np.uint64)),
        ("indices_1", np.array([3, 1, 4, 1, 2, 5], np.uint64)),
        ("indices_1", np.array([3, 4, 1, 1, 2, 3], np.uint64)),
        ("indices_1", np.zeros((6, 1), np.uint64)),
        ("indices_1", np.zeros(6)),
        ("values", np.array([7, 7], np.int8)),
        ("values", np.array([], np.int8)),
    ],
)
def test_wrong_arrays_are_refused(name, value):
    with pytest.raises(FileFormatError):
        read_binsparse(ISO, (ISO_ARRAYS | {name: value}).__getitem__)


def test_what_binsparse_has_no_words_for():
    for dtype in ("float16", "bfloat16"):
        with pytest.raises(DTypeError, match=f"got {dtype}"):
            binsparse_parts(sp.array([1.0]).astype(dtype))
    for format in (
        "(i) -> (i: compressed(nonunique))",
        "(i, j) -> (i: compressed(nonunique), j: compressed)",
    ):
        ndim = 1 + ("j" in format)
        array = sp.from_coords([[0]] * ndim, [1.0], (2,) * ndim, format)
        with pytest.raises(UnsupportedError, match="to_format"):
            binsparse_parts(array)
    for format in ("ell", "dia", "bitmap", "bcsr(2, 2)", "nmg(2, 2, 1)"):
        with pytest.raises(UnsupportedError, match="to_format"):
            binsparse_parts(sp.array([[0, 1], [2, 0]], format=format))


def hdf5_file(path, descriptor=ISO, arrays=ISO_ARRAYS):
    with h5py.File(path, "w") as file:
        file.attrs["binsparse"] = json.dumps({"binsparse": descriptor})
        for name, buffer in arrays.items():
            file[name] = buffer


def test_hdf5_files_of_others(tmp_path):
    path = tmp_path / "A.h5"
    hdf5_file(path)
    with h5py.File(path, "a") as file:
        group = file.create_group("inner")
        group.attrs["binsparse"] = np.bytes_(json.dumps(SYMMETRIC))
        for name, buffer in SYMMETRIC_ARRAYS.items():
            group[name] = buffer
    assert read_hdf5(path).nnz == 6
    assert read_hdf5(path, "csf", group="inner", dtype=float).nnz == 13
    with pytest.raises(FileFormatError, match="'nowhere'"):
        read_hdf5(path, group="nowhere")


def test_hostile_hdf5_files_are_refused(tmp_path):
    path, other = tmp_path / "A.h5", tmp_path / "B.h5"
    hdf5_file(other)
    hdf5_file(path, arrays={})
    with h5py.File(path, "a") as file:
        for name in ISO_ARRAYS:
            file[name] = h5py.ExternalLink(str(other), f"/{name}")
    with pytest.raises(FileFormatError, match="ExternalLink"):
        read_hdf5(path)
    # A dataset of which nothing is stored.
    hdf5_file(path, arrays={})
    with h5py.File(path, "a") as file:
        for name in ISO_ARRAYS:
            file.create_dataset(name, (10**12,), "u8", chunks=(10**6,))
    with pytest.raises(FileFormatError, match="expected arrays of at most"):
        read_hdf5(path)
    hdf5_file(path, arrays={"values": ISO_ARRAYS["values"]})
    with pytest.raises(FileFormatError, match=r"A\.h5"):
        read_hdf5(path)
    hdf5_file(path, descriptor="x" * 10)
    with pytest.raises(FileFormatError, match="descriptor"):
        read_hdf5(path)
    with h5py.File(path, "w") as file:
        file["values"] = [1]
    with pytest.raises(FileFormatError, match="binsparse"):
        read_hdf5(path)
    for content in (b"", b"x" * 100, other.read_bytes()[:600]):
        path.write_bytes(content)
        with pytest.raises(FileFormatError):
            read_hdf5(path)
    with pytest.raises(FileNotFoundError):
        read_hdf5(tmp_path / "nothing.h5")
