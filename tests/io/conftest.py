"""Real data."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = Path(os.environ.get("SPARRAY_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data."""
    if not DATA.is_dir():
        pytest.skip(f"no real data at {DATA} (SPARRAY_DATA says where they are)")
    return DATA


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "data_files(*patterns): run for every file of the real data"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests with an argument ``data_file`` every file that their mark names."""
    if "data_file" not in metafunc.fixturenames:
        return
    marks = metafunc.definition.iter_markers("data_files")
    patterns = [pattern for mark in marks for pattern in mark.args]
    files = sorted({file for pattern in patterns for file in DATA.glob(pattern)})
    if files:
        ids = [str(file.relative_to(DATA)) for file in files]
        metafunc.parametrize("data_file", files, ids=ids)
    else:
        reason = f"no {' or '.join(patterns)} at {DATA}"
        skipped = pytest.param(None, marks=pytest.mark.skip(reason=reason))
        metafunc.parametrize("data_file", [skipped])
