"""What every test shares: golden files, the oracle's path, how Hypothesis draws.

Hypothesis draws the same examples in every run, so that a run that fails says something
about the change and not about luck. ``SPARRAY_HYPOTHESIS=explore`` draws others.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("SPARRAY_HYPOTHESIS", "repeatable"))

GOLDEN = Path(__file__).parent / "golden"

# `--import-mode=importlib` finds no module beside tests: the oracle's are imported so.
sys.path.insert(0, str(Path(__file__).parent / "oracle"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what tests print to tests/golden instead of comparing with it",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return ``check(path, text)``: text equals the file below tests/golden."""
    update = request.config.getoption("--update-golden")

    def check(path: str, text: str) -> None:
        file = GOLDEN / path
        if update:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            return
        if not file.exists():
            pytest.fail(f"no golden file {file}; run pytest --update-golden")
        assert text == file.read_text(encoding="utf-8")

    return check
