"""Arrays that are drawn in several tests."""

from collections.abc import Callable

import numpy as np
import pytest

from sparray.errors import FormatError
from sparray.formats import NAMED_FORMATS, named_format

WITH_PARAMETERS = ("bcsr(2, 2)", "bcsc(2, 3)", "bcsr(3, 5)", "nmg(4, 4, 1)")


@pytest.fixture
def dense_example() -> np.ndarray:
    """Return 4 x 6 elements with an empty row, an empty column and six that are set."""
    dense = np.zeros((4, 6))
    dense[[0, 0, 2, 2, 3, 3], [1, 3, 0, 4, 1, 5]] = [1, 2, 3, 4, 5.5, -6]
    return dense


@pytest.fixture
def fitting_names() -> Callable[[int], list[str]]:
    """Return a function that lists the named formats of a number of dimensions."""

    def fitting(ndim: int) -> list[str]:
        found = []
        for name in (*NAMED_FORMATS, *WITH_PARAMETERS):
            try:
                named_format(name, ndim)
            except FormatError:
                continue
            found.append(name)
        return found

    return fitting
