"""What was tuned: kept for its problem and machine, refused when damaged, bounded."""

import os
import stat

import pytest

from sparray._kernels import tuned
from sparray._kernels.tuned import clear_tuned, recall, remember, tuned_entries
from sparray.errors import SparrayWarning

pytestmark = pytest.mark.usefixtures("cold")


def test_nothing_is_known_at_first_and_nothing_is_made(cold):
    assert recall("problem", "sizes") is None
    assert not cold.exists()


def test_an_entry_is_found_again(cold):
    path = remember("i k j", {"expression": "ij,jk"}, "problem", "sizes")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    entry = recall("problem", "sizes")
    assert entry.way == "i k j"
    assert entry.record["expression"] == "ij,jk"
    assert [path.name] == os.listdir(cold / "tuned")


def test_other_sizes_threads_targets_and_compilers_do_not_find_it(monkeypatch):
    remember("i k j", {}, "problem", "sizes")
    assert recall("problem", "other sizes") is None
    for name, other in (
        ("num_threads", 77),
        ("source_fingerprint", "another compiler"),
        ("cpu_features", frozenset(["another CPU"])),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(tuned, name, lambda other=other: other)
            assert recall("problem", "sizes") is None
    assert recall("problem", "sizes") is not None


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b'0\n{"way": "x"}'])
def test_a_damaged_entry_is_removed_with_a_warning(content):
    path = remember("i k j", {}, "problem")
    path.write_bytes(content)
    with pytest.warns(SparrayWarning, match="damaged"):
        assert recall("problem") is None
    assert not path.exists()


def test_the_latest_entries_stay(monkeypatch):
    monkeypatch.setattr(tuned, "MOST_ENTRIES", 3)
    for number in range(5):
        path = remember(f"way {number}", {}, str(number))
        os.utime(path, (number, number))
    assert [entry.way for entry in tuned_entries()] == ["way 4", "way 3", "way 2"]
    assert clear_tuned() == 3
    assert tuned_entries() == []


def test_a_folder_that_cannot_be_written_is_no_error(cold):
    cold.mkdir(mode=0o700)
    (cold / "tuned").write_text("in the way")
    with pytest.warns(SparrayWarning, match="cannot be kept"):
        assert remember("i k j", {}, "problem") is None
