"""The namespace against the array API standard: names, signatures, other arrays."""

import inspect
from functools import reduce

import numpy as np
import pytest
import scipy.sparse
from oracle_check import interpreted
from standard_signatures import SIGNATURES

import sparray as sp
from sparray.functions import elementwise
from sparray.functions.standard import rows

ROWS = rows(sp)
SUPPORTED = [row.name for row in ROWS if row.supported and row.name in SIGNATURES]
# Full matrices of a sparse one would be dense.
OTHER_DEFAULTS = {("linalg.svd", "full_matrices")}


def found(name):
    return reduce(getattr, name.split("."), sp)


def test_signatures_are_known_of_every_function():
    functions = {
        row.name
        for row in ROWS
        if row.section not in ("Constants", "Dtypes")
        and not row.name.startswith("fft.")
    }
    refused = {row.name for row in ROWS if row.reason}
    assert functions - refused <= set(SIGNATURES)
    assert len(SUPPORTED) > 110


@pytest.mark.parametrize("name", SUPPORTED)
def test_functions_are_called_as_the_standard_does(name):
    ours, standard = inspect.signature(found(name)), SIGNATURES[name]
    positional, keywords = [], {}
    for parameter in standard.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords[parameter.name] = None
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            positional.append(parameter)
    by_position = [None] * len(positional)
    ours.bind(*by_position, **keywords)
    # What may be given by name may be given so.
    named = [p.name for p in positional if p.kind is p.POSITIONAL_OR_KEYWORD]
    first = by_position[: len(positional) - len(named)]
    ours.bind(*first, **dict.fromkeys(named), **keywords)
    for parameter in standard.parameters.values():
        own = ours.parameters.get(parameter.name)
        known = own is not None and parameter.default is not parameter.empty
        if known and (name, parameter.name) not in OTHER_DEFAULTS:
            same = own.default == parameter.default
            assert same or (name, own.default) == ("arange", "dense"), parameter
            assert type(own.default) is not bool or parameter.default is own.default


ONE = [name for name, s in SIGNATURES.items() if str(s) == "(x, /)"]
TWO = [name for name, s in SIGNATURES.items() if str(s) == "(x1, x2, /)"]


@pytest.mark.parametrize("kind", ["csr_array", "coo_matrix"])
def test_arrays_of_scipy_are_operands_of_every_function(kind):
    """They mean what a SparseArray of the same elements means."""
    make = getattr(scipy.sparse, kind)
    x, y = np.array([[0.5, 0.0], [0.25, 1.0]]), np.array([[2.0, 0.0], [0.0, 1.0]])
    checked = 0
    with interpreted(), np.errstate(all="ignore"):
        for name in (*ONE, *TWO):
            if name not in elementwise.__all__:
                continue
            whole = "bitwise" in name
            given = [x, y][: 1 if name in ONE else 2]
            given = [each.astype("int64") for each in given] if whole else given
            function = found(name)
            expected = function(*[sp.array(each, "csr") for each in given])
            made = function(*[make(each) for each in given])
            assert sp.array_equal(made, expected, equal_nan=True), name
            checked += 1
    assert checked > 60


def test_generic_code_runs():
    def normalized(x):
        xp = x.__array_namespace__(api_version="2024.12")
        scale = xp.sqrt(xp.sum(xp.square(x)))
        return xp.divide(xp.astype(x, xp.float64), xp.asarray(scale))

    x = np.array([[0.0, 3.0], [4.0, 0.0]])
    with interpreted():
        for format in ("csr", "coo", "bitmap"):
            made = normalized(sp.array(x, format))
            np.testing.assert_allclose(made.todense(), x / 5)
