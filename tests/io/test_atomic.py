"""Files are written whole or not at all."""

import os
import stat

import numpy as np
import pytest

import sparray as sp
from sparray.errors import SettingError, SparrayError
from sparray.io import KINDS, kinds
from sparray.io.atomic import atomic_file, atomic_path


def test_nothing_is_left_of_a_write_that_fails(tmp_path):
    path = tmp_path / "A.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_file(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["A.txt"]


def test_the_new_file_is_there_only_at_the_end(tmp_path):
    path = tmp_path / "A.txt"
    with atomic_file(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["A.txt"]


def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "A.txt", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_path(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_other(tmp_path):
    with atomic_file(tmp_path / "A"):
        pass
    (tmp_path / "B").write_text("")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "AB"}
    assert len(modes) == 1


# What a kind cannot hold: refused before or while it writes.
UNWRITABLE = {
    "mtx": sp.array(np.ones((2, 2)), fill_value=1),
    "tns": sp.array([1j]),
    "smtx": sp.array([[2.0]]),
    "scipy": sp.array(np.ones((2, 2)), fill_value=1),
    "binsparse": sp.array([1.0]).astype("float16"),
    "binsparse-npz": sp.array([1.0]).astype("float16"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_writer_leaves_the_old_file_after_an_error(tmp_path, kind, monkeypatch):
    path = tmp_path / f"A{KINDS[kind].suffixes[0]}"
    path.write_bytes(b"old")
    if kind in UNWRITABLE:
        with pytest.raises(SparrayError):
            sp.save(path, UNWRITABLE[kind])
        assert path.read_bytes() == b"old"
    # A disk that is full once the data are written.
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="full"):
        sp.save(path, sp.array([[0, 1, 1], [1, 0, 0]]))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


def fail(*arguments):
    raise OSError(28, "the disk is full")


def test_only_arrays_are_saved(tmp_path):
    with pytest.raises(SettingError, match="array"):
        sp.save(tmp_path / "A.npz", np.ones(3))
    assert kinds.save is sp.save
