"""Combinations: all of them, each a step from the one before, and numbered."""

from itertools import combinations as every
from math import comb

import numpy as np
import pytest

from sparray.formats.combinations import combinations, ranks_of_combinations

CASES = [(n, m) for m in range(1, 10) for n in range(1, m + 1)]


@pytest.mark.parametrize(("n", "m"), [*CASES, (1, 700), (126, 127), (40, 40)])
def test_one_leaves_and_one_comes(n, m):
    found = combinations(n, m)
    assert len(found) == comb(m, n)
    assert len(set(found)) == len(found)
    assert found[0] == tuple(range(n))
    for chosen, following in zip(found, (*found[1:], found[0]), strict=True):
        assert list(chosen) == sorted(set(chosen))
        assert 0 <= chosen[0] <= chosen[-1] < m
        assert len(found) == 1 or len({*chosen} - {*following}) == 1


@pytest.mark.parametrize(("n", "m"), CASES)
def test_every_choice_is_there(n, m):
    assert set(combinations(n, m)) == set(every(range(m), n))


@pytest.mark.parametrize(("n", "m"), [*CASES, (1, 700), (126, 127), (100, 101)])
def test_ranks_are_places(n, m):
    listed = np.array(combinations(n, m)).reshape(-1, n)
    assert np.array_equal(ranks_of_combinations(listed, m), np.arange(len(listed)))
    assert ranks_of_combinations(listed[-1:], m).tolist() == [len(listed) - 1]
    assert ranks_of_combinations(listed[:0], m).tolist() == []
