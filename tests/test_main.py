"""``python -m sparray``: subcommands, and errors that say what helps."""

import subprocess
import sys

import pytest

import sparray as sp
from sparray.__main__ import main
from sparray._kernels.runtime import cache_info


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.strip() == sp.__version__


def test_a_command_is_required(capsys):
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert "demo" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["ij,jk->ik", "--formats", "csr", "dense"], "loop order i k j"),
        (["ij,jk->ik", "--formats", "csr", "--shapes", "50,60", "60,3"], "iterations"),
        (["C[i,j] = A[i,j] + B[i,j]", "--formats", "csr", "coo"], "out[i,j] = "),
        (["ijk,kr->ijr", "--formats", "csf"], "A: (i, j, k) -> (i: compressed"),
        (["ij,ij->ij", "--formats", "csr", "csr", "--result", "csc"], "decisions"),
        (["i->", "--shapes", "0", "--formats", "csf", "--source"], "function"),
        (["y = 3"], "out = 3"),
    ],
)
def test_explain(capsys, arguments, said):
    assert main(["explain", *arguments]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["ij,jk->", "--formats", "csr", "csr", "csr"], "formats: expected at most 2"),
        (["ij->i", "--shapes", "5x5"], "shapes: expected extents as 1000,64"),
        (["ij->i", "--formats", "cssr"], "cssr"),
        (["ij->iz"], "einsum"),
        (["ij->i", "--shapes", f"{2**40},{2**40}"], "shapes: expected dense operands"),
        (["ij->i", "--dtype", "float8"], "dtype: expected"),
        (["ij->i", "--formats", "csr", "--per-row", "-1"], "per-row: expected"),
    ],
)
def test_explain_says_what_is_wrong(capsys, arguments, said):
    assert main(["explain", *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("sparray: error: ") and said in error


def test_explain_as_a_page(capsys, tmp_path):
    page = tmp_path / "product.html"
    assert main(["explain", "ij,jk->ik", "--formats", "csr", "--html", str(page)]) == 0
    assert str(page) in capsys.readouterr().out
    assert "loop order i j k" in page.read_text(encoding="utf-8")
    absent = tmp_path / "absent" / "page.html"
    assert main(["explain", "ij->i", "--html", str(absent)]) == 1
    assert "html: expected a file that can be written" in capsys.readouterr().err


def test_info(capsys):
    assert main(["info"]) == 0
    said = capsys.readouterr().out
    for fact in ("sparray", "numpy", "compiler", "ISA target", "threads", "cache"):
        assert f"\n{fact}" in f"\n{said}"


def test_cache(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARRAY_CACHE_DIR", str(tmp_path / "cache"))
    assert main(["cache"]) == 0
    assert str(tmp_path) in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert "removed 0 kernels" in capsys.readouterr().out
    assert cache_info().n_kernels == 0


@pytest.mark.parametrize("missing", ["torch", "tqdm", "sklearn"])
def test_a_missing_extra_is_named_with_its_command(missing):
    # A finder that knows one package less, as in an environment without it.
    code = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        f"hide = lambda name, *rest: None if name == {missing!r} else find(name)\n"
        "importlib.util.find_spec = hide\n"
        "from sparray.__main__ import main\n"
        "sys.exit(main(['demo']))\n"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert made.returncode == 1
    assert f"got no {missing}; pip install 'sparray-levels[demo,torch]'" in made.stderr


def test_help_loads_neither_torch_nor_cython():
    code = (
        "import sys\n"
        "from sparray.__main__ import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'Cython', 'sklearn')))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert made.returncode == 0, made.stderr
