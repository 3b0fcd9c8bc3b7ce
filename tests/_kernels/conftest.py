"""A cold kernel cache for each test, and processes that share it."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import sparray._kernels as kernels
from sparray._kernels import cache_directory, jit, notices, runtime

WORKER = Path(__file__).with_name("kernel_worker.py")


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """An empty cache, and a process that has loaded nothing and warned of nothing."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("SPARRAY_CACHE_DIR", str(directory))
    for name in ("SPARRAY_ISA", "SPARRAY_CACHE_SIZE", "CC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(runtime, "_kernels", {})
    monkeypatch.setattr(notices, "_given", {})
    monkeypatch.setattr(cache_directory, "_temporary", cache_directory._Temporary())
    jit._find_toolchain.cache_clear()
    yield directory
    jit._find_toolchain.cache_clear()


@pytest.fixture(scope="session")
def worker():
    """The functions of `kernel_worker.py`."""
    return runpy.run_path(str(WORKER))


@pytest.fixture
def start(cold):
    """Start a worker process on the cold cache."""

    def start_worker(*arguments, **environment):
        root = str(Path(kernels.__file__).parents[2])
        return subprocess.Popen(
            [sys.executable, str(WORKER), *arguments],
            env={**os.environ, "PYTHONPATH": root, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start_worker
