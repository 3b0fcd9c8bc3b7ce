"""Which directory the cache is in, and which ones are refused."""

import os
import stat
import warnings
from pathlib import Path

import pytest

from sparray._kernels.cache_directory import (
    cache_directory,
    cache_limit,
    open_cache,
)
from sparray.errors import SettingError, SparrayWarning


def test_directory_follows_the_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARRAY_CACHE_DIR", str(tmp_path / "a"))
    assert cache_directory() == tmp_path / "a"
    monkeypatch.delenv("SPARRAY_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "sparray"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "sparray"


def test_directory_is_private(cold):
    assert open_cache().directory == cold
    assert stat.S_IMODE(cold.stat().st_mode) == 0o700


def assert_refused(match):
    with pytest.warns(SparrayWarning, match=match) as record:
        cache = open_cache()
    assert len(record) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_cache() == cache
    assert cache.directory != cache_directory()
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_directory_that_others_can_write_is_refused(cold, mode):
    cold.mkdir()
    cold.chmod(mode)
    assert_refused(f"written by others.*{mode:04o}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_directory_of_another_user_is_refused(cold):
    cold.mkdir(mode=0o700)
    os.chown(cold, 65534, 65534)
    assert_refused("belongs to user 65534")


def test_path_that_is_a_file_is_refused(cold):
    cold.write_text("not a directory")
    assert_refused("cannot be made")
    assert cold.read_text() == "not a directory"


def test_path_below_a_file_is_refused(cold, monkeypatch):
    cold.write_text("not a directory")
    monkeypatch.setenv("SPARRAY_CACHE_DIR", str(cold / "below"))
    assert_refused("cannot be made")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_parent_that_cannot_be_written_is_refused(cold, monkeypatch):
    cold.mkdir(mode=0o500)
    monkeypatch.setenv("SPARRAY_CACHE_DIR", str(cold / "below"))
    assert_refused("cannot be made")


@pytest.mark.parametrize(
    ("text", "size"),
    [("", 1 << 30), ("1000", 1000), ("512M", 512 << 20), ("2 GiB", 2 << 30)],
)
def test_limit(monkeypatch, text, size):
    monkeypatch.setenv("SPARRAY_CACHE_SIZE", text)
    assert cache_limit() == size


@pytest.mark.parametrize("text", ["-1", "much", "1.5G", "1e9", "1X"])
def test_limit_that_is_no_size_is_named(monkeypatch, text):
    monkeypatch.setenv("SPARRAY_CACHE_SIZE", text)
    with pytest.raises(SettingError, match=r"SPARRAY_CACHE_SIZE.*got"):
        cache_limit()


def test_temporary_directory_outlives_a_forked_child(cold):
    cold.write_text("not a directory")
    with pytest.warns(SparrayWarning):
        directory = open_cache().directory
    pid = os.fork()
    if pid == 0:
        from sparray._kernels.cache_directory import _remove_tree

        _remove_tree(directory, os.getppid())
        os._exit(0)
    os.waitpid(pid, 0)
    assert Path(directory).is_dir()
