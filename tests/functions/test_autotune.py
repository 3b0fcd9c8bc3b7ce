"""Tuning: what is measured, that it is remembered, and that dispatch uses it."""

import numpy as np
import pytest

import sparray as sp
from sparray import dispatch
from sparray._kernels import tuned
from sparray.functions import autotune as module


@pytest.fixture(autouse=True)
def own_entries(tmp_path, monkeypatch):
    """Entries of this test alone, beside kernels that all tests share."""
    monkeypatch.setattr(tuned, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(tuned, "_folder", lambda: tmp_path / "tuned")
    monkeypatch.setattr(dispatch, "_calls", {})


@pytest.fixture
def A():
    return sp.array(np.eye(5) * [1.0, 2, 3, 4, 5], format="csr")


X = np.arange(5.0)


def let_win(monkeypatch, number):
    """Let the contender of that number be ten times as fast as the others."""

    def fixed(calls, seconds):
        for call in calls:
            call()
        return [1e-3 if n == number else 1e-2 for n in range(len(calls))]

    monkeypatch.setattr(module, "race", fixed)


def test_the_winner_is_used_from_then_on(A, monkeypatch):
    before = str(sp.explain("ij,j->i", A, X))
    let_win(monkeypatch, 1)
    found = sp.autotune("ij,j->i", A, X, candidates=2)
    assert found.winner is found.candidates[1]
    assert found.speedup == pytest.approx(10)
    after = str(sp.explain("ij,j->i", A, X))
    assert found.winner.schedule in after
    assert found.winner.schedule not in before
    assert "measured as the best" in after
    np.testing.assert_array_equal(sp.einsum("ij,j->i", A, X), A.todense() @ X)
    (call,) = dispatch._calls.values()
    assert call.runner.compiled.kernels[0].decision.schedule == found.winner.schedule


def test_other_formats_dtypes_and_sizes_are_not_concerned(A, monkeypatch):
    let_win(monkeypatch, 1)
    schedule = sp.autotune("ij,j->i", A, X, candidates=2).winner.schedule
    large = sp.from_coords([[0], [0]], [1.0], (5000, 5), "csr")
    for array, x in ((A.to_format("dcsr"), X), (A.astype("float32"), X), (large, X)):
        assert schedule not in str(sp.explain("ij,j->i", array, x))


def test_named_operands(A, monkeypatch):
    let_win(monkeypatch, 1)
    text = "y[i] = A[i,j] * x[j]"
    found = sp.autotune(text, A=A, x=X, candidates=2)
    assert found.winner.schedule in str(sp.explain(text, A=A, x=X))


def test_the_schedulers_choice_stays_where_nothing_is_faster(A, monkeypatch):
    monkeypatch.setattr(module, "race", lambda calls, seconds: [1.0, 0.99])
    found = sp.autotune("ij,j->i", A, X, candidates=2)
    assert found.winner is found.candidates[0]


def test_the_report_is_a_table(A):
    found = sp.autotune("ij,j->i", A, X, candidates=2, seconds=0.01)
    head, columns, *rows = str(found).splitlines()
    assert head.startswith(f"ij,j->i: 2 of {found.considered} ways measured")
    assert columns.split() == ["estimate", "measured", "way"]
    assert sum(row.startswith("->") for row in rows) == 1
    for candidate in found.candidates:
        assert candidate.measured_s > 0
        assert any(row.endswith(candidate.way) for row in rows)
        assert any(candidate.schedule in row for row in rows)


def test_a_way_that_is_none_is_ignored(A, monkeypatch):
    let_win(monkeypatch, 1)
    sp.autotune("ij,j->i", A, X, candidates=2)
    entry = tuned.TunedEntry("by magic", {})
    monkeypatch.setattr("sparray.evaluation.planning.recall", lambda *_: entry)
    np.testing.assert_array_equal(sp.einsum("ij,j->i", A, X), A.todense() @ X)


@pytest.mark.parametrize("settings", [{"candidates": 0}, {"seconds": 0}])
def test_settings_are_checked(A, settings):
    with pytest.raises(sp.errors.SettingError, match="expected"):
        sp.autotune("ij,j->i", A, X, **settings)


def test_operands_are_checked(A):
    with pytest.raises(sp.errors.ShapeError):
        sp.autotune("ij,j->i", A, np.ones(4))
    with pytest.raises(sp.errors.ExpressionError, match="expected a str, got int"):
        sp.autotune(5)
    with pytest.raises(sp.errors.ExpressionError, match="expected the operands"):
        sp.autotune("y[i] = A[i,j] * x[j]", A=A)


def test_the_command_line_lists_and_clears(A, monkeypatch, capsys):
    from sparray.__main__ import main

    let_win(monkeypatch, 1)
    way = sp.autotune("ij,j->i", A, X, candidates=2).winner.way
    assert main(["cache", "tuned"]) == 0
    shown = capsys.readouterr().out
    assert "ij,j->i" in shown
    assert f"{way}: 10.00 times as fast" in shown
    assert tuned.clear_tuned() == 1
