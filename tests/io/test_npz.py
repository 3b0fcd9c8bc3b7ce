"""Archives: sparray's own, SciPy's, and hostile ones."""

import io
import json
import struct
import zipfile

import numpy as np
import pytest
import scipy.sparse
from arrays import same

import sparray as sp
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.errors import (
    FileFormatError,
    ShapeError,
    UnsupportedError,
)
from sparray.io import (
    describe,
    read_npz,
    write_npz,
    write_scipy_npz,
)

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]
FORMATS = [
    *("dense", "csr", "csc", "coo", "dcsr", "dcsc", "ell", "dia", "bitmap"),
    *(
        "bcsr(2, 4)",
        "bcsc(4, 2)",
        "nmg(3, 3, 2)",
        "(i, j) -> (j: hashed, i: compressed)",
    ),
]


def example(format="csr", dtype="float64", fill_value=0):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((6, 9)) < 0.3, rng.integers(1, 90, (6, 9)), 0)
    values = dense.astype(numpy_dtype(dtype))
    return sp.array(values, format=format, fill_value=fill_value)


def identical(first, second):
    """Whether every buffer is the same, bit by bit."""
    assert second.format == first.format
    assert second.shape == first.shape
    assert second.index_dtype == first.index_dtype
    assert second.values.dtype == first.values.dtype
    for ours, theirs in zip(first.levels, second.levels, strict=True):
        assert ours.keys() == theirs.keys()
        for role in ours:
            np.testing.assert_array_equal(ours[role], theirs[role])
    return first.values.tobytes() == second.values.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_and_dtype_comes_back_as_it_was(tmp_path, format, dtype):
    array = example(format, dtype)
    path = tmp_path / "A.npz"
    write_npz(path, array)
    assert identical(array, read_npz(path))
    described = describe(path)
    assert described.shape == array.shape
    assert described.format == str(array.format)
    assert described.dtype == dtype


@pytest.mark.parametrize("compressed", [False, True])
def test_fill_values_keep_their_bits(tmp_path, compressed):
    path = tmp_path / "A.npz"
    strange = struct.unpack("d", struct.pack("Q", 0x7FF800000000BEEF))[0]
    for fill in (strange, -0.0, np.inf, 3.5, 1 + 2j):
        array = sp.from_coords([[0, 2]], [1, 2], (4,), "csf", "sum", fill, complex)
        if not isinstance(fill, complex):
            array = sp.from_coords([[0, 2]], [1, 2], (4,), "csf", "sum", fill, float)
        write_npz(path, array, compressed=compressed)
        read = read_npz(path)
        assert identical(array, read)
        assert read.fill_value.tobytes() == array.fill_value.tobytes()


def test_many_dimensions_and_none(tmp_path):
    path = tmp_path / "A.npz"
    for ndim in (0, 1, 3, 64):
        coords = np.arange(ndim)[:, None] % 2
        array = sp.from_coords(coords, [2.5], (2,) * ndim)
        write_npz(path, array)
        assert identical(array, read_npz(path))


def test_the_same_array_makes_the_same_file(tmp_path):
    for name in "AB":
        write_npz(tmp_path / name, example(), compressed=True)
    assert (tmp_path / "A").read_bytes() == (tmp_path / "B").read_bytes()


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("is_array", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64", "bool"])
def test_files_of_scipy_are_read(tmp_path, format, is_array, dtype):
    rng = np.random.default_rng(0)
    dense = (rng.random((6, 9)) < 0.4) * rng.integers(1, 90, (6, 9))
    made = scipy.sparse.csr_array(dense.astype(dtype)).asformat(format)
    if format == "bsr":
        made = scipy.sparse.bsr_array(dense.astype(dtype), blocksize=(2, 3))
    if not is_array:
        made = getattr(scipy.sparse, f"{format}_matrix")(made)
    path = tmp_path / "A.npz"
    scipy.sparse.save_npz(path, made)
    array = sp.load(path)
    assert array.dtype == dtype
    name = {"bsr": "bcsr(2, 3)", "dia": "coo"}.get(format, format)
    assert array.format.name == name
    assert sp.load(path, "dia").format.name == "dia"
    np.testing.assert_array_equal(array.todense(), made.toarray())
    assert describe(path).shape == made.shape
    assert sp.load(path, "csf", dtype="complex128").format.name in ("csf", "dcsr")


def test_unsorted_and_repeated_entries_of_scipy(tmp_path):
    path = tmp_path / "A.npz"
    parts = ([1.0, 2.0, 4.0], [2, 0, 2], [0, 3])
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(parts, shape=(1, 3)))
    assert sp.load(path).todense().tolist() == [[2, 0, 5]]
    coo = scipy.sparse.coo_array(([1.0, 2.0], ([1, 1], [0, 0])), shape=(2, 2))
    scipy.sparse.save_npz(path, coo)
    assert sp.load(path).todense().tolist() == [[0, 0], [3, 0]]


@pytest.mark.parametrize("offsets", [[0], [-2, 3], [8, -5, 0], [20], []])
@pytest.mark.parametrize("length", [3, 9, 12])
def test_diagonals_that_leave_the_matrix(tmp_path, offsets, length):
    data = np.arange(1.0, len(offsets) * length + 1).reshape(len(offsets), length)
    made = scipy.sparse.dia_array((data, offsets), shape=(6, 9))
    path = tmp_path / "A.npz"
    scipy.sparse.save_npz(path, made)
    np.testing.assert_array_equal(sp.load(path).todense(), made.toarray())


@pytest.mark.parametrize("format", FORMATS)
def test_scipy_reads_what_is_written_for_it(tmp_path, format):
    array = example(format)
    path = tmp_path / "A.scipy.npz"
    sp.save(path, array)
    read = scipy.sparse.load_npz(path)
    assert isinstance(read, scipy.sparse.sparray)
    np.testing.assert_array_equal(read.toarray(), array.todense())
    np.testing.assert_array_equal(sp.load(path).todense(), array.todense())


def test_scipy_files_of_other_dimensions(tmp_path):
    path = tmp_path / "A.scipy.npz"
    for shape in ((5,), (2, 3, 4)):
        array = sp.from_coords([[1]] * len(shape), [2.5], shape)
        write_scipy_npz(path, array)
        np.testing.assert_array_equal(
            scipy.sparse.load_npz(path).toarray(), array.todense()
        )
        assert same(array, sp.load(path))
    with pytest.raises(ShapeError):
        write_scipy_npz(path, sp.array(3.0))
    with pytest.raises(UnsupportedError, match="fill value"):
        write_scipy_npz(path, sp.array(np.ones(2), fill_value=1))


def test_arrays_by_name(data):
    graph = sp.load(data / "graphs" / "cora.npz", name="adj")
    assert (graph.shape, graph.nnz, graph.format.name) == ((2708, 2708), 10556, "csr")
    weights = sp.load(data / "graphs" / "gcn_weights_cora.npz", name="W0")
    assert weights.shape == (1433, 16)
    assert weights.format.is_dense
    with pytest.raises(FileFormatError, match=r"name=.*adj_data"):
        sp.load(data / "graphs" / "cora.npz")
    with pytest.raises(FileFormatError, match="'nothing'"):
        sp.load(data / "graphs" / "cora.npz", name="nothing")


def rewrite(path, change):
    """Write an archive again with members that ``change`` changes in place."""
    with np.load(path) as archive:
        members = dict(archive)
    change(members)
    np.savez(path, **members)


def header_change(key, value):
    def change(members):
        header = json.loads(str(members["sparray"]))
        header[key] = value
        members["sparray"] = np.array(json.dumps(header))

    return change


def member_change(name, value):
    def change(members):
        members[name] = value

    return change


HUGE = 10**18
CHANGES = {
    "version": header_change("version", 2),
    "format": header_change("format", "(i, j) -> (i: dense, j: nothing)"),
    "format of other dimensions": header_change("format", "(i) -> (i: compressed)"),
    "long format": header_change("format", "(" * 10**5),
    "shape": header_change("shape", [6, HUGE * 100]),
    "shape of text": header_change("shape", ["6", "9"]),
    "shape that is smaller": header_change("shape", [6, 2]),
    "shape that is larger": header_change("shape", [HUGE, 9]),
    "dtype": header_change("dtype", "float32"),
    "dtype of objects": header_change("dtype", "O"),
    "dtype of nothing": header_change("dtype", "nothing"),
    "lengths": header_change("buffers", {"values": HUGE, "level1.pos": 7}),
    "no buffers": header_change("buffers", {}),
    "no JSON": member_change("sparray", np.array("{")),
    "deep JSON": member_change("sparray", np.array("[" * 10**5)),
    "other JSON": member_change("sparray", np.array("[1, 2]")),
    "numbers as JSON": member_change("sparray", np.arange(3)),
    "long JSON": member_change("sparray", np.array(" " * 2**21)),
    "descending pos": member_change("level1.pos", np.arange(7, dtype="i4")[::-1]),
    "coordinates outside": lambda m: m["level1.crd"].__setitem__(0, 9),
    "unsorted coordinates": member_change("level1.crd", np.zeros(16, "i4")),
    "wide coordinates": lambda m: m.update(
        {"level1.crd": m["level1.crd"].astype("i8")}
    ),
    "float coordinates": lambda m: m.update({"level1.crd": m["level1.crd"] * 1.0}),
    "short values": lambda m: m.update({"values": m["values"][:-1]}),
    "matrix of values": lambda m: m.update({"values": m["values"][None]}),
    "texts as values": lambda m: m.update({"values": m["values"].astype("U9")}),
    "two fill values": member_change("fill_value", np.zeros(2)),
    "no values": lambda m: m.pop("values"),
    "no crd": lambda m: m.pop("level1.crd"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_wrong_members_are_refused(tmp_path, what):
    path = tmp_path / "A.npz"
    write_npz(path, example())
    rewrite(path, CHANGES[what])
    with pytest.raises(FileFormatError, match=r"A\.npz"):
        read_npz(path)


def test_objects_are_never_unpickled(tmp_path):
    path = tmp_path / "A.npz"
    write_npz(path, example())
    rewrite(path, member_change("values", np.array([Trap()] * 16)))
    with pytest.raises(FileFormatError, match="Python objects"):
        read_npz(path)
    np.savez(path, format=np.array([Trap()]), shape=[1], data=[1])
    with pytest.raises(FileFormatError, match="Python objects"):
        read_npz(path)


class Trap:
    """An object that must not come to life."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


SCIPY_CHANGES = {
    "format": ("format", np.array(b"lil")),
    "shape": ("shape", np.array([6, -9])),
    "shape of floats": ("shape", np.array([6.0, 9.0])),
    "shape of three": ("shape", np.array([6, 9, 1])),
    "huge shape": ("shape", np.array([2**62, 9])),
    "short indptr": ("indptr", np.zeros(3, np.int32)),
    "long indptr": ("indptr", np.full(7, 2**31 - 1, np.int32)),
    "negative indptr": ("indptr", np.full(7, -1, np.int32)),
    "float indices": ("indices", np.zeros(16)),
    "indices outside": ("indices", np.full(16, 99, np.int32)),
    "data of two dimensions": ("data", np.ones((4, 4))),
    "data of text": ("data", np.array(["x"] * 16)),
    "short data": ("data", np.ones(2)),
}


@pytest.mark.parametrize("what", SCIPY_CHANGES)
@pytest.mark.parametrize("format", ["csr", "bsr"])
def test_wrong_files_of_scipy_are_refused(tmp_path, format, what):
    path = tmp_path / "A.npz"
    made = scipy.sparse.csr_array(example().todense()).asformat(format)
    scipy.sparse.save_npz(path, made)
    rewrite(path, member_change(*SCIPY_CHANGES[what]))
    with pytest.raises(FileFormatError, match=r"A\.npz"):
        read_npz(path)


def bomb(path, n_bytes, header_length=None):
    """Write an archive whose values are zeros, compressed as far as it goes."""
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        member,
        {
            "descr": "<f8",
            "fortran_order": False,
            "shape": (header_length or n_bytes // 8,),
        },
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        with archive.open("values.npy", "w", force_zip64=True) as file:
            file.write(member.getvalue())
            for _ in range(n_bytes // 2**20):
                file.write(bytes(2**20))


def test_a_text_of_numbers_that_are_no_characters_is_refused(tmp_path):
    """NumPy makes a string of them that Python cannot read."""
    path = tmp_path / "A.npz"
    for bits in (0x110000, 0xFFFFFFFF, 0xD800):
        text = np.array([ord("{"), bits, ord("}")], dtype="u4").view("U3")
        np.savez(path, sparray=text)
        for read in (sp.load, describe):
            with pytest.raises(FileFormatError, match="expected a text"):
                read(path)


def test_a_zip_bomb_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "A.npz"
    bomb(path, 2**29)
    assert path.stat().st_size < 2**20
    with pytest.raises(FileFormatError, match="expected arrays of at most"):
        read_npz(path)


def test_a_header_that_promises_more_than_there_is_is_refused(tmp_path):
    path = tmp_path / "A.npz"
    bomb(path, 2**20, header_length=10**17)
    with pytest.raises(FileFormatError, match="bytes in array"):
        read_npz(path)


def test_members_that_overlap_are_refused(tmp_path):
    path = tmp_path / "A.npz"
    np.savez(path, values=np.ones(100))
    content = bytearray(path.read_bytes())
    # The directory once more, with another name for the same data.
    begin = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entry = bytes(content[begin:end])
    other = entry.replace(b"values.npy", b"values2npy")
    trailer = bytearray(content[end:])
    struct.pack_into("<HHI", trailer, 8, 2, 2, len(entry) + len(other))
    path.write_bytes(content[:begin] + entry + other + trailer)
    with pytest.raises(FileFormatError):
        read_npz(path)


@pytest.mark.parametrize("compressed", [False, True])
def test_every_cut_and_changed_byte_is_noticed_or_harmless(tmp_path, compressed):
    path = tmp_path / "A.npz"
    array = example()
    write_npz(path, array, compressed=compressed)
    content = path.read_bytes()
    for cut in range(0, len(content), 37):
        path.write_bytes(content[:cut])
        with pytest.raises(FileFormatError):
            read_npz(path)
    for at in range(0, len(content), 11):
        changed = bytearray(content)
        changed[at] ^= 0x55
        path.write_bytes(changed)
        try:
            read = read_npz(path)
        except FileFormatError:
            continue
        assert identical(array, read)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "A.npz"
    for content in (b"", b"PK\x03\x04", b"x" * 1000, b"\x93NUMPY\x01\x00"):
        path.write_bytes(content)
        with pytest.raises(FileFormatError):
            read_npz(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "text")
    with pytest.raises(FileFormatError):
        read_npz(path)
    with pytest.raises(FileNotFoundError):
        read_npz(tmp_path / "nothing.npz")
