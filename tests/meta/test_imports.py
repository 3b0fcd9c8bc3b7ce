"""Imports point down only, and what is heavy is imported late."""

import sys

import pytest
from source_tree import Import, all_imports, modules

# From the lowest layer to the highest; a module belongs to its longest prefix.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("sparray.errors", "sparray.records", "sparray.collection"),
    ("sparray.compiler.loop_ir",),
    ("sparray.formats",),
    ("sparray.compiler",),
    ("sparray._kernels",),
    (
        "sparray.evaluation",
        "sparray.dispatch",
    ),
    (
        "sparray.results",
        "sparray.densifying",
        "sparray.array_protocols",
        "sparray.array_operators",
        "sparray.array_methods",
        "sparray.array_names",
        "sparray.sparse_array",
        "sparray.convert",
    ),
    ("sparray.functions", "sparray.tracing", "sparray.view"),
    ("sparray.linalg",),
    ("sparray.torch", "sparray.io"),
    ("sparray", "sparray.__main__", "sparray.command_line", "sparray.demo"),
)

# Imports inside functions that point up: module, package, and the reason.
UPWARDS: dict[tuple[str, str], str] = {
    ("sparray.sparse_array", "sparray.view"): "an array shows what views draw of it",
    ("sparray.array_methods", "sparray.functions"): "methods are functions too",
    ("sparray.array_operators", "sparray.functions"): "products of stacks are einsums",
    ("sparray.array_protocols", "sparray.functions"): "NumPy's hooks call functions",
    ("sparray.sparse_array", "sparray.functions"): "Dask hears of arrays it was sent",
}

# Packages that a module may import when it is imported, beside the standard library:
# everywhere, and in the packages that nothing else imports when it is imported.
LIGHT = {"numpy", "sparray"}
HEAVY = {"sparray.torch": {"torch"}, "sparray.demo": {"torch", "sklearn", "tqdm"}}


def layer(module: str) -> int:
    """Return the number of a module's layer."""
    best = -1, ""
    for number, prefixes in enumerate(LAYERS):
        for prefix in prefixes:
            if module == prefix or module.startswith(f"{prefix}."):
                best = max(best, (number, prefix), key=lambda pair: len(pair[1]))
    if best[1] == "sparray" != module:
        pytest.fail(f"{module} is in no layer: name it in LAYERS")
    return best[0]


def own_imports() -> list[Import]:
    return [one for one in all_imports() if one.imported.split(".")[0] == "sparray"]


def owned(one: Import, package: str) -> bool:
    return one.module == package or one.module.startswith(f"{package}.")


def points_up(one: Import) -> bool:
    return layer(one.imported) > layer(one.module)


def test_every_module_is_in_a_layer():
    for module in modules():
        assert layer(module) >= 0


def test_imports_point_down():
    found = [one for one in own_imports() if one.when == "import" and points_up(one)]
    assert not found, "\n".join(map(str, found))


def test_imports_inside_functions_point_down_but_for_the_known_ones():
    found = [one for one in own_imports() if one.when == "call" and points_up(one)]
    unknown = [
        one
        for one in found
        if not any(
            one.module == module and one.imported.startswith(package)
            for module, package in UPWARDS
        )
    ]
    assert not unknown, "\n".join(map(str, unknown))


def test_the_compiler_package_imports_nothing():
    found = [one for one in all_imports() if one.module == "sparray.compiler"]
    assert not found


def test_only_numpy_is_imported_with_a_module():
    heavy = []
    for one in all_imports():
        package = one.imported.split(".")[0]
        if one.when != "import" or package in sys.stdlib_module_names | LIGHT:
            continue
        owners = [allowed for owner, allowed in HEAVY.items() if owned(one, owner)]
        if not any(package in allowed for allowed in owners):
            heavy.append(one)
    assert not heavy, "\n".join(map(str, heavy))


def test_torch_is_imported_by_torch_convert_and_the_demo_only():
    owners = ("sparray.torch", "sparray.convert", "sparray.demo")
    found = [
        one
        for one in all_imports()
        if one.imported.split(".")[0] == "torch"
        and one.when != "typing"
        and not any(owned(one, owner) for owner in owners)
    ]
    assert not found, "\n".join(map(str, found))


def test_lowering_names_no_level_class():
    classes = {
        "sparray.formats.dense",
        "sparray.formats.compressed",
        "sparray.formats.singleton",
        "sparray.formats.registry",
        "sparray.formats.named",
    }
    found = [
        one
        for one in all_imports()
        if one.module.startswith(("sparray.compiler.lower", "sparray.compiler.kernel_"))
        and one.imported in classes
    ]
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize("folder", ["formats", "compiler.cin", "compiler.schedule"])
def test_what_is_above_the_back_end_knows_no_back_end(folder):
    found = [
        one
        for one in all_imports()
        if one.module.startswith(f"sparray.{folder}")
        and one.imported.startswith(("sparray.compiler.codegen", "sparray._kernels"))
    ]
    assert not found, "\n".join(map(str, found))
