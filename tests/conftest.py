"""The golden-file fixture, shared by every test of printed text; the oracle's path."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
