"""`array`: any object becomes an array, or a named error."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

from sparray.convert import array
from sparray.errors import DTypeError, FormatError, ShapeError, UnsupportedError
from sparray.formats import named_format

DENSE = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])


@pytest.mark.parametrize(
    ("obj", "name"),
    [
        (DENSE, "csr"),
        (DENSE.tolist(), "csr"),
        (DENSE[0], "coo"),
        (DENSE[None], "csf"),
        (2.5, "dense"),
        (np.float32(2.5), "dense"),
        (scipy.sparse.csc_array(DENSE), "csc"),
        (scipy.sparse.coo_matrix(DENSE), "coo"),
        (array(DENSE, "dcsc"), "dcsc"),
    ],
)
def test_the_format_where_none_is_asked_for(obj, name):
    assert array(obj).format.name == name


def test_a_sparse_array_gives_a_copy_or_itself():
    made = array(DENSE, "csr")
    assert array(made, copy=False) is made
    assert not np.shares_memory(array(made).values, made.values)
    assert array(made, "csc", "float32").dtype == np.float32
    assert array(made, "csc", "float32").format == named_format("csc", 2)
    filled = array(DENSE, "csr", fill_value=3)
    assert array(filled, "coo").fill_value == 3
    assert array(filled, "coo", fill_value=3).nnz == filled.nnz
    with pytest.raises(UnsupportedError, match=r"fill_value: expected 3\.0"):
        array(filled, fill_value=0)


def test_explicit_zeros_of_sparse_objects_are_kept():
    matrix = scipy.sparse.csr_array(DENSE)
    matrix.data[0] = 0
    for name in ("csr", "coo", "csc", "dcsr"):
        assert array(matrix, name).nnz == 3
    with pytest.raises(UnsupportedError, match="SciPy"):
        array(matrix, fill_value=1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[1, 2], [3]],), ShapeError, "obj: expected nested lists"),
        ((object(),), DTypeError, "expected one of bool"),
        ((None,), DTypeError, "expected one of bool"),
        (("text",), DTypeError, "expected one of bool"),
        ((DENSE, "cssr"), FormatError, "expected a known name"),
        ((DENSE, "csf", "longdouble"), DTypeError, "got float128|got longdouble"),
        ((DENSE[0], "csr"), FormatError, "expected 2 or more dimensions, got 1"),
        ((DENSE, "csr", {"A": "int8"}), DTypeError, "expected a dtype, got {'A'"),
        ((DENSE, "csr", "int8", 300), DTypeError, "expected a value that int8 holds"),
    ],
)
def test_what_is_no_array_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        array(*arguments)


def test_dense_and_sparse_arrays_need_no_other_library():
    code = (
        "import sys; from sparray.convert import array;"
        "print(array([[0, 1], [2, 0]], 'csf').to_format('coo').todense().tolist());"
        "assert not {'torch', 'scipy', 'Cython'} & set(sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert run.stdout == "[[0, 1], [2, 0]]\n"
