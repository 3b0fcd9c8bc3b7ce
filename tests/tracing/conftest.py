"""Traced programs are run by the interpreter of the loop IR: nothing is compiled."""

import pytest


@pytest.fixture
def interpreted(monkeypatch):
    """Answer without compiling; the kernels' text is the same."""
    monkeypatch.setattr("sparray.dispatch._calls", {})
    monkeypatch.setattr("sparray.evaluation.programs._known", {})
    monkeypatch.setattr(
        "sparray.evaluation.execution.load_kernel", lambda key, make: None
    )
