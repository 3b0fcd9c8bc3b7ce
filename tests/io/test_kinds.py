"""Kinds of files by name and content."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from arrays import same

import sparray as sp
from sparray.errors import DTypeError, FileFormatError, FormatError, SettingError
from sparray.io import KINDS, describe

ARRAY = sp.array([[0, 1, 1], [1, 0, 0]], format="csr", dtype="float64")
SUFFIXES = [
    (kind, suffix + gz)
    for kind, entry in KINDS.items()
    for suffix in entry.suffixes
    for gz in ("", ".gz") * entry.can_compress or ("",)
]


@pytest.mark.parametrize(("kind", "suffix"), SUFFIXES)
def test_every_suffix(tmp_path, kind, suffix):
    path = tmp_path / f"A.b{suffix}"
    options = {"header": True} if kind == "tns" else {}
    sp.save(path, ARRAY, **options)
    assert same(ARRAY, sp.load(path))
    assert same(ARRAY, sp.load(str(path), "dcsr"))
    assert sp.load(path, "csc").format.name == "csc"
    assert sp.load(path, dtype="float32").dtype == np.float32
    assert describe(path).shape == (2, 3)
    assert "2 × 3" in str(describe(path))
    # Upper case, and no suffix at all: the content says it, or the caller.
    upper = tmp_path / f"A{suffix.upper()}"
    shutil.copy(path, upper)
    assert same(ARRAY, sp.load(upper))
    bare = tmp_path / "bare"
    shutil.copy(path, bare)
    assert same(ARRAY, sp.load(bare, kind=kind))
    assert describe(bare, kind=kind).shape == (2, 3)
    if kind not in ("tns", "smtx"):
        assert same(ARRAY, sp.load(bare))
    sp.save(bare, ARRAY, kind=kind, **options)
    assert same(ARRAY, sp.load(bare, kind=kind))


def test_unknown_names_and_options(tmp_path):
    path = tmp_path / "A.unknown"
    with pytest.raises(SettingError, match=r"\.safetensors"):
        sp.save(path, ARRAY)
    for content in (b"", b"hello", b"\x1f\x8b\x00", b"\x1f\x8bx"):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="say nothing"):
            sp.load(path)
        with pytest.raises(FileFormatError):
            describe(path)
    with pytest.raises(SettingError, match="kind"):
        sp.load(path, kind="nothing")
    with pytest.raises(SettingError, match="kind"):
        sp.save(path, ARRAY, kind="nothing")
    path = tmp_path / "A.npz"
    with pytest.raises(SettingError, match="'zero_based'"):
        sp.save(path, ARRAY, zero_based=True)
    sp.save(path, ARRAY)
    with pytest.raises(SettingError, match="'permissive'"):
        sp.load(path, permissive=True)
    with pytest.raises(FormatError):
        sp.load(path, "csf3")
    with pytest.raises(DTypeError):
        sp.load(path, dtype="nothing")
    sp.save(path, ARRAY.astype("complex64"))
    with pytest.raises(DTypeError, match="complex"):
        sp.load(path, dtype="float64")
    with pytest.raises(FileNotFoundError):
        sp.load(tmp_path / "nothing.npz")
    with pytest.raises(IsADirectoryError):
        sp.load(tmp_path)


def test_a_file_that_is_another_kind_than_its_name_says(tmp_path):
    sp.save(tmp_path / "A.npz", ARRAY)
    for kind in KINDS:
        if kind in ("npz", "scipy", "binsparse-npz"):
            continue
        path = tmp_path / f"B{KINDS[kind].suffixes[0]}"
        shutil.copy(tmp_path / "A.npz", path)
        with pytest.raises(FileFormatError):
            sp.load(path)


def test_importing_sparray_loads_no_files_package():
    code = "import sparray, sys; print('sparray.io' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
    code = "import sparray as sp; print(sp.io.load is sp.load)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"
