"""Modules stay small enough to be read; the report is printed with ``-s``."""

import ast

from source_tree import modules

MODULE_GOAL, MODULE_LIMIT = 400, 500
FUNCTION_GOAL, FUNCTION_LIMIT = 50, 80


def test_modules():
    sizes = {
        name: len(path.read_text(encoding="utf-8").splitlines())
        for name, path in modules().items()
    }
    largest = sorted(sizes.items(), key=lambda item: -item[1])
    print("\nlines of the largest modules:")
    for name, lines in largest[:10]:
        print(f"{lines:5} {name}{' (over the goal)' if lines > MODULE_GOAL else ''}")
    assert not [item for item in largest if item[1] > MODULE_LIMIT]


def test_functions():
    sizes = {}
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                sizes[f"{name}.{node.name}"] = _lines_of_code(node)
    largest = sorted(sizes.items(), key=lambda item: -item[1])
    print("\nlines of the largest functions, without docstrings:")
    for name, lines in largest[:10]:
        print(f"{lines:5} {name}{' (over the goal)' if lines > FUNCTION_GOAL else ''}")
    assert not [item for item in largest if item[1] > FUNCTION_LIMIT]


def _lines_of_code(node: ast.FunctionDef) -> int:
    lines = (node.end_lineno or 0) - node.lineno + 1
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        lines -= (first.end_lineno or 0) - first.lineno + 1
    return lines
