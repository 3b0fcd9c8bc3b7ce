"""Rendering the manifest, and finding what was built from it."""

import json
from dataclasses import replace

import pytest

from sparray._kernels import build, built_in, jit, runtime
from sparray._kernels.manifest import ROWS, Row
from sparray._kernels.targets import TARGETS
from sparray.errors import SettingError, UnsupportedError

V3 = TARGETS["x86-64-v3"]
BASELINE = TARGETS["baseline"]
ROW = Row("scale_dense", "y[i] = 2 * x[i]", {})


@pytest.fixture
def pipeline(monkeypatch, worker):
    """Stand in for the compiler: a row gives kernels that scale by 2 and by 3."""

    def kernel_source(row, target):
        sources = [worker["scale_kernel"](f"{row.name} {n}", n) for n in (2, 3)]
        if row.name.startswith("sum"):
            # One of the two lets the C compiler reorder its sums.
            (function,) = sources[1].functions
            reordered = (replace(function, reassociate=True),)
            sources[1] = replace(sources[1], functions=reordered)
        return sources

    monkeypatch.setattr(build, "kernel_source", kernel_source)


@pytest.fixture
def built(pipeline, tmp_path, monkeypatch):
    """Render for the baseline, with `built_in` looking there."""
    monkeypatch.setattr(built_in, "BUILT", tmp_path)
    built_in._index.cache_clear()
    yield build.render_rows([ROW], BASELINE, tmp_path)
    built_in._index.cache_clear()


def test_dtypes_of_a_row_share_a_module(pipeline, tmp_path):
    (module,) = build.render_rows([ROW], V3, tmp_path)
    assert module.path.parent == tmp_path / "x86_64_v3"
    assert module.flags[-1] == "-march=x86-64-v3"
    text = module.path.read_text()
    assert "def evaluate_0(" in text
    assert "def evaluate_1(" in text
    index = json.loads((module.path.parent / "index.json").read_text())
    assert index["kernels"]["scale_dense 3"] == {
        "module": module.name,
        "functions": {"evaluate": "evaluate_1"},
    }


def test_reordered_sums_get_a_module_of_their_own(pipeline, tmp_path):
    row = replace(ROW, name="sum_dense")
    first, second = build.render_rows([row], BASELINE, tmp_path)
    reordering = ["-fassociative-math" in module.flags for module in (first, second)]
    assert sorted(reordering) == [False, True]
    assert first.name != second.name


def test_rendering_again_changes_nothing_and_removes_what_is_old(pipeline, tmp_path):
    (module,) = build.render_rows([ROW], V3, tmp_path)
    stale = module.path.with_name("spmv_csr_0123456789.cpython-311.so")
    library = module.path.with_name(f"{module.name}.cpython-311.so")
    for path in (stale, library):
        path.write_bytes(b"")
    before = module.path.stat().st_mtime_ns
    assert build.render_rows([ROW], V3, tmp_path) == [module]
    assert module.path.stat().st_mtime_ns == before
    assert library.exists()
    assert not stale.exists()


def test_kernel_of_two_rows_is_built_once(monkeypatch, worker, tmp_path):
    def kernel_source(row, target):
        own = worker["scale_kernel"](row.name, len(row.name))
        return [worker["scale_kernel"]("shared", 2), own]

    monkeypatch.setattr(build, "kernel_source", kernel_source)
    rows = [ROW, replace(ROW, name="another"), replace(ROW, name="third")]
    modules = build.render_rows(rows, BASELINE, tmp_path)
    texts = [module.path.read_text() for module in modules]
    assert [text.count("\ndef ") for text in texts] == [2, 1, 1]
    index = json.loads((tmp_path / "baseline" / "index.json").read_text())
    assert index["kernels"]["shared"]["module"] == modules[0].name


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
def test_every_row_of_the_manifest_renders(target, tmp_path):
    modules = build.render_rows(ROWS, target, tmp_path)
    rendered = {module.name.rpartition("_")[0] for module in modules}
    assert {"convert_csr_csc", "spmm_csr", "spgemm_csr_csr"} <= rendered
    index = json.loads((modules[0].path.parent / "index.json").read_text())
    assert {row["module"] for row in index["kernels"].values()} == {
        module.name for module in modules
    }


def test_row_that_fails_is_named(monkeypatch, tmp_path):
    def fail(row, target):
        raise UnsupportedError("on purpose")

    monkeypatch.setattr(build, "kernel_source", fail)
    with pytest.raises(UnsupportedError) as error:
        build.render_rows([ROW], V3, tmp_path)
    assert error.value.__notes__ == ["in row 'scale_dense' of the kernel manifest"]


def test_built_kernel_is_preferred_to_compiling(built, cold, worker, monkeypatch):
    monkeypatch.setenv("SPARRAY_ISA", "baseline")
    (module,) = built
    suffix = built_in.importlib.machinery.EXTENSION_SUFFIXES[0]
    monkeypatch.setattr(jit, "MODULE_NAME", module.name)
    content = jit.compile_library(module.path.read_text(), module.flags)
    module.path.with_name(module.name + suffix).write_bytes(content)
    for factor in (2, 3):
        kernel = runtime.load_kernel(f"scale_dense {factor}", pytest.fail)
        assert worker["is_right"](kernel, factor)
        assert list(kernel.functions) == ["evaluate"]
        assert kernel.source == module.path.read_text()
    assert not cold.exists()


def test_kernel_that_did_not_compile_is_not_found(built):
    assert built_in.find("scale_dense 2", BASELINE) is None


def test_index_of_another_compiler_is_ignored(built, monkeypatch):
    (module,) = built
    suffix = built_in.importlib.machinery.EXTENSION_SUFFIXES[0]
    module.path.with_name(module.name + suffix).write_bytes(b"")
    assert built_in.find("scale_dense 2", BASELINE) is not None
    built_in._index.cache_clear()
    monkeypatch.setattr(built_in, "source_fingerprint", lambda: "another")
    assert built_in.find("scale_dense 2", BASELINE) is None


def test_target_without_built_kernels(built):
    assert built_in.find("scale_dense 2", V3) is None


def test_requested_targets(monkeypatch):
    monkeypatch.delenv("SPARRAY_BUILD_TARGETS", raising=False)
    monkeypatch.setattr(build, "build_targets", lambda: (V3,))
    assert build.requested_targets() == (V3,)
    monkeypatch.setenv("SPARRAY_BUILD_TARGETS", "")
    assert build.requested_targets() == ()
    monkeypatch.setenv("SPARRAY_BUILD_TARGETS", "baseline, x86-64-v3")
    assert build.requested_targets() == (BASELINE, V3)
    monkeypatch.setenv("SPARRAY_BUILD_TARGETS", "x86-64-v4")
    with pytest.raises(SettingError, match=r"SPARRAY_BUILD_TARGETS.*x86-64-v4"):
        build.requested_targets()


def test_names_of_rows_are_distinct_identifiers():
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("spmv_csr", {"unroll(j, 4)", "unroll(j, 8)", ""}),
        ("spmm_csr", {"prefetch(k, 8)", "pack(B, i)", ""}),
    ],
)
def test_rows_have_a_kernel_for_each_setting_that_sizes_decide(name, said):
    (row,) = (row for row in ROWS if row.name == name)
    one = replace(row, dtypes=("float32",), index_dtypes=(("int32", "int32"),))
    schedules = [source.header[-1] for source in build.kernel_source(one, V3)]
    assert len(schedules) == 3
    for word in said - {""}:
        assert sum(word in schedule for schedule in schedules) == 1
