"""The checkout as these tests read it: modules, and what each of them imports."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sparray"


@dataclass(frozen=True)
class Import:
    """One import: which module imports which, where, and when it runs.

    ``when`` is ``"import"``, ``"call"`` (inside a function) or ``"typing"``.
    """

    module: str
    imported: str
    line: int
    when: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.imported} ({self.when})"


@cache
def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        found[".".join(parts)] = path
    return found


def imports(module: str, path: Path) -> Iterator[Import]:
    """Yield the imports of one module, those inside functions too."""
    known = modules()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, when in _walk(tree, "import"):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, node.lineno, when)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}:{node.lineno} is a relative import"
            base = str(node.module)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield Import(module, full if full in known else base, node.lineno, when)


@cache
def all_imports() -> tuple[Import, ...]:
    """Return the imports of every module."""
    return tuple(one for name, path in modules().items() for one in imports(name, path))


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints; skip where this is no git checkout."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


def _walk(node: ast.AST, when: str) -> Iterator[tuple[ast.AST, str]]:
    for child in ast.iter_child_nodes(node):
        inner = when
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner = "call" if when == "import" else when
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            inner = "typing"
        yield child, inner
        yield from _walk(child, inner)
