"""The documentation names all that it has a list of, and nothing that is gone."""

import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import numpy as np
import pytest
from source_tree import PACKAGE, ROOT, modules

import sparray
from sparray._kernels.targets import TARGETS
from sparray.compiler.hand_schedule import METHODS
from sparray.formats.named import FORMAT_FAMILIES, NAMED_FORMATS
from sparray.formats.registry import LEVEL_TYPES
from sparray.functions.standard import REFUSED, rows

DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def commands() -> list[str]:
    """Return the dotted name of each schedule command."""
    found = []
    for path in sorted((PACKAGE / "compiler" / "schedule").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r'^__all__ = \["(\w+)"', text, re.MULTILINE):
            if re.search(rf"class {name}:.*?def __str__", text, re.DOTALL):
                found.append(f"sparray.compiler.schedule.{path.stem}.{name}")
    return found


def test_there_are_commands():
    assert len(commands()) >= 5


@pytest.mark.parametrize("command", commands())
def test_schedule_commands_are_on_their_page(command):
    assert f".. autoclass:: {command}" in page("developer/scheduler.md")


@pytest.mark.parametrize("command", commands())
def test_schedule_commands_say_what_they_rewrite(command):
    module, _, name = command.rpartition(".")
    text = modules()[module].read_text(encoding="utf-8")
    docstring = re.search(rf'class {name}:\n    """(.*?)"""', text, re.DOTALL)
    assert docstring is not None
    assert "**Rewrite**" in docstring[1] or name == "Assemble"


@pytest.mark.parametrize("level", LEVEL_TYPES)
def test_levels_are_in_the_user_guide(level):
    text = page("user/formats/levels.md")
    assert f"| [`{level}`](#{level}) |" in text
    _, found, section = text.partition(f"\n## {level}\n")
    assert found, f"no section about {level}"
    assert "```{drawing}" in section.partition("\n## ")[0]
    assert re.search(rf"^\| `{level}` \|", text, re.MULTILINE)


@pytest.mark.parametrize("level", LEVEL_TYPES.values())
def test_levels_are_in_the_developer_guide(level):
    name = f"{level.__module__}.{level.__name__}"
    assert f".. autoclass:: {name}" in page("developer/extending.md")


@pytest.mark.parametrize("name", [*NAMED_FORMATS, *FORMAT_FAMILIES])
def test_named_formats_have_a_page(name):
    index = page("user/formats/index.md")
    assert re.search(rf"^{name}$", index, re.MULTILINE), "not in the toctree"
    for table in ("dimensions", "bytes"):
        rows = index.partition(f"| name | {table} |")[2].partition("\n\n")[0]
        assert f"`{name}" in rows
    text = page(f"user/formats/{name}.md")
    assert text.startswith(f"# {name}")
    assert "```{drawing}" in text
    for section in ("Buffers", "Fast and slow", "Conversion and exchange"):
        assert f"\n## {section}\n" in text


def drawings() -> list[tuple[str, str, str]]:
    """Return page, expression and the text above it, for each drawing."""
    found = []
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"```{drawing}\n(.*?)\n```", text, re.DOTALL):
            name = f"{path.relative_to(DOCS)}: {match[1]}"
            found.append((name, match[1], text[: match.start()]))
    return found


@pytest.mark.parametrize(
    ("expression", "before"),
    [d[1:] for d in drawings()],
    ids=[d[0] for d in drawings()],
)
def test_drawings_can_be_drawn(expression, before):
    pytest.importorskip("sphinx")
    spec = spec_from_file_location("drawing", DOCS / "extensions" / "drawing.py")
    drawing = module_from_spec(spec)
    spec.loader.exec_module(drawing)
    assert drawing.drawn(expression, before).startswith("<svg")


@pytest.mark.parametrize("name", sparray.__all__)
def test_public_names_are_in_the_reference(name):
    if isinstance(getattr(sparray, name), ModuleType):
        assert f".. currentmodule:: sparray.{name}" in page("api/index.md")
        return
    if sparray._MODULES.get(name) == "numpy":
        assert f"`{name}`" in page("api/index.md")
        return
    assert re.search(rf"^   {name}$", page("api/index.md"), re.MULTILINE)


@pytest.mark.parametrize("name", sparray.linalg.__all__)
def test_public_names_of_linear_algebra_are_in_the_reference(name):
    section = page("api/index.md").partition(".. currentmodule:: sparray.linalg")[2]
    assert re.search(rf"^   {name}$", section.partition("```")[0], re.MULTILINE)


def test_public_names_of_torch_are_in_the_reference():
    torch = pytest.importorskip("sparray.torch", exc_type=ImportError)
    functions = [name for name in torch.__all__ if name != "operators"]
    missing = [
        name
        for name in functions
        if not re.search(rf"^   {name}$", page("api/index.md"), re.MULTILINE)
    ]
    assert not missing


def settings() -> list[str]:
    """Return the environment variables that the package or its setup reads."""
    sources = [*PACKAGE.rglob("*.py"), ROOT / "setup.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    return sorted(set(re.findall(r"\bSPARRAY_[A-Z_]+\b", text)))


@pytest.mark.parametrize("name", settings())
def test_environment_variables_are_in_the_user_guide(name):
    assert f"`{name}`" in page("user/memory.md")


def test_instruction_sets_are_in_the_user_guide():
    assert all(f"`{name}`" in page("user/memory.md") for name in TARGETS)


def test_files_that_pages_name_exist():
    """Paths in backquotes start at the root, the package or the compiler."""
    missing = []
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"`([\w./]+/[\w./]*(?:\.py|/))`", text):
            roots = (ROOT, PACKAGE, PACKAGE / "compiler")
            if not any((root / name).exists() for root in roots):
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert not missing


def test_the_pages_of_the_developer_guide_are_linked():
    index = page("developer/index.md")
    for path in (DOCS / "developer").glob("*.md"):
        assert path.stem == "index" or re.search(rf"^{path.stem}$", index, re.MULTILINE)


def test_every_dependency_has_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    required = [*project["project"]["dependencies"], *(r for e in extras for r in e)]
    text = page("developer/dependencies.md").lower()
    names = {re.split(r"[\[<>=~ ]", one)[0].lower() for one in required}
    assert not [name for name in names - {"sparray-levels"} if name not in text]


def test_functions_of_the_standard_are_there_or_refused():
    """What is refused has a reason, and is not there; names are those of NumPy."""
    found = rows(sparray)
    assert len({row.name for row in found}) == len(found) > 150
    assert {row.name for row in found} - {"fft"} >= set(REFUSED) - {"fft"}
    for row in found:
        assert row.supported or row.reason, f"{row.name} is neither there nor refused"
        assert not (row.supported and row.reason), f"{row.name} is there, and refused"
        module, _, name = row.name.rpartition(".")
        known = getattr(np, module) if module else np
        assert hasattr(known, name) or row.name.startswith("__"), row.name


def test_the_page_of_the_standard_has_a_row_for_each_function():
    pytest.importorskip("sphinx")
    path = DOCS / "extensions" / "standard_table.py"
    spec = spec_from_file_location("standard_table", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    table = module.standard_table()
    for row in rows(sparray):
        word = "supported" if row.supported else "refused" if row.reason else "not yet"
        assert f"| `{row.name}` | {word}" in table
    assert "generated/array_api_table.md" in page("user/array_api.md")


def test_every_command_of_a_schedule_is_shown_before_after_and_refused():
    written = re.split(r"^## `(\w+)`$", page("user/schedule_commands.md"), flags=re.M)
    shown = dict(zip(written[1::2], written[2::2], strict=True))
    assert set(shown) == set(METHODS)
    for command, text in shown.items():
        # What is demanded of the assembly changes no statement.
        assert text.count(">>> cin(") >= (1 if command == "assemble" else 2)
        assert ">>> refused(" in text
        assert "**Refused**" in text and "**Worth it**" in text
