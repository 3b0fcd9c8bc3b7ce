"""Arguments of the wrong kind raise errors of sparray, and say what was expected."""

import numpy as np
import pytest
import torch

import sparray as sp
from sparray.errors import (
    DTypeError,
    ExpressionError,
    MissingFileError,
    SettingError,
)
from sparray.functions.einsum import as_operand

A = sp.array(np.eye(3), format="csr")

WRONG = [
    (lambda: sp.sum("abc"), DTypeError, "expected one of bool"),
    (lambda: sp.sum(A, dtype="zzz"), DTypeError, "dtype: expected a dtype"),
    (lambda: sp.compute("y[i] = A[i,j]", A=A, outputs=5), ExpressionError, "got 5"),
    (
        lambda: sp.compute("y[i] = A[i,j]", A=A, outputs=[5]),
        ExpressionError,
        "got (5,)",
    ),
    (lambda: sp.compute("y[i] = A[i,j]", A=A, outputs="y"), ExpressionError, "got 'y'"),
    (lambda: sp.compute("y = A[i,j]", A=A, missing=[1]), ExpressionError, "got [1]"),
    (lambda: sp.einsum("ij->i", A, missing=[1]), ExpressionError, "'zero' or 'fill'"),
    (lambda: sp.explain("ij->i", A, missing={}), ExpressionError, "'zero' or 'fill'"),
    (lambda: sp.explain(5), ExpressionError, "expected a str, got int"),
    (lambda: sp.precompile([("ij,j->i", A)]), ExpressionError, "expected pairs"),
    (lambda: sp.precompile([("ij,j->i", 5)]), ExpressionError, "expected pairs"),
    (lambda: sp.precompile(5), ExpressionError, "expected pairs"),
    (lambda: sp.precompile("ij->i"), ExpressionError, "expected pairs"),
    (lambda: sp.autotune("ij->i", A, candidates="a"), SettingError, "1 or more"),
    (lambda: sp.autotune("ij->i", A, seconds="a"), SettingError, "a positive number"),
    (lambda: sp.compile("y[i] = x[i]", index_dtype="a"), DTypeError, "int32 or int64"),
    (lambda: sp.load(5), SettingError, "os.PathLike, got int"),
    (lambda: sp.save(5, A), SettingError, "os.PathLike, got int"),
]


@pytest.mark.parametrize(("call", "error", "said"), WRONG)
def test_what_is_no_argument(call, error, said):
    with pytest.raises(error) as raised:
        call()
    assert said in str(raised.value)


def test_sums_of_what_is_no_array_yet():
    assert sp.sum([[1, 2], [3, 4]]) == 10
    assert sp.sum(5) == 5
    np.testing.assert_array_equal(sp.sum(A.to_scipy(), axis=0), [1, 1, 1])
    np.testing.assert_array_equal(sp.sum(torch.eye(2), axis=1), [1, 1])


def test_files_and_folders_that_are_not_there(tmp_path):
    for function in (sp.load, sp.io.describe):
        with pytest.raises(
            MissingFileError, match="expected a file, got none"
        ) as error:
            function(tmp_path / "none.npz")
        assert isinstance(error.value, FileNotFoundError)
        assert error.value.filename == str(tmp_path / "none.npz")
    with pytest.raises(MissingFileError, match="expected an existing folder"):
        sp.save(tmp_path / "none" / "a.npz", A)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
def test_what_torch_holds_dense_stays_dense(dtype):
    tensor = torch.tensor([[0, 1], [0, 0], [1, 0]], dtype=getattr(torch, dtype))
    for given in (tensor, tensor.T, tensor[::2], tensor[0], tensor[0, 1]):
        made = as_operand("x", given)
        assert isinstance(made, np.ndarray)
        assert made.dtype.name == dtype
        assert made.tolist() == given.tolist()


def test_dense_tensors_have_dense_results():
    leaf = torch.ones(3, requires_grad=True)
    assert isinstance(as_operand("x", leaf), np.ndarray)
    made = as_operand("x", torch.eye(3).to_sparse())
    assert isinstance(made, sp.SparseArray)
    x = torch.ones(4, 3)
    assert np.shares_memory(as_operand("x", x), x.numpy())
