"""The disk cache: what it keeps, what it refuses, what it removes."""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from sparray._kernels.cache import DiskCache, entry_name
from sparray.errors import SparrayWarning

NAME, OTHER = entry_name("one"), entry_name("two")


@pytest.fixture
def cache(cold):
    cold.mkdir(mode=0o700)
    return DiskCache(cold, 1 << 20)


def test_entry_name_counts_boundaries():
    assert entry_name("ab", "c") != entry_name("a", "bc")
    assert entry_name("ab", "c") == entry_name("ab", "c")


def test_stored_library_is_found_under_each_name(cache):
    library = cache.store((NAME, OTHER), b"library", "source")
    assert cache.lookup(NAME) == cache.lookup(OTHER) == library
    assert library.read_bytes() == b"library"
    assert library.with_suffix(".pyx").read_text() == "source"


def test_unknown_name_is_a_quiet_miss(cache):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.lookup(NAME) is None


@pytest.mark.parametrize("content", [b"", b"libra", b"library and more"])
def test_damaged_library_is_removed_with_a_warning(cache, content):
    library = cache.store((NAME,), b"library", "source")
    library.write_bytes(content)
    with pytest.warns(SparrayWarning, match="damaged"):
        assert cache.lookup(NAME) is None
    assert not library.exists()
    assert cache.store((NAME,), b"library", "source") == cache.lookup(NAME)


@pytest.mark.parametrize("content", [b"", b"../../etc/passwd", b"\xff\xfe", b"0" * 63])
def test_damaged_key_is_removed_with_a_warning(cache, content):
    cache.store((NAME,), b"library", "source")
    key = cache.directory / f"{NAME}.key"
    key.write_bytes(content)
    with pytest.warns(SparrayWarning, match="damaged"):
        assert cache.lookup(NAME) is None
    assert not key.exists()


def test_removed_library_is_a_quiet_miss(cache):
    cache.store((NAME,), b"library", "source").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.lookup(NAME) is None


def test_size_is_bounded_and_the_least_recently_used_go(cold):
    cold.mkdir(mode=0o700)
    cache = DiskCache(cold, 3500)
    names = [entry_name(str(i)) for i in range(4)]
    for i, name in enumerate(names[:3]):
        library = cache.store((name,), bytes([i]) * 1000, "s")
        os.utime(library, (i, i))
    assert cache.lookup(names[0]) is not None  # a use: names[1] is the oldest now
    cache.store((names[3],), b"3" * 1000, "s")
    found = [cache.lookup(name) is not None for name in names]
    assert found == [True, False, True, True]
    assert cache.info().size_bytes <= 3500
    assert not (cold / f"{names[1]}.key").exists()


def test_a_library_above_the_limit_is_kept_until_the_next(cold):
    cold.mkdir(mode=0o700)
    cache = DiskCache(cold, 10)
    assert cache.store((NAME,), b"a" * 100, "s") == cache.lookup(NAME)
    cache.store((OTHER,), b"b" * 100, "s")
    assert cache.lookup(NAME) is None
    assert cache.lookup(OTHER) is not None


def test_abandoned_temporary_files_go_when_space_is_needed(cold):
    cold.mkdir(mode=0o700)
    old, new = cold / ".tmp-old", cold / ".tmp-new"
    for path in (old, new):
        path.write_bytes(b"x" * 100)
    os.utime(old, (0, 0))
    DiskCache(cold, 10).store((NAME,), b"a", "s")
    assert not old.exists()
    assert new.exists()


def test_clear_leaves_other_files_alone(cache):
    foreign = cache.directory / "thesis.pyx"
    foreign.write_text("mine")
    cache.store((NAME, OTHER), b"library", "source")
    assert cache.info().n_kernels == 1
    assert cache.clear() == 1
    assert cache.info().n_kernels == cache.info().size_bytes == 0
    assert foreign.read_text() == "mine"


def test_no_temporary_file_is_left(cache):
    with ThreadPoolExecutor(8) as pool:
        contents = [bytes([i % 3]) * 5000 for i in range(40)]
        list(pool.map(lambda c: cache.store((NAME,), c, "s"), contents))
    assert cache.lookup(NAME).read_bytes() in contents
    assert not list(cache.directory.glob(".tmp-*"))


def test_lock_excludes_another_holder(cache):
    order = []

    def second():
        with cache.locked(NAME):
            order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with cache.locked(NAME):
            waiting = pool.submit(second)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.2)
            order.append("first")
        waiting.result(timeout=10)
    assert order == ["first", "second"]


def test_lock_that_cannot_be_made_is_done_without(tmp_path):
    with DiskCache(tmp_path / "missing", 10).locked(NAME):
        assert not (tmp_path / "missing").exists()
