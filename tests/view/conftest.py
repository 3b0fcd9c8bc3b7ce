"""Arrays that are drawn in several tests."""

import numpy as np
import pytest


@pytest.fixture
def dense_example() -> np.ndarray:
    """Return 4 x 6 elements with an empty row, an empty column and six that are set."""
    dense = np.zeros((4, 6))
    dense[[0, 0, 2, 2, 3, 3], [1, 3, 0, 4, 1, 5]] = [1, 2, 3, 4, 5.5, -6]
    return dense
