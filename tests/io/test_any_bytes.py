"""Whatever is in a file: the array or a named error, and never a crash."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparray as sp
from sparray.errors import SparrayError
from sparray.io import KINDS, describe

# The HDF5 library is not made for hostile files: see `read_hdf5`.
FUZZED = [kind for kind in KINDS if kind != "binsparse"]


def valid_files(folder):
    """Write one small array as every kind of file."""
    array = sp.array([[0, 1, 1], [1, 0, 0], [1, 0, 1]], format="csr", dtype="float64")
    files = {}
    for kind in FUZZED:
        for gz in ("", ".gz") if KINDS[kind].can_compress else ("",):
            path = folder / f"{kind}{KINDS[kind].suffixes[0]}{gz}"
            sp.save(path, array)
            files[path.name] = path.read_bytes()
    with_header = folder / "header.tns"
    sp.save(with_header, array, header=True)
    files[with_header.name] = with_header.read_bytes()
    for field, text in {
        "complex hermitian": "2 2 2\n1 1 5 0\n2 1 3 4\n",
        "integer skew-symmetric": "2 2 1\n2 1 -3\n",
        "pattern symmetric": "2 2 1\n2 1\n",
    }.items():
        banner = f"%%MatrixMarket matrix coordinate {field}\n% c\n"
        files[f"{field}.mtx"] = (banner + text).encode()
    files["array.mtx"] = b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n"
    return files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return valid_files(tmp_path_factory.mktemp("valid"))


def attempt(path, content, **options):
    """Read bytes: a checked array, or a named error."""
    path.write_bytes(content)
    for use in (sp.load, describe):
        try:
            used = use(path, **options) if use is sp.load else use(path)
        except SparrayError:
            continue
        if use is sp.load:
            # What the reader lets in satisfies every invariant of its format.
            levels = [dict(level) for level in used.levels]
            sp.from_buffers(used.format, used.shape, levels, used.values)
        else:
            assert str(used)


@settings(max_examples=150)
@given(data=st.data())
def test_changed_files(files, tmp_path_factory, data):
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(content) - 1, 0)))
        size = data.draw(st.integers(0, 6))
        new = data.draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from(
                    [
                        *(b"\x00", b"-1", b"1e999", b"99999999999999999999", b"\r"),
                        *(b"nan", b"\n\n", b" ", b"\xff\xff\xff\xff", b"[", b"{}"),
                        *(b"#", b"%", b","),
                    ]
                ),
            )
        )
        content[at : at + size] = new
    attempt(tmp_path_factory.mktemp("any") / name, bytes(content))


@settings(max_examples=60)
@given(
    st.sampled_from(FUZZED),
    st.one_of(
        st.binary(max_size=300),
        st.text("%MatrixCoordinaterealgeneral sptensor0123456789.,-e\n\t\r#").map(
            str.encode
        ),
    ),
    st.booleans(),
)
def test_any_bytes(tmp_path_factory, kind, content, compress):
    entry = KINDS[kind]
    gz = ".gz" * (compress and entry.can_compress)
    path = tmp_path_factory.mktemp("any") / f"A{entry.suffixes[0]}{gz}"
    attempt(path, gzip.compress(content) if gz else content)


@settings(max_examples=60)
@given(
    st.sampled_from(["real", "complex", "integer", "pattern", "unsigned-integer"]),
    st.sampled_from(["general", "symmetric", "skew-symmetric", "hermitian"]),
    st.sampled_from(["coordinate", "array"]),
    st.lists(st.integers(0, 4), max_size=4),
    st.lists(st.lists(st.integers(0, 4), max_size=4), max_size=6),
    st.booleans(),
)
def test_any_matrix_market_file(
    tmp_path_factory, field, symmetry, layout, sizes, lines, permissive
):
    text = f"%%MatrixMarket matrix {layout} {field} {symmetry}\n"
    text += "".join(" ".join(map(str, row)) + "\n" for row in [sizes, *lines])
    path = tmp_path_factory.mktemp("any") / "A.mtx"
    attempt(path, text.encode(), permissive=permissive)


def test_what_is_valid_is_read(files, tmp_path):
    for name, content in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert np.all(np.isfinite(sp.load(path).values))
