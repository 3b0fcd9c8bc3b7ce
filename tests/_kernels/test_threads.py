"""The number of threads, and forked children."""

import os

import numpy as np
import pytest

from sparray._kernels import threads
from sparray.errors import SettingError


@pytest.fixture(autouse=True)
def restore(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_setting", threads._Setting())


def test_default_is_the_affinity():
    assert threads.num_threads() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("text", "count"), [("3", 3), ("4,2", 4), (" 5 ", 5), ("99999", 1024)]
)
def test_default_follows_omp_num_threads(monkeypatch, text, count):
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert threads._Setting().count == count


@pytest.mark.parametrize("text", ["0", "-2", "many", "9" * 5000])
def test_unusable_omp_num_threads_is_ignored(monkeypatch, text):
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert threads._Setting().count == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("n", [1, 2, 1024, np.int64(7)])
def test_set(n):
    threads.set_num_threads(n)
    assert threads.num_threads() == n


@pytest.mark.parametrize("n", [0, -1, 1025, 2.0, "2", None])
def test_set_refuses(n):
    before = threads.num_threads()
    with pytest.raises(SettingError, match="n: expected a number of threads"):
        threads.set_num_threads(n)
    assert threads.num_threads() == before


def test_forked_child_runs_a_kernel_after_a_parallel_parent(start):
    process = start("fork", OMP_NUM_THREADS="2")
    output, errors = process.communicate(timeout=60)
    assert output == "right\n", errors
    assert errors.count("SparrayWarning: kernels run with one thread") == 1
