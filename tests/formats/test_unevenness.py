"""The class of how much the lengths of fibres differ."""

import numpy as np
import pytest

from sparray.formats.unevenness import unevenness


def levels(lengths):
    return [{}, {"pos": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)}]


@pytest.mark.parametrize("lengths", [[10] * 1000, [0, 20] * 500, [1] * 10_000])
def test_even_fibres_are_of_the_first_class(lengths):
    assert unevenness(levels(lengths), sum(lengths)) == 0


def test_random_fibres_are_even_however_few_entries_they_have():
    lengths = np.bincount(np.random.default_rng(0).integers(0, 10**6, 10**4))
    assert unevenness(levels(lengths), 10**4) == 0


@pytest.mark.parametrize(("n_long", "expected"), [(1, 3), (10, 2), (100, 1)])
def test_the_fewer_fibres_have_all_the_higher_the_class(n_long, expected):
    lengths = np.zeros(1000, int)
    lengths[:n_long] = 10_000 // n_long
    assert unevenness(levels(lengths), 10_000) == expected


def test_few_entries_and_none_are_not_counted():
    assert unevenness(levels([100, 0, 0, 0]), 100) == 0
    assert unevenness(levels([0] * 10), 5000) == 0
    assert unevenness([{}, {}], 10**6) == 0


def test_a_level_in_which_all_is_one_fibre_says_nothing():
    assert unevenness([{"pos": np.array([0, 5000])}, {}], 5000) == 0
