"""Random functions: fused = run by NumPy on dense arrays."""

import numpy as np
import pytest
from traced_functions import random_function

import sparray as sp

pytestmark = pytest.mark.usefixtures("interpreted")

FAST, SLOW = 16, 120


@pytest.mark.parametrize(
    "seed",
    [
        *range(FAST),
        *(pytest.param(n, marks=pytest.mark.slow) for n in range(FAST, SLOW)),
    ],
)
def test_a_random_function(seed):
    function, arrays = random_function(seed)
    with np.errstate(all="ignore"):
        try:
            expected = function(*arrays)
        except TypeError:
            # NumPy has no such function of bools, and neither has sparray.
            with pytest.raises(TypeError):
                sp.fuse(function)(*arrays)
            return
    sparse = [sp.array(x, "csf") if n % 2 else x for n, x in enumerate(arrays, 1)]
    for given in (arrays, sparse):
        made = sp.fuse(function)(*given)
        for found, wanted in zip(made, expected, strict=True):
            if isinstance(found, sp.SparseArray):
                found = found.todense()
            found, wanted = np.asarray(found), np.asarray(wanted)
            # Functions of bools with results of floats have those of float64.
            assert found.dtype.kind == wanted.dtype.kind
            assert found.shape == wanted.shape
            exact = np.finfo(wanted.dtype).eps if wanted.dtype.kind == "f" else 0
            np.testing.assert_allclose(
                found, wanted, rtol=1e3 * exact, atol=1e2 * exact
            )
