"""Print what extras of the package require, one requirement a line.

Installing the extras themselves would build the package, and its kernels, once more.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def extra_requirements(extras: list[str]) -> list[str]:
    """Return the requirements of extras; those on the package itself are left out."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    known = project["optional-dependencies"]
    wanted = [requirement for extra in extras for requirement in known[extra]]
    return [text for text in wanted if not text.startswith(project["name"])]


if __name__ == "__main__":
    print("\n".join(extra_requirements(sys.argv[1:])))
