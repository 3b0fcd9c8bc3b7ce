"""The guard of instruction counts fails when a kernel takes more of them."""

import json

import pytest
from source_tree import ROOT

from asv_benchmarks.instructions import __main__ as guard
from asv_benchmarks.instructions import counting
from asv_benchmarks.instructions.problems import PROBLEMS

STORED = json.loads((ROOT / "asv_benchmarks/instructions/counts.json").read_text())


@pytest.fixture
def counted(monkeypatch):
    """Return ``counted(factor)``: run the guard where each count has changed by it."""
    monkeypatch.setattr(guard, "compiler", lambda: STORED["compiler"])
    monkeypatch.setattr(guard, "_obstacle", lambda: None)
    monkeypatch.setattr("sys.argv", ["instructions"])

    def run(factor):
        counts = {name: round(n * factor) for name, n in STORED["counts"].items()}
        monkeypatch.setattr(guard, "count", lambda names: counts)
        return guard.main()

    return run


def test_every_problem_has_a_stored_count():
    assert list(STORED["counts"]) == list(PROBLEMS)
    assert all(n > 1000 for n in STORED["counts"].values())


@pytest.mark.parametrize(
    ("factor", "status", "says"),
    [
        (1.0, 0, "+0.0%"),
        (1.02, 0, "+2.0%"),
        (1.04, 1, "more than stored"),
        (1.2, 1, "+20.0%"),
        (0.9, 0, "fewer: store them"),
    ],
)
def test_more_instructions_fail(counted, capsys, factor, status, says):
    assert counted(factor) == status
    assert says in capsys.readouterr().out


def test_counts_of_another_compiler_are_not_compared(counted, monkeypatch, capsys):
    monkeypatch.setattr(guard, "compiler", lambda: "another one")
    assert counted(2.0) == 0
    assert "not compared" in capsys.readouterr().out


def test_each_call_of_a_kernel_has_a_file(tmp_path):
    for number, total in [(1, 5), (2, 7), (10, 11)]:
        (tmp_path / f"calls.{number}").write_text(f"summary: 0\ntotals: {total}\n")
    assert counting._totals(tmp_path / "calls", 3) == [5, 7, 11]
    with pytest.raises(RuntimeError, match="expected 4 calls of kernels, got 3"):
        counting._totals(tmp_path / "calls", 4)
