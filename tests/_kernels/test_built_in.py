"""The kernels of this very installation."""

import pytest

from sparray._kernels import built_in, jit
from sparray._kernels.targets import TARGETS, host_target


def installed(target):
    index = built_in._index(built_in.BUILT, target)
    if not index:
        pytest.skip(f"no kernels are built for {target.name} from these sources")
    return index


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
def test_every_kernel_of_the_index_was_compiled(target):
    missing = [key for key in installed(target) if built_in.find(key, target) is None]
    assert missing == []


def test_kernels_of_this_cpu_have_their_functions():
    target = host_target()
    for key in installed(target):
        found = built_in.find(key, target)
        module = jit.load_library(found.library, found.module_name)
        assert all(callable(getattr(module, n)) for n in found.functions.values())
        assert found.source.exists()
