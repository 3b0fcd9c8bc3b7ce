"""Whatever is given, the boundary answers with an array or a named error."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparray.convert import array, from_buffers, from_coords
from sparray.errors import SparrayError

FORMATS = ["dense", "csr", "csc", "coo", "csf", "cssr", "(i) -> (i: compressed)"]
DTYPES = [None, "bool", "int8", "float32", "complex64", "object", "none"]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=2),
)
anything = st.recursive(scalars, lambda c: st.lists(c, max_size=3), max_leaves=8)
formats, dtypes = st.sampled_from(FORMATS), st.sampled_from(DTYPES)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def array_or_error(make, *arguments):
    try:
        made = make(*arguments)
    except SparrayError as error:
        assert "expected" in str(error) or "got" in str(error)
    else:
        coords, values = made.to_coords()
        assert coords.shape == (made.ndim, made.nnz)
        assert len(values) == made.nnz


@settings(max_examples=300)
@given(anything, anything, anything, formats, scalars, dtypes)
def test_from_coords(coords, values, shape, format, fill_value, dtype):
    array_or_error(from_coords, coords, values, shape, format, "sum", fill_value, dtype)


@settings(max_examples=300)
@given(anything, formats, dtypes, scalars)
def test_array(obj, format, dtype, fill_value):
    array_or_error(array, obj, format, dtype, fill_value)


@given(formats, anything, anything, anything)
def test_from_buffers(format, shape, levels, values):
    array_or_error(from_buffers, format, shape, levels, values)
