"""Which instruction set is chosen, and what a wrong choice says."""

import pytest

from sparray._kernels import targets
from sparray.errors import SettingError

V3 = "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 abm avx avx2 bmi1 bmi2 f16c fma movbe"


@pytest.fixture
def cpu(monkeypatch):
    """Pretend to be an x86-64 CPU with these features."""

    def pretend(features, machine="x86_64"):
        known = frozenset(features.split())
        monkeypatch.setattr(targets, "cpu_features", lambda: known)
        monkeypatch.setattr(targets.platform, "machine", lambda: machine)
        monkeypatch.delenv("SPARRAY_ISA", raising=False)
        targets._chosen_target.cache_clear()

    yield pretend
    targets._chosen_target.cache_clear()


@pytest.mark.parametrize(
    ("features", "name", "vector_bytes"),
    [
        ("", "baseline", 16),
        (V3, "x86-64-v2", 16),
        (V3 + " xsave", "x86-64-v3", 32),
        (V3 + " xsave avx512f", "x86-64-v3", 32),
        (
            V3 + " xsave avx512f avx512bw avx512cd avx512dq avx512vl",
            "x86-64-v4",
            64,
        ),
    ],
)
def test_best_target_follows_features(cpu, features, name, vector_bytes):
    cpu(features)
    target = targets.host_target()
    assert (target.name, target.vector_bytes) == (name, vector_bytes)


def test_other_machines_get_the_baseline(cpu):
    cpu("asimd fp", machine="aarch64")
    assert targets.host_target().name == "baseline"
    assert [t.name for t in targets.build_targets()] == ["baseline"]


def test_isa_setting_overrides(cpu, monkeypatch):
    cpu(V3 + " xsave")
    assert targets.march_flags() == ("-march=native",)
    monkeypatch.setenv("SPARRAY_ISA", "x86-64-v2")
    assert targets.host_target().name == "x86-64-v2"
    assert targets.march_flags() == ("-march=x86-64-v2",)
    monkeypatch.setenv("SPARRAY_ISA", "baseline")
    assert targets.march_flags() == ()


def test_isa_that_the_cpu_lacks_is_named(cpu, monkeypatch):
    cpu(V3 + " xsave")
    monkeypatch.setenv("SPARRAY_ISA", "x86-64-v4")
    with pytest.raises(SettingError, match=r"x86-64-v4.*avx512bw.*x86-64-v3"):
        targets.host_target()


def test_unknown_isa_is_named(cpu, monkeypatch):
    cpu(V3)
    monkeypatch.setenv("SPARRAY_ISA", "avx1024")
    with pytest.raises(SettingError, match=r"SPARRAY_ISA.*baseline.*avx1024"):
        targets.host_target()


def test_native_only_where_features_are_known(cpu):
    cpu("")
    assert targets.march_flags() == ()


def test_features_of_this_machine_are_cached():
    assert targets.cpu_features() is targets.cpu_features()
