"""`.ci/run` with stubs for every tool: it fails when any of them does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from source_tree import ROOT

README = """<!-- command: test -->
```bash
pip install -e . && python -m pytest
```
"""

# Fails if its command line has the words in $FAILING; logs what it was asked.
STUB = """#!/bin/sh
line="$(basename "$0") $*"
echo "$line" >> "$LOG"
case "$line" in *"$FAILING"*) echo "1 failed in 1.00s"; exit 1;; esac
case "$line" in
    *readme_command.py*) exec {python} "$@";;
    "python -m pytest") echo "12 passed, 1 skipped in 3.45s";;
    "asv"*" run "*) echo "$ASV_SAYS";;
esac
"""

# Stands for the interpreter that makes the virtual environment: `-m venv FOLDER`.
MAKE_ENVIRONMENT = """#!/bin/sh
mkdir -p "$3/bin"
cp {stubs}/* "$3/bin/"
echo "export PATH=$3/bin:$PATH" > "$3/bin/activate"
"""

TOOLS = ("python", "pip", "ruff", "numpydoc", "mypy", "asv")

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or shutil.which("bash") is None,
    reason="needs git and bash",
)


@pytest.fixture
def run(tmp_path):
    """Return ``run(failing, asv_says)``: the finished process and the log."""
    repository = tmp_path / "repository"
    stubs = tmp_path / "stubs"
    temporary = tmp_path / "temporary"
    for folder in (repository / "sparray", stubs, temporary):
        folder.mkdir(parents=True)
    shutil.copytree(ROOT / ".ci", repository / ".ci")
    (repository / "README.md").write_text(README)
    (repository / "sparray" / "__init__.py").touch()
    for tool in TOOLS:
        _script(stubs / tool, STUB.format(python=sys.executable))
    make = _script(tmp_path / "make", MAKE_ENVIRONMENT.format(stubs=stubs))
    for arguments in (["init"], ["add", "."], ["commit", "-m", "All"]):
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *names, *arguments], cwd=repository, check=True)

    def run(failing: str = "nothing", asv_says: str = "all is well"):
        log = tmp_path / "log"
        settings = {
            "ASV_SAYS": asv_says,
            "FAILING": failing,
            "LOG": str(log),
            "PYTHON": str(make),
            "TMPDIR": str(temporary),
        }
        done = subprocess.run(
            ["bash", repository / ".ci" / "run"],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert not list(temporary.iterdir()), "the temporary folder is left"
        return done, log.read_text()

    return run


def _script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_closing_line_is_that_of_the_tests(run):
    done, _ = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "12 passed, 1 skipped in 3.45s"


@pytest.mark.parametrize(
    "failing",
    [
        "pip install -e .",
        "python -m pytest",
        "extra_requirements",
        "pip install --quiet",
        "ruff check",
        "ruff format",
        "numpydoc lint",
        "mypy",
        "--doctest-modules",
        "--doctest-glob",
        "python -m sphinx",
        "asv_benchmarks.instructions",
        " check --python=same",
        " run --quick",
    ],
)
def test_it_fails_when_a_step_fails(run, failing):
    done, log = run(failing)
    assert failing in log.splitlines()[-1], "the step was not run, or not the last one"
    assert done.returncode != 0
    assert "passed" not in done.stdout.splitlines()[-1]


def test_it_fails_when_a_benchmark_does_though_asv_goes_on(run):
    done, _ = run(asv_says="[50.00%] SpMV.time_product  1/4 failed")
    assert done.returncode != 0
