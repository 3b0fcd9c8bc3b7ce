"""Lists that hold the coordinates of a mask, or of a sparse factor, alone."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.compiler.hand_schedule import parse_schedule
from sparray.errors import ScheduleError

FILTERED = "reorder(i k j).collect(list, M)"
MASKED = "C[i,j] = M[i,j] * A[i,k] * B[k,j]"
FORMATS = ("csr", "dcsr", "coo")


def random(shape, share, seed, dtype="float64"):
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 5, shape) * (rng.random(shape) < share)
    return values.astype(dtype)


A, B = random((9, 11), 0.4, 0), random((11, 13), 0.4, 1)


@pytest.mark.parametrize("result", FORMATS)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
def test_a_sparse_factor(format, result, share):
    mask = random((9, 13), share, 2)
    mask[3] = 0
    given = {"A": sp.array(A, "csr"), "B": sp.array(B, "csr")}
    with interpreted():
        found = sp.compute(
            MASKED, M=sp.array(mask, format), **given, format=result, schedule=FILTERED
        )
    np.testing.assert_array_equal(found.todense(), mask * (A @ B))
    # Where nothing is multiplied nothing is stored, as without the filter.
    with interpreted():
        plain = sp.compute(
            *(MASKED,),
            **(given | {"M": sp.array(mask, format)}),
            format=result,
            schedule="reorder(i k j)",
        )
    np.testing.assert_array_equal(found.to_coords()[0], plain.to_coords()[0])


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_masks_of_every_dtype_compiled(dtype):
    a, b = random((60, 80), 0.3, 3, dtype), random((80, 70), 0.3, 4, dtype)
    mask = random((60, 70), 0.05, 5) != 0
    left, right = sp.array(a, "csr"), sp.array(b, "csr")
    found = sp.einsum("ik,kj->ij", left, right, mask=sp.array(mask, "csr"))
    np.testing.assert_array_equal(found.todense(), (a @ b) * mask)


def test_a_semiring():
    infinite = np.where(A, A, np.inf)
    expected = np.min(
        infinite[:, :, None] + np.where(B, B, np.inf)[None], axis=1, initial=np.inf
    )
    mask = random((9, 13), 0.3, 6) != 0
    given = sp.array(A, "csr"), sp.array(B, "csr")
    with interpreted():
        found = sp.einsum(
            *("ik,kj->ij", *given),
            semiring="min_plus",
            mask=sp.array(mask, "csr"),
            schedule="reorder(i k j)",
        )
    np.testing.assert_array_equal(
        found.todense(), np.where(mask, expected, found.fill_value)
    )


def test_a_complement_is_no_filter():
    mask = random((9, 13), 0.3, 7) != 0
    given = sp.array(A, "csr"), sp.array(B, "csr")
    with pytest.raises(ScheduleError, match="an operand outside of the sum"):
        sp.compute(
            "C[i,j] = M[i,j] + sum(k, A[i,k] * B[k,j])",
            **{"M": sp.array(mask * 1.0, "csr"), "A": given[0], "B": given[1]},
            schedule=FILTERED,
        )
    with pytest.raises(ScheduleError, match="outside of the sum"):
        sp.compute(
            MASKED,
            **{"M": sp.array(mask * 1.0, "csr"), "A": given[0], "B": given[1]},
            schedule="reorder(i k j).collect(list, A)",
        )
    with pytest.raises(ScheduleError, match="expected a tensor of"):
        sp.compute(
            MASKED,
            **{"M": sp.array(mask * 1.0, "csr"), "A": given[0], "B": given[1]},
            schedule="reorder(i k j).collect(list, X)",
        )


def test_as_text():
    assert str(parse_schedule("collect(list, M)")) == "collect(list, M)"
    text = sp.compile(MASKED, M="csr", A="csr", B="csr", schedule=FILTERED)
    assert "collect(list, M)" in text.schedule
