"""The compilers: what they make, and what their failures say."""

import os
import re
from pathlib import Path

import pytest

from sparray._kernels import jit
from sparray._kernels.render import module_flags
from sparray.errors import InternalError

FLAGS = module_flags(())
SOURCE = """
def add(long long a, long long b):
    return a + b
"""


def kept_source(error):
    path = Path(re.search(r"kept in (\S+)", str(error))[1])
    text = path.read_text()
    path.unlink()
    return text


def test_module_is_compiled_and_loaded(tmp_path):
    module = jit.compile_module(SOURCE, FLAGS, tmp_path)
    assert module.add(2, 3) == 5


def test_library_is_loaded_once(tmp_path):
    path = tmp_path / "one.so"
    path.write_bytes(jit.compile_library(SOURCE, FLAGS))
    assert jit.load_library(path) is jit.load_library(path)


def test_library_that_the_linker_refuses(tmp_path):
    path = tmp_path / "text.so"
    path.write_text("no library")
    with pytest.raises(ImportError):
        jit.load_library(path)


def test_cython_failure_shows_its_message_and_keeps_the_source(capfd):
    with pytest.raises(InternalError, match=r"(?s)Cython refused.*undefined_name") as e:
        jit.compile_library("def f():\n    return undefined_name\n", FLAGS)
    assert "undefined_name" in kept_source(e.value)
    assert capfd.readouterr().err == ""


def test_compiler_failure_shows_its_message_and_keeps_the_source():
    source = 'cdef extern from *:\n    """\n    #error on purpose\n    """\n'
    with pytest.raises(InternalError, match=r"(?s)status 1.*on purpose") as e:
        jit.compile_library(source, FLAGS)
    assert kept_source(e.value) == source


def test_next_module_compiles_after_a_failure(tmp_path):
    with pytest.raises(InternalError) as e:
        jit.compile_library("def f(:\n", FLAGS)
    kept_source(e.value)
    assert jit.compile_module(SOURCE, FLAGS, tmp_path).add(1, 1) == 2


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_compiler_without_openmp_makes_serial_kernels(cold, tmp_path, monkeypatch):
    real = jit.find_toolchain().command[0]
    wrapper = script(
        tmp_path / "plain-cc",
        'for word; do case "$word" in -fopenmp) echo "unsupported option '
        f'\'-fopenmp\'" >&2; exit 1;; esac; done; exec {real} "$@"',
    )
    monkeypatch.setenv("CC", str(wrapper))
    assert jit.compile_module(SOURCE, FLAGS, tmp_path).add(1, 2) == 3


def test_no_compiler(cold, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(jit.CompilerMissing, match="no C compiler"):
        jit.find_toolchain()


def test_no_cython(cold, monkeypatch):
    monkeypatch.setattr(jit, "_cython_version", lambda: None)
    with pytest.raises(jit.CompilerMissing, match="Cython"):
        jit.find_toolchain()


def test_no_python_headers(cold, monkeypatch, tmp_path):
    monkeypatch.setattr(jit.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(jit.CompilerMissing, match="header"):
        jit.find_toolchain()


def test_cython_version_is_read_not_imported():
    import Cython

    assert jit._cython_version() == Cython.__version__


def test_identity_changes_with_the_compiler(cold, tmp_path, monkeypatch):
    compiler = script(tmp_path / "cc", "exit 0")
    monkeypatch.setenv("CC", f"{compiler} -m64")
    first = jit.find_toolchain()
    assert first.command == (str(compiler), "-m64")
    os.utime(compiler, (1, 1))
    jit._find_toolchain.cache_clear()
    second = jit.find_toolchain()
    monkeypatch.setenv("CC", str(compiler))
    assert len({first.identity, second.identity, jit.find_toolchain().identity}) == 3
