"""Reading text files."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

import sparray as sp

from .inputs import use_threads
from .interleave import ratio

__all__ = ["ReadMatrixMarket"]


class ReadMatrixMarket:
    """A file of 1.5 million entries of 200,000², about 50 MB, real numbers.

    SciPy's reader neither sorts nor adds repeated entries; sparray's does both.
    """

    params = [["random", "by row"], ["coo", "csr"]]
    param_names = ["order of the entries", "format"]

    def setup(self, order: str, format: str) -> None:
        use_threads()
        self.folder = tempfile.TemporaryDirectory()
        self.path = str(Path(self.folder.name) / "A.mtx")
        self.format = format
        rng = np.random.default_rng(0)
        n = 1_500_000
        table = rng.integers(1, 200_001, (2, n))
        if order == "by row":
            table = table[:, np.lexsort(table[::-1])]
        entries = zip(*table.tolist(), rng.standard_normal(n).tolist(), strict=True)
        with open(self.path, "w") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n")
            file.write(f"200000 200000 {n}\n")
            file.writelines(f"{i} {j} {value!r}\n" for i, j, value in entries)

    def teardown(self, *_: str) -> None:
        self.folder.cleanup()

    def ours(self) -> Any:
        return sp.load(self.path, self.format)

    def theirs(self) -> Any:
        matrix = scipy.io.mmread(self.path, spmatrix=False)
        return matrix.tocsr() if self.format == "csr" else matrix

    def time_read(self, *_: str) -> None:
        self.ours()

    def peakmem_read(self, *_: str) -> None:
        self.ours()

    def track_ratio_scipy(self, *_: str) -> float:
        return ratio(self.ours, self.theirs)
