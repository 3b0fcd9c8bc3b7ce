"""The manifest to Cython files, for ``setup.py`` to compile.

For each target a folder ``built/<target>/`` gets one ``.pyx`` per row and set of C
flags: a module costs the C compiler half a second before its first kernel, so
the dtypes of a row share one. ``index.json`` beside them says which problem is
solved by which functions (`sparray._kernels.built_in` reads it).
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from sparray._kernels.built_in import INDEX, folder_name
from sparray._kernels.fingerprint import source_fingerprint
from sparray._kernels.kernel_source import KernelSource
from sparray._kernels.manifest import Row, problems
from sparray._kernels.render import module_flags, render_module
from sparray._kernels.targets import TARGETS, Target, build_targets
from sparray.errors import SettingError, SparrayError
from sparray.records import dataclass

__all__ = [
    "ModuleFile",
    "kernel_source",
    "render_rows",
    "requested_targets",
]


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A generated module.

    Attributes
    ----------
    name : str
        The module's name: the row's, and a digest of what it is made of, so that
        a library left by an earlier build is never taken for it.
    path : Path
        The ``.pyx`` file.
    flags : tuple of str
        The C compiler's flags, ``-march`` included.
    """

    name: str
    path: Path
    flags: tuple[str, ...]


def requested_targets() -> tuple[Target, ...]:
    """Return the targets that a build is for.

    Returns
    -------
    tuple of Target
        Those that ``SPARRAY_BUILD_TARGETS`` lists, separated by commas (empty:
        none, every kernel is then compiled on first use); by default every one
        of this kind of machine.

    Raises
    ------
    SettingError
        If it lists a target that this kind of machine does not have.
    """
    setting = os.environ.get("SPARRAY_BUILD_TARGETS")
    if setting is None:
        return build_targets()
    possible = {
        target.name: target for target in (TARGETS["baseline"], *build_targets())
    }
    names = [name for name in map(str.strip, setting.split(",")) if name]
    for name in names:
        if name not in possible:
            raise SettingError(
                f"SPARRAY_BUILD_TARGETS: expected some of {', '.join(possible)}, "
                f"got {name!r}"
            )
    return tuple(possible[name] for name in names)


def kernel_source(row: Row, target: Target) -> list[KernelSource]:
    """Compile a row of the manifest to loop IR.

    Parameters
    ----------
    row : Row
        The kernel, in several dtypes.
    target : Target
        The instruction set.

    Returns
    -------
    list of KernelSource
        The kernels that its dtypes need, each once.
    """
    from sparray.compiler.pipeline import compile_problem
    from sparray.compiler.scheduler.statistics import assumed_statistics

    plans = [
        compile_problem(p, target.vector_bytes, assumed_statistics(p, sizes))
        for p in problems(row)
        for sizes in (None, *row.sizes)
    ]
    kernels = [kernel for plan in plans for kernel in plan.all_kernels]
    return [
        KernelSource(kernel.key, kernel.functions, kernel.header)
        for kernel in {kernel.key: kernel for kernel in kernels}.values()
    ]


def render_rows(rows: Iterable[Row], target: Target, out_dir: Path) -> list[ModuleFile]:
    """Write the modules of one target, and the index of their kernels.

    Parameters
    ----------
    rows : iterable of Row
        The manifest.
    target : Target
        The instruction set.
    out_dir : Path
        The folder that the targets' folders are in. What the target's folder
        held before and is not written again is removed. A kernel that several
        rows need is in the first one's module.

    Returns
    -------
    list of ModuleFile
        What to compile.

    Raises
    ------
    SparrayError
        If a row does not compile; a note names it.
    """
    folder = out_dir / folder_name(target)
    folder.mkdir(parents=True, exist_ok=True)
    modules: list[ModuleFile] = []
    kernels: dict[str, Any] = {}
    for row in rows:
        try:
            sources = [s for s in kernel_source(row, target) if s.key not in kernels]
        except SparrayError as error:
            error.add_note(f"in row {row.name!r} of the kernel manifest")
            raise
        for flags, group in _by_flags(sources):
            module, entries = _write_module(row.name, flags, group, target, folder)
            modules.append(module)
            kernels.update(entries)
    index = {"fingerprint": source_fingerprint(), "kernels": kernels}
    _write(folder / INDEX, json.dumps(index, indent=1, sort_keys=True) + "\n")
    _remove_others(folder, modules)
    return modules


def _by_flags(
    sources: Sequence[KernelSource],
) -> Iterator[tuple[tuple[str, ...], list[KernelSource]]]:
    """Group kernels by C flags: reordered sums must not spread to others."""

    def flags(source: KernelSource) -> tuple[str, ...]:
        return module_flags(source.functions)

    for key, group in groupby(sorted(sources, key=flags), key=flags):
        yield key, list(group)


def _write_module(
    stem: str,
    flags: tuple[str, ...],
    sources: Sequence[KernelSource],
    target: Target,
    folder: Path,
) -> tuple[ModuleFile, dict[str, Any]]:
    names = [
        {f.name: f"{f.name}_{number}" for f in source.functions}
        for number, source in enumerate(sources)
    ]
    functions = [
        replace(function, name=exported[function.name])
        for source, exported in zip(sources, names, strict=True)
        for function in source.functions
    ]
    header = [
        line
        for source, exported in zip(sources, names, strict=True)
        for line in (f"{', '.join(exported.values())}:", *source.header)
    ]
    text = render_module(functions, header)
    if target.march:
        flags = (*flags, f"-march={target.march}")
    digest = hashlib.sha256("\0".join((text, *flags)).encode()).hexdigest()
    module = ModuleFile(
        f"{stem}_{digest[:10]}", folder / f"{stem}_{digest[:10]}.pyx", flags
    )
    _write(module.path, text)
    entries = {
        source.key: {"module": module.name, "functions": exported}
        for source, exported in zip(sources, names, strict=True)
    }
    return module, entries


def _write(path: Path, text: str) -> None:
    """Write a file unless it holds the text: what was compiled from it stays new."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _remove_others(folder: Path, modules: Sequence[ModuleFile]) -> None:
    kept = {module.name for module in modules}
    for path in folder.iterdir():
        if path.name != INDEX and path.name.partition(".")[0] not in kept:
            path.unlink()
