"""From a problem to a compiled kernel: each place it may come from."""

import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from sparray._kernels import jit, runtime, targets
from sparray.errors import InternalError, SparrayWarning, UnsupportedError


@pytest.fixture
def load(cold, worker, monkeypatch):
    """Load a kernel as a new process would; tell whether it had to be made."""

    def load_kernel(key="scale", factor=2):
        made = []

        def make():
            made.append(key)
            return worker["scale_kernel"](key, factor)

        monkeypatch.setattr(runtime, "_kernels", {})
        kernel = runtime.load_kernel(key, make)
        assert kernel is None or worker["is_right"](kernel, factor)
        return kernel, bool(made)

    return load_kernel


def test_kernel_is_made_once_and_then_found_on_disk(load, cold):
    kernel, made = load()
    assert made
    assert "y[i] = 2 * x[i]" in kernel.source
    again, made = load()
    assert not made
    assert again.source == kernel.source
    assert runtime.cache_info().n_kernels == 1
    assert runtime.clear_cache() == 1
    assert load()[1]


def test_second_load_in_the_process_is_the_same_object(cold, worker):
    def make():
        return worker["scale_kernel"]("k", 2)

    first = runtime.load_kernel("k", make)
    assert runtime.load_kernel("k", pytest.fail) is first


def test_problems_of_one_source_share_a_library(load, cold):
    first, _ = load("a")
    second, made = load("b")
    assert made
    assert second.source_path == first.source_path
    assert runtime.cache_info().n_kernels == 1
    assert not load("b")[1]


def test_removed_source_is_named(load):
    kernel, _ = load()
    runtime.clear_cache()
    with pytest.raises(UnsupportedError, match=r"source: expected the file .*pyx"):
        kernel.source  # noqa: B018


def test_threads_that_ask_for_one_kernel_compile_it_once(cold, worker):
    made = []
    barrier = threading.Barrier(6)

    def make():
        made.append(threading.get_ident())
        return worker["scale_kernel"]("shared", 2)

    def ask(_):
        barrier.wait()
        return runtime.load_kernel("shared", make)

    with ThreadPoolExecutor(6) as pool:
        kernels = list(pool.map(ask, range(6)))
    assert len(made) == 1
    assert all(kernel is kernels[0] for kernel in kernels)


def test_threads_compile_different_kernels_at_once(cold, worker, monkeypatch):
    # Each C compilation waits for the other: one after the other would time out.
    both = threading.Barrier(2, timeout=60)
    run = jit._run

    def run_together(command):
        both.wait()
        return run(command)

    monkeypatch.setattr(jit, "_run", run_together)

    def ask(factor):
        key = f"factor {factor}"
        make = worker["scale_kernel"]
        kernel = runtime.load_kernel(key, lambda: make(key, factor))
        return worker["is_right"](kernel, factor)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, (3, 4))) == [True, True]


def test_waiting_threads_try_again_after_a_failure(cold, worker):
    started = threading.Event()

    def fail():
        started.set()
        raise InternalError("on purpose")

    def ask_second():
        started.wait()
        make = worker["scale_kernel"]
        return runtime.load_kernel("k", lambda: make("k", 2))

    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(ask_second)
        with pytest.raises(InternalError, match="on purpose"):
            runtime.load_kernel("k", fail)
        assert worker["is_right"](second.result(timeout=60), 2)


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (runtime, "march_flags", lambda: ("-march=x86-64",)),
        (runtime, "cpu_features", lambda: frozenset(["another"])),
        (runtime, "source_fingerprint", lambda: "another"),
        (runtime, "ABI_VERSION", -1),
        (jit, "_cython_version", lambda: "another"),
    ],
)
def test_key_changes_with(load, monkeypatch, module, name, value):
    assert load()[1]
    assert not load()[1]
    monkeypatch.setattr(module, name, value)
    jit._find_toolchain.cache_clear()
    assert load()[1]


def test_key_changes_with_the_compiler(load, monkeypatch, tmp_path):
    assert load()[1]
    wrapper = tmp_path / "gcc"
    wrapper.write_text(f'#!/bin/sh\nexec {jit.find_toolchain().command[0]} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", str(wrapper))
    assert load()[1]
    os.utime(wrapper, (1, 1))
    jit._find_toolchain.cache_clear()
    assert load()[1]


def test_no_compiler_gives_one_warning_and_no_kernel(load, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.warns(SparrayWarning, match=r"no C compiler.*interpreter") as record:
        assert load("a") == (None, False)
        assert load("b") == (None, False)
    assert len(record) == 1


def test_library_that_does_not_load_gives_one_warning(load, monkeypatch):
    def refuse(path, name):
        raise ImportError("no execution from this file system")

    monkeypatch.setattr(jit, "load_library", refuse)
    with pytest.warns(SparrayWarning, match="does not load") as record:
        assert load("a")[0] is None
        assert load("b")[0] is None
    assert len(record) == 1


def test_import_error_of_the_compiler_itself_is_not_hidden(cold):
    def make():
        raise ImportError("a bug in sparray")

    with pytest.raises(ImportError, match="a bug in sparray"):
        runtime.load_kernel("k", make)


def test_truncated_entry_is_made_again_with_one_warning(load, start, cold):
    load("scale", 2)
    (library,) = cold.glob("*.so")
    # A new file: this process still runs the code of the old one.
    shorter = library.with_suffix(".shorter")
    shorter.write_bytes(library.read_bytes()[:1000])
    shorter.replace(library)
    output, errors = start("run", "scale", "2").communicate(timeout=60)
    assert output == "right\n", errors
    assert errors.count("SparrayWarning") == 1
    assert "damaged" in errors
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not load("scale", 2)[1]


def test_cache_that_is_a_file_goes_on_with_one_warning(load, cold):
    cold.write_text("not a directory")
    with pytest.warns(SparrayWarning, match="temporary directory") as record:
        assert load("a")[1]
        assert load("b", 3)[1]
        assert not load("b", 3)[1]
    assert len(record) == 1


def test_failing_write_goes_on_with_one_warning(load, cold, monkeypatch):
    def full(self, path, content):
        if path.parent == cold:
            raise OSError(28, "No space left on device")
        path.write_bytes(content)

    monkeypatch.setattr("sparray._kernels.cache.DiskCache._write", full)
    with pytest.warns(SparrayWarning, match="No space left") as record:
        load("a")
        load("b", 3)
    assert len(record) == 1


def test_eight_processes_on_a_cold_cache(start, cold):
    processes = [start("run", f"scale {i % 2}", str(2 + i % 2)) for i in range(8)]
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert (output, errors) == ("right\n", "")
    assert runtime.cache_info().n_kernels == 2
    assert not list(cold.glob(".tmp-*"))


def test_isa_setting_reaches_the_kernel(load, monkeypatch):
    load()
    monkeypatch.setenv("SPARRAY_ISA", "baseline")
    assert targets.host_target().name == "baseline"
    assert load()[1]


def test_what_was_compiled_for_another_machine_is_not_found(cold, monkeypatch):
    def name():
        return runtime._cached_name("a", runtime._environment(runtime.march_flags()))

    names = [name()]
    assert name() == names[0]
    monkeypatch.setattr(runtime, "cpu_features", lambda: frozenset({"sse2"}))
    names.append(name())
    monkeypatch.setattr(runtime, "march_flags", lambda: ("-march=x86-64-v2",))
    names.append(name())
    monkeypatch.setattr(runtime, "ABI_VERSION", -1)
    names.append(name())
    monkeypatch.setattr(runtime, "source_fingerprint", lambda: "other sources")
    names.append(name())
    assert len(set(names)) == len(names)


def test_what_was_compiled_with_other_flags_is_not_found(load, monkeypatch):
    assert load()[1]
    assert not load()[1]
    flags = targets.march_flags()
    monkeypatch.setattr(runtime, "march_flags", lambda: (*flags, "-DOTHER"))
    assert load()[1]
    assert not load()[1]
