"""MatrixMarket files in and out."""

import csv
import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from arrays import same
from hypothesis import given, settings
from hypothesis import strategies as st

import sparray as sp
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.errors import (
    FileFormatError,
    FormatError,
    SettingError,
    ShapeError,
    UnsupportedError,
)
from sparray.io import describe, read_mtx, write_mtx

# Rows of EXPECT.tsv whose verdict has to be chosen: (strict, permissive), where True is
# a value and False an error. Of the other rows, "valid" ones give a value and "invalid"
# and "overflow" ones an error.
CHOSEN = {
    # Numbers past float64: an error, infinite with permissive=True.
    "fmm/long_double__longcomplex_array": (False, True),
    "fmm/long_double__longdouble_array": (False, True),
    "fmm/overflow__overflow_value_gt_complex128": (False, True),
    "fmm/overflow__overflow_value_gt_float64": (False, True),
    # What the specification does not allow, and what has one meaning only.
    "fmm/permissive__permissive_banner_one_percent_eye3": (False, True),
    "crafted/comment_in_body": (False, True),
    "crafted/cr_only": (False, True),
    "crafted/fortran_d_exponent": (False, True),
    "crafted/symmetric_upper": (False, True),
    "lagraph/west0067_jumbled": (False, True),
    # Carriage returns before line feeds, and vectors, are fine.
    "fmm/permissive__windows_lineendings_nist_ex1_more_freeformat": (True, True),
    "fmm/vector_coordinate": (True, True),
    "fmm/vector_coordinate_complex_dupes": (True, True),
    "fmm/scipy_crashes__vector_coordinate_real_general": (True, True),
    # Only their comment about a type of GraphBLAS is wrong.
    **{
        f"lagraph/mangled_{name}": (True, True)
        for name in ("bool", "int8", "int16", "uint8", "uint16")
    },
    # Of more than one meaning, or of none.
    "crafted/symmetric_both_triangles": (False, False),
    **{
        f"lagraph/{name}": (False, False)
        for name in (
            *("mangled1", "mangled2", "mangled4", "mangled6", "mangled8"),
            *("mangled11", "mangled13", "mangled15", "matrix_fp32", "matrix_fp64"),
        )
    },
}


def expected_rows(data, folder):
    with (data / "awkward" / "EXPECT.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row for row in rows if row["file"].startswith(f"awkward/{folder}/")]


def read_or_none(path, **options):
    try:
        return read_mtx(path, **options)
    except FileFormatError as error:
        assert str(path) in str(error)
        return None


def check_value(array, said):
    """Compare an array with what SciPy says of the file."""
    words = said.split()
    shape = said[said.index("(") + 1 : said.index(")")]
    assert array.shape == tuple(int(n) for n in shape.split(",") if n)
    if words[1] == "dense":
        assert array.format.is_dense
        return
    assert array.nnz == int(words[words.index("nnz") + 1])
    total = words[words.index("sum") + 1]
    if total not in ("n/a", "nan"):
        assert np.isclose(complex(array.values.sum()), complex(total))


def test_every_awkward_file_gives_the_value_or_the_error_that_its_note_says(data):
    rows = expected_rows(data, "mtx")
    assert len(rows) > 100
    for row in rows:
        name = row["file"].removeprefix("awkward/mtx/").removesuffix(".mtx")
        verdict = row["expected"]
        strict, permissive = CHOSEN.get(name, (verdict == "valid",) * 2)
        if name not in CHOSEN:
            assert verdict in ("valid", "invalid", "overflow"), name
        array = read_or_none(data / row["file"])
        assert (array is not None) == strict, (name, row["why"], array)
        array = read_or_none(data / row["file"], permissive=True)
        assert (array is not None) == permissive, (name, row["why"], array)
        said = row["scipy_1.17.1_mmread"]
        # SciPy reads 1.0D+03 as 1, and a symmetric file's both triangles twice.
        if strict and said.startswith("ok"):
            with np.errstate(all="ignore"):
                check_value(read_mtx(data / row["file"]), said)


def test_dialects_are_read_right(data):
    folder = data / "awkward" / "mtx"

    def read(name):
        return read_mtx(folder / f"{name}.mtx", permissive=True)

    assert read("crafted/fortran_d_exponent").values.tolist() == [1000.0]
    assert read("crafted/symmetric_upper").todense().tolist() == [[1, 3], [3, 0]]
    assert read("crafted/cr_only").todense().tolist() == [[1]]
    assert read("crafted/comment_in_body").todense().tolist() == [[1, 0], [0, 1]]
    assert read("fmm/overflow__overflow_value_gt_float64").values.tolist() == [np.inf]
    assert read("fmm/vector_coordinate").todense().tolist() == [101, 202, 0, 404]
    jumbled = read("lagraph/west0067_jumbled")
    assert (jumbled.shape, jumbled.nnz) == ((67, 67), 294)


@pytest.mark.data_files("mtx/*.mtx", "mtx/*.mtx.gz")
def test_real_files_are_read_as_by_scipy(data_file):
    # Of one file the header says pattern, and its lines have values.
    permissive = data_file.name == "Ragusa16.mtx"
    expected = scipy.io.mmread(data_file, spmatrix=False).tocsr()
    got = read_mtx(data_file, "csr", permissive=permissive)
    reference = sp.from_scipy(expected)
    if got.dtype != reference.dtype:
        reference = reference.astype(got.dtype)
    assert same(got, reference)
    described = describe(data_file)
    assert described.shape == got.shape
    if described.details["symmetry"] == "general":
        assert described.n_entries == got.nnz


def text_file(tmp_path, text, name="A.mtx"):
    path = tmp_path / name
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


HEADER = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{HEADER}2 2 2\n1 1 1\n3 1 1\n",
            "line 4: expected an integer from 1 to 2 as",
        ),
        (f"{HEADER}2 2 2\n1 1 1\n0 1 1\n", "indices are from 1"),
        (f"{HEADER}2 2 2\n1 1 1\n", "line 3: expected 2 entries, got 1 and the end"),
        (f"{HEADER}2 2 1\n1 1 1\n\n2 2 2\n", "line 5: expected 1 entries, got more"),
        (f"{HEADER}2 2 1\n1 1\n", "line 3: expected a number, got the end of the line"),
        (
            "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n",
            "expected 2 numbers on the line, got '1' after them (permissive=True",
        ),
        (f"{HEADER}2 2 1\n1 1 1 9\n", "expected 3 numbers on the line, got '9'"),
        (f"{HEADER}2 2 1\n1 1 1e999\n", "fits float64, got '1e999'"),
        (f"{HEADER}2 2 1\n1 1 \x00\n", r"got '\x00'"),
        (f"{HEADER}2 x 1\n", "line 2: expected integers from 0 to 2**63 - 1"),
        (f"{HEADER}2 2 {10**18}\n1 1 1\n", f"got {10**18} as their number"),
        (f"{HEADER}99999999999999999999 2 1\n1 1 1\n", "size line"),
        ("%%MatrixMarket matrix array real general\n3 3\n1\n", "expected 9 entries"),
        (
            f"%%MatrixMarket matrix array real general\n{10**9} {10**9}\n1\n",
            "got 1000000000000000000 as their number",
        ),
        ("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", "square"),
        (
            "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n",
            "diagonal that can be skew-symmetric, got 3.0 at (1, 1)",
        ),
        (
            "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 2 3 1\n",
            "diagonal that can be hermitian",
        ),
        (
            "%%MatrixMarket matrix array complex hermitian\n1 1\n3 1\n",
            "real diagonal",
        ),
        ("%%MatrixMarket matrix coordinate pattern hermitian\n1 1 0\n", "hermitian"),
        ("%%MatrixMarket tensor coordinate real symmetric\n2 2 0\n", "general"),
        ("%%MatrixMarket tensor coordinate real general\n2\n", "size line"),
    ],
)
def test_errors_name_the_line(tmp_path, text, message):
    path = text_file(tmp_path, text)
    with pytest.raises(FileFormatError) as caught:
        read_mtx(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["A.mtx", "A.mtx.gz"])
def test_array_files_of_every_symmetry(tmp_path, name):
    def read(words, text):
        banner = f"%%MatrixMarket matrix array {words}\n% c\n\n"
        return read_mtx(text_file(tmp_path, banner + text, name)).todense().tolist()

    assert read("integer general", "2 3\n1\n2\n3\n4\n5\n6\n") == [[1, 3, 5], [2, 4, 6]]
    assert read("real symmetric", "2 2\n1\n2\n3\n") == [[1, 2], [2, 3]]
    assert read("integer skew-symmetric", "3 3\n1\n2\n3\n") == [
        [0, -1, -2],
        [1, 0, -3],
        [2, 3, 0],
    ]
    assert read("complex hermitian", "2 2\n1 0\n2 5\n3 0\n") == [
        [1, 2 - 5j],
        [2 + 5j, 3],
    ]
    assert read("real symmetric", "0 0\n") == []
    assert read("real skew-symmetric", "1 1\n") == [[0]]


def test_taco_dialects(data):
    folder = data / "tensors"
    tensor = read_mtx(folder / "taco_d567.ttx")
    assert tensor.shape == (5, 6, 7)
    assert tensor.todense()[0, 0, 0] == 1
    assert tensor.todense()[1, 2, 0] == 2
    assert sp.load(folder / "taco_d33.ttx").shape == (3, 3)
    assert sp.load(folder / "taco_z.ttx").format.is_dense


def test_coordinates_of_any_extent_take_no_more_memory_than_entries(tmp_path):
    for extent in (10**9, 2**31, 2**63 - 1):
        text = f"{HEADER}{extent} {extent} 2\n{extent} 1 5\n1 {extent} 6\n"
        array = read_mtx(text_file(tmp_path, text))
        assert array.shape == (extent, extent)
        assert array.nbytes < 100
        coords, values = array.to_coords()
        assert coords.tolist() == [[0, extent - 1], [extent - 1, 0]]
        assert values.tolist() == [6, 5]


def test_a_file_that_expands_without_end_is_stopped(tmp_path):
    path = tmp_path / "bomb.mtx.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(f"{HEADER}2 2 1\n1 1 1\n".encode())
        for _ in range(200):
            file.write(b"\n" * 2**20)
    assert path.stat().st_size < 2**20
    with pytest.raises(FileFormatError, match="compressed bytes, got more"):
        read_mtx(path)
    with gzip.open(path, "wb", 9) as file:
        file.write(HEADER.encode())
        for _ in range(32):
            file.write(b"%\n" * 2**19)
    with pytest.raises(FileFormatError, match="bytes of comments"):
        read_mtx(path)


def test_one_endless_line_is_refused(tmp_path):
    for begin in (b"", b"%%MatrixMarket", HEADER.encode() + b"%", b"%" * 9):
        path = text_file(tmp_path, begin + b"1" * 2**22)
        with pytest.raises(FileFormatError, match=r"longer one|banner"):
            read_mtx(path)
    path = text_file(tmp_path, f"{HEADER}2 2 1\n".encode() + b"1" * 2**22)
    with pytest.raises(FileFormatError, match="longer one"):
        read_mtx(path)


def test_damaged_gzip_files_are_refused(tmp_path):
    path = text_file(tmp_path, f"{HEADER}2 2 2\n1 1 1\n2 2 2\n", "A.mtx.gz")
    content = path.read_bytes()
    for cut in (3, 12, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(FileFormatError):
            read_mtx(path)
    changed = bytearray(content)
    changed[-6] ^= 1
    path.write_bytes(changed)
    with pytest.raises(FileFormatError, match="damaged"):
        read_mtx(path)


def test_many_blocks_are_put_together_in_their_order(tmp_path):
    # Several blocks of 1 MiB, for several threads.
    rng = np.random.default_rng(0)
    n = 150_000
    coords = rng.integers(0, 1000, (2, n))
    # Sums of these are exact: in whatever order they are made.
    values = rng.integers(-(2**40), 2**40, n) / 2**20
    expected = sp.from_coords(coords, values, (1000, 1000))
    lines = "".join(
        f"{i + 1} {j + 1} {v!r}\n"
        for i, j, v in zip(*coords.tolist(), values.tolist(), strict=True)
    )
    path = text_file(tmp_path, f"{HEADER}1000 1000 {n}\n{lines}")
    assert path.stat().st_size > 3 * 2**20
    assert same(expected, read_mtx(path))
    for threads in (1, 3):
        before = sp.num_threads()
        sp.set_num_threads(threads)
        try:
            assert same(expected, read_mtx(path))
        finally:
            sp.set_num_threads(before)
    # An error in a late block, and one entry too many.
    path.write_text(f"{HEADER}1000 1000 {n}\n{lines[:-4]}x\n")
    with pytest.raises(FileFormatError, match=f"line {n + 2}:"):
        read_mtx(path)
    path.write_text(f"{HEADER}1000 1000 {n - 1}\n{lines}")
    with pytest.raises(FileFormatError, match=f"line {n + 2}: .*got more"):
        read_mtx(path)


dtypes = st.sampled_from(
    [
        *("bool", "int8", "int64", "uint8", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    ]
)


def elements(dtype):
    kind = numpy_dtype(dtype)
    if kind.kind == "b":
        return st.just(True)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return st.integers(int(limits.min), int(limits.max))
    width = 32 if kind.itemsize == 2 else 8 * kind.itemsize
    if kind.kind == "c":
        return st.complex_numbers(width=width, allow_nan=False)
    return st.floats(width=16 if kind.itemsize == 2 else width, allow_nan=False)


@st.composite
def arrays(draw):
    dtype = draw(dtypes)
    shape = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    coordinate = st.tuples(*[st.integers(0, max(n - 1, 0)) for n in shape])
    most = 8 if all(shape) else 0
    entries = draw(st.dictionaries(coordinate, elements(dtype), max_size=most))
    coords = np.array(list(entries), dtype=np.int64).reshape(-1, len(shape)).T
    values = np.array(list(entries.values()), dtype=numpy_dtype(dtype))
    return sp.from_coords(coords, values, shape)


@settings(max_examples=100)
@given(arrays(), st.booleans())
def test_what_is_written_reads_back_the_same(tmp_path_factory, array, compressed):
    folder = tmp_path_factory.mktemp("mtx")
    path = folder / ("A.mtx.gz" if compressed else "A.mtx")
    write_mtx(path, array, comment="one\ntwo")
    assert same(array, read_mtx(path, dtype=array.dtype))
    if array.ndim == 2 and array.dtype.kind != "b":
        expected = sp.from_scipy(scipy.io.mmread(path, spmatrix=False))
        assert same(array, expected.astype(array.dtype))
    if array.dtype.kind != "b":
        dense = array.to_format("dense")
        write_mtx(path, dense)
        again = read_mtx(path, dtype=array.dtype)
        assert again.format.is_dense
        assert same(dense, again)


@pytest.mark.parametrize("symmetry", ["symmetric", "skew-symmetric", "hermitian"])
def test_symmetric_arrays_are_written_by_one_triangle(tmp_path, symmetry):
    lower = np.array([[0, 0, 0], [1 + 2j, 0, 0], [0, np.nan, 0]])
    signs = {"symmetric": lower.T, "skew-symmetric": -lower.T}
    dense = lower + signs.get(symmetry, lower.conj().T)
    if symmetry != "skew-symmetric":
        dense[2, 2] = 7
    array = sp.array(dense, format="csr")
    path = tmp_path / "A.mtx"
    write_mtx(path, array, symmetry=symmetry)
    assert len(path.read_text().splitlines()) == 2 + 2 + (symmetry != "skew-symmetric")
    np.testing.assert_array_equal(read_mtx(path).todense(), dense)
    dense[0, 1] = 99
    with pytest.raises(ShapeError, match=symmetry):
        write_mtx(path, sp.array(dense), symmetry=symmetry)
    with pytest.raises(ShapeError, match="square"):
        write_mtx(path, sp.array(dense[:2]), symmetry=symmetry)


def test_patterns(tmp_path):
    array = sp.array([[0, 2.5], [3, 0]], format="coo")
    path = tmp_path / "A.mtx"
    write_mtx(path, array, field="pattern")
    read = read_mtx(path)
    assert read.dtype == np.float64
    assert read.todense().tolist() == [[0, 1], [1, 0]]
    assert read_mtx(path, dtype=bool).dtype == bool


def test_formats_and_settings(tmp_path):
    array = sp.array([[0, 2.5], [3, 0]])
    path = tmp_path / "A.mtx"
    write_mtx(path, array)
    assert read_mtx(path).format.name == "coo"
    assert read_mtx(path, "csc").format.name == "csc"
    with pytest.raises(FormatError):
        read_mtx(path, "nonsense")
    with pytest.raises(SettingError, match="field"):
        write_mtx(path, array, field="real")
    with pytest.raises(SettingError, match="symmetry"):
        write_mtx(path, array, symmetry="lower")
    with pytest.raises(UnsupportedError, match="fill value"):
        write_mtx(path, sp.array(np.ones((2, 2)), fill_value=1))
    with pytest.raises(ShapeError):
        write_mtx(path, sp.array(3.0))
    assert same(array, read_mtx(path))
