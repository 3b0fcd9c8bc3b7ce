"""Compiling ahead: which kernels, each once, and that calls find them."""

import numpy as np
import pytest

import sparray as sp
from sparray._kernels import runtime
from sparray.formats import Compressed, Format, Singleton
from sparray.functions import precompile as module

X = np.arange(5.0)


@pytest.fixture
def A():
    return sp.array(np.eye(5) * [1.0, 2, 3, 4, 5], format="csr")


@pytest.fixture
def loaded(monkeypatch):
    """The keys of the kernels that are compiled, none of which is known."""
    keys = []

    def load(key, make):
        assert make().key == key
        keys.append(key)
        return object()

    monkeypatch.setattr(module, "has_kernel", lambda key: key in keys)
    monkeypatch.setattr(module, "load_kernel", load)
    return keys


def test_each_kernel_is_compiled_once(A, loaded):
    spmv = ("ij,j->i", [A, X])
    made = sp.precompile([spmv, spmv, ("ij,j->i", [A.to_format("csc"), X])])
    assert [one.n_compiled for one in made] == [1, 0, 1]
    assert len(set(loaded)) == len(loaded) == 2
    assert made[0].schedules == made[1].schedules
    assert [one.n_compiled for one in sp.precompile([spmv])] == [0]


def test_operands_formats_and_names_are_ways_to_say_it(A, loaded):
    text = "y[i] = A[i,j] * x[j]"
    by_format = {"A": "csr", "dtype": "float32", "index_dtype": "int64"}
    first, second = sp.precompile([(text, {"A": A, "x": X}), (text, by_format)])
    assert first.n_compiled == second.n_compiled == 1
    # Without operands, nothing is known of how long rows are.
    kernel = sp.compile(text, **by_format)
    assert second.schedules == (str(kernel.schedule),)
    assert first.schedules != second.schedules
    assert {spec.key for spec in kernel._specs} < set(loaded)


def test_all_kernels_of_a_plan_are_compiled(loaded):
    csc = sp.from_coords(np.arange(2000).reshape(1, -1).repeat(2, 0), np.ones(2000))
    csr, csc = csc.to_format("csr"), csc.to_format("csc")
    (made,) = sp.precompile([("ij,jk->ik", [csr, csc])])
    assert made.n_compiled == len(loaded) == len(made.schedules) == 2


def test_kernels_that_sort_are_compiled_too(loaded):
    levels = [Compressed(unique=False, ordered=False), Singleton(ordered=False)]
    listed = sp.from_coords(
        [[3, 1], [0, 2]], [1.0, 2.0], (4, 4), Format(levels, (0, 1))
    )
    (made,) = sp.precompile([("y[i] = max(j, A[i,j])", {"A": listed})])
    assert made.n_compiled > len(made.schedules)


def test_nothing_is_compiled_if_an_item_is_wrong(A, loaded):
    right = ("ij,j->i", [A, X])
    for wrong in (("ij,j->i", [A]), ("ij,j->i",), "ij,j->i", ("y = ", {})):
        with pytest.raises(sp.errors.ExpressionError):
            sp.precompile([right, wrong])
    assert loaded == []


def test_a_call_finds_what_was_compiled(A):
    (made,) = sp.precompile([("ij,j->i", [A, X])])
    assert len(made.schedules) == 1
    kernels = module._kernels("ij,j->i", [A, X])
    assert all(runtime.has_kernel(spec.key) for spec in kernels)
    assert not runtime.has_kernel("no such kernel")
