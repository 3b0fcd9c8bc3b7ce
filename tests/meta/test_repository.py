"""What git keeps, and that README, CI and metadata agree."""

import os
import re
import subprocess
import sys
import tomllib

import pytest
from source_tree import ROOT, git

import sparray

README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

GENERATED = [
    "sparray/_kernels/built/x86-64-v3/spmm_csr.pyx",
    "sparray/_kernels/built/x86-64-v3/spmm_csr.so",
    "sparray/compiler/parser.c",
    "sparray_levels.egg-info/PKG-INFO",
    "build/lib/sparray/__init__.py",
    "docs/_build/html/index.html",
    "docs/api/generated/sparray.array.rst",
    "docs/developer/generated/spmm_loops.txt",
    "asv_benchmarks/results/benchmarks.json",
    "sparray/__pycache__/errors.cpython-311.pyc",
]


@pytest.mark.parametrize("path", [p for p in GENERATED if not p.endswith(".c")])
def test_generated_files_are_ignored(path):
    assert git("check-ignore", path) == [path]


def test_no_generated_file_is_tracked():
    tracked = git("ls-files")
    assert tracked
    assert not [p for p in tracked if re.search(r"\.(so|c|pyc)$|/generated/", p)]


def readme_command(name: str) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "readme_command.py", name],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_ci_runs_the_test_command_of_the_readme():
    assert "readme_command.py test" in CI
    assert readme_command("test").endswith('python -m pytest -n auto -m "not slow"')


@pytest.mark.parametrize("name", ["demo", "test"])
def test_commands_of_the_readme_are_one_line_each(name):
    command = readme_command(name)
    assert "\n" not in command
    assert "pip install -e " in command and "-c .ci/constraints.txt" in command
    extras = re.findall(r'"\.\[([\w,]+)\]"', command)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = project["project"]["optional-dependencies"]
    assert extras and all(extra in known for extra in extras[0].split(","))


def test_the_demo_command_runs_the_demo():
    assert readme_command("demo").endswith("python -m sparray demo")


def test_ci_stops_at_the_first_failure():
    assert CI.startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in CI
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize(
    "check", ["ruff check", "ruff format --check", "mypy", "numpydoc", "sphinx", "asv"]
)
def test_ci_runs_what_contributors_are_told_to(check):
    assert check in CI


@pytest.mark.parametrize("hook", ["ruff check", "ruff format", "mypy", "numpydoc lint"])
def test_hooks_run_what_ci_runs(hook):
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert f"entry: {hook}" in hooks


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == sparray.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {sparray.__version__}" in changes
