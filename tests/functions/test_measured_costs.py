"""Measured constants: which there are, and the command that writes them."""

import pytest

from sparray.__main__ import main
from sparray._kernels.threads import num_threads
from sparray.command_line import measure_costs as command
from sparray.compiler.scheduler.costs import load_costs, read_costs
from sparray.functions.measured_costs import MeasuredCost, measure_costs


def test_the_command_writes_what_the_scheduler_reads(tmp_path, monkeypatch, capsys):
    found = [MeasuredCost("leaf", 1.0, "a row"), MeasuredCost("sort", 8.91234, "lists")]
    monkeypatch.setattr(command, "measure_costs", lambda seconds: iter(found))
    path = tmp_path / "costs.json"
    assert main(["measure-costs", "--write", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "cpu " in shown
    assert "assumed, not measured" in shown
    assert read_costs(path).values == {"leaf": 1.0, "sort": 8.91}
    assert read_costs(path).provenance["how"] == "python -m sparray measure-costs"
    monkeypatch.setenv("SPARRAY_COSTS", str(path))
    assert load_costs().values["sort"] == 8.91


def test_settings_are_checked(tmp_path, monkeypatch, capsys):
    assert main(["measure-costs", "--seconds", "0"]) == 1
    monkeypatch.setattr(command, "measure_costs", lambda seconds: iter(()))
    assert main(["measure-costs", "--write", str(tmp_path / "no" / "file")]) == 1
    assert "expected a file that can be written" in capsys.readouterr().err


@pytest.mark.slow
def test_every_constant_but_one_is_measured():
    threads = num_threads()
    found = {cost.name: cost for cost in measure_costs(0.02)}
    assert set(load_costs().values) - set(found) == {"kept"}
    assert all(cost.value > 0 and cost.how for cost in found.values())
    assert num_threads() == threads
