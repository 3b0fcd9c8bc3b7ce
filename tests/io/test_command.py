"""``python -m sparray convert`` and ``info FILE``."""

import pytest
from arrays import same

import sparray as sp
from sparray.__main__ import main

ARRAY = sp.array([[0, 2.5, 0], [3.5, 0, 0]])


def test_convert(tmp_path, capsys):
    source, target = tmp_path / "A.mtx", tmp_path / "B.npz"
    sp.save(source, ARRAY)
    arguments = [str(source), str(target), "--format", "dcsr", "--dtype", "float32"]
    assert main(["convert", *arguments]) == 0
    array = sp.load(target)
    assert array.format.name == "dcsr"
    assert array.dtype == "float32"
    assert same(ARRAY, array)
    assert "dcsr" in capsys.readouterr().out


def test_options_of_the_source(tmp_path):
    source, target = tmp_path / "A.tns", tmp_path / "B.bsp.npz"
    sp.save(source, ARRAY, zero_based=True, header=True)
    assert main(["convert", str(source), str(target), "--zero-based"]) == 0
    assert same(ARRAY, sp.load(target))
    source = tmp_path / "A.mtx"
    source.write_text("%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2D0\n")
    assert main(["convert", str(source), str(target)]) == 1
    assert main(["convert", str(source), str(target), "--permissive"]) == 0
    assert sp.load(target).todense().tolist() == [[2]]


def test_info_of_a_file(tmp_path, capsys):
    path = tmp_path / "A.mtx"
    sp.save(path, ARRAY)
    assert main(["info", str(path)]) == 0
    out = capsys.readouterr().out
    assert f"A.mtx: {path.stat().st_size} bytes" in out
    assert "2 × 3" in out
    assert "MatrixMarket" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "nothing.npz"],
        ["convert", "nothing.npz", "B.npz"],
        ["convert", "A.mtx", "B.nothing"],
        ["convert", "A.mtx", "nowhere/B.npz"],
        ["convert", "A.mtx", "B.npz", "--format", "nothing"],
        ["convert", "A.mtx", "B.npz", "--zero-based"],
        ["convert", "A.mtx", "B.smtx"],
    ],
)
def test_errors_are_a_line_and_a_code(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    sp.save("A.mtx", ARRAY)
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("sparray: error: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["A.mtx"]
