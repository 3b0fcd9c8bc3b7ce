"""How many threads a loop gets: as its work asks for, whatever the levels below."""

import pytest

import sparray as sp

SPMV = "y[i] = A[i,j] * x[j]"


def team(format, text=SPMV):
    """Return the line of the first kernel that chooses the number of threads."""
    loops = str(sp.compile(text, A=format, dtype="float64").loops)
    return next(line for line in loops.splitlines() if "var team" in line)


@pytest.mark.parametrize(
    ("format", "entries"),
    [
        ("csr", "A2_pos[n_i]"),
        ("ell", "(n_i * int64(A2_width[0]))"),
        ("bitmap", "(n_i * n_j)"),
        ("nm(2, 4)", "((n_i * ((n_j + 3) // 4)) * 2)"),
        ("nmg(1, 4, 2)", "((((n_i + 3) // 4) * ((n_j + 7) // 8)) * 8)"),
    ],
)
def test_threads_are_counted_by_stored_entries(format, entries):
    assert entries in team(format)


def test_the_indices_of_the_entries_do_not_count_again():
    dense_below = "(i, j, k) -> (i: dense, j: dense, k: padded)"
    line = team(dense_below, "y[i] = A[i,j,k] * x[k]")
    assert line.count("n_j") == 1
    line = team("ell", "y[i,j] = A[i,k] * x[k,j]")
    assert line.count("n_j") == 1


def test_slices_are_not_counted_by_the_buffers_of_one():
    line = team("(i, j, k) -> (i: batch, j: dense, k: compressed)", "y[i] = A[i,j,k]")
    assert "pos" not in line
