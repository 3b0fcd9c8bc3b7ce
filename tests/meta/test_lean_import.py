"""``import sparray`` is light: it is paid by everything that imports it."""

import subprocess
import sys

LIMIT_S = 0.2

CODE = """
import sys, time
begin = time.process_time()
import numpy
numpy_alone = time.process_time() - begin
import sparray
spent = time.process_time() - begin
heavy = [m for m in ("torch", "Cython", "scipy", "sparray.compiler.pipeline")
         if m in sys.modules]
print(spent, numpy_alone, *heavy)
"""


def fresh_import() -> tuple[float, float, list[str]]:
    """Import in a fresh interpreter.

    Returns the processor time of all, NumPy's part of it, and what was loaded of the
    heavy. Processor time: another program on the machine makes an import no heavier.
    """
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
    )
    spent, numpy_alone, *heavy = done.stdout.split()
    return float(spent), float(numpy_alone), heavy


def test_nothing_heavy_is_loaded():
    assert fresh_import()[2] == []


def test_the_time_is_within_the_budget():
    # The best of several. NumPy's part tells how fast the machine is just now: on the
    # one that the budget was made for it is a third of it.
    runs = [fresh_import() for _ in range(7)]
    best = min(spent for spent, *_ in runs)
    numpy_alone = min(alone for _, alone, _ in runs)
    assert best < max(LIMIT_S, 3 * numpy_alone), f"{best:.3f} s"
