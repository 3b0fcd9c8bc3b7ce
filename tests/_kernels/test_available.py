"""What the system says of memory, in every way that it may say it."""

import pytest

from sparray._kernels import available, memory
from sparray.errors import KernelMemoryError, SettingError


@pytest.fixture(autouse=True)
def _no_setting(monkeypatch):
    monkeypatch.delenv("SPARRAY_MEMORY_SIZE", raising=False)


def say(monkeypatch, path, text):
    path.write_text(text)
    monkeypatch.setattr(available, "_MEMINFO", path)
    monkeypatch.setattr(available, "_LIMITS", ())


def test_free_memory_and_swap_space(monkeypatch, tmp_path):
    text = "MemTotal: 900 kB\nMemAvailable:   100 kB\nSwapFree: 20 kB\nHugePages: 3\n"
    say(monkeypatch, tmp_path / "meminfo", text)
    assert available.available_bytes() == 120 * 1024
    assert available.workspace_bytes(2) == 900 * 1024 // 4


@pytest.mark.parametrize(
    ("limit", "usage", "free"),
    [("70000", "20000\n", 50_000), ("max", "5", 102_400), ("10", "90", 0)],
)
def test_the_limit_of_a_container(monkeypatch, tmp_path, limit, usage, free):
    say(monkeypatch, tmp_path / "meminfo", "MemAvailable: 100 kB\n")
    (tmp_path / "max").write_text(limit)
    (tmp_path / "current").write_text(usage)
    pair = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(available, "_LIMITS", (pair,))
    assert available.available_bytes() == free


def test_a_system_without_such_files(monkeypatch, tmp_path):
    monkeypatch.setattr(available, "_MEMINFO", tmp_path / "none")
    monkeypatch.setattr(available, "_LIMITS", ((tmp_path / "a", tmp_path / "b"),))
    assert available.available_bytes() == 2**63 - 1
    assert 2**20 < available.workspace_bytes(1) < 2**50


def test_the_setting_comes_first(monkeypatch):
    monkeypatch.setenv("SPARRAY_MEMORY_SIZE", "2M")
    assert available.available_bytes() == 2**21
    assert available.workspace_bytes(4) == 2**18
    monkeypatch.setenv("SPARRAY_MEMORY_SIZE", "much")
    with pytest.raises(SettingError, match="SPARRAY_MEMORY_SIZE: expected a number"):
        available.available_bytes()


def test_a_large_result_is_compared_with_it(monkeypatch):
    monkeypatch.setenv("SPARRAY_MEMORY_SIZE", "255M")
    with pytest.raises(KernelMemoryError, match="33554432 elements of float64"):
        memory.empty(2**25, "float64")
    assert len(memory.empty(2**20, "float64")) == 2**20
