"""Matching columns to patterns, compared with the largest flow that SciPy finds."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import maximum_flow

from sparray.formats import matching
from sparray.formats.combinations import combinations
from sparray.formats.matching import UnmatchedError, match_columns


def members(n, m):
    """Return where each pattern has places."""
    patterns = np.array(combinations(n, m))
    made = np.zeros((len(patterns), m), bool)
    made[np.arange(len(patterns))[:, None], patterns] = True
    return made


def largest_flow(entries, room, patterns):
    """Return how many columns of a chunk have places at most."""
    k, p = len(entries), len(patterns)
    graph = np.zeros((k + p + 2, k + p + 2), np.int32)
    graph[0, 1 : k + 1] = 1
    graph[1 : k + 1, k + 1 : -1] = ~(entries[:, None] & ~patterns[None]).any(axis=2)
    graph[k + 1 : -1, -1] = room
    return maximum_flow(scipy.sparse.csr_array(graph), 0, k + p + 1).flow_value


@pytest.mark.parametrize("most_elements", [1, matching._MOST_ELEMENTS])
@given(data=st.data())
def test_all_columns_have_a_place_or_none_is_possible(most_elements, data):
    n, m = data.draw(st.sampled_from([(1, 3), (2, 4), (2, 3), (3, 5)]))
    patterns = members(n, m)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n_chunks = data.draw(st.integers(1, 4))
    n_columns = data.draw(st.integers(0, 25))
    chunks = np.sort(rng.integers(0, n_chunks, n_columns))
    entries = np.zeros((n_columns, m), bool)
    for column in entries:
        column[rng.permutation(m)[: rng.integers(0, n + 1)]] = True
    room = rng.integers(0, 4, (n_chunks, len(patterns)))
    left = room.copy()
    flows = [
        largest_flow(entries[chunks == chunk], room[chunk], patterns)
        for chunk in range(n_chunks)
    ]
    possible = sum(flows) == n_columns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_MOST_ELEMENTS", most_elements)
        try:
            found = match_columns(chunks, entries, left, patterns)
        except UnmatchedError as error:
            assert not possible
            check_witness(error, chunks, entries, room, patterns)
            return
    assert possible
    assert not (entries & ~patterns[found]).any()
    used = np.zeros_like(room)
    np.add.at(used, (chunks, found), 1)
    assert (used <= room).all()
    assert np.array_equal(left, room - used)


def check_witness(error, chunks, entries, room, patterns):
    """The patterns named hold nothing but more columns than they have places for."""
    chunk = chunks[error.column]
    here = entries[chunks == chunk]
    fits = ~(here[:, None] & ~patterns[None]).any(axis=2)
    others = np.setdiff1d(np.arange(len(patterns)), error.patterns)
    confined = ~fits[:, others].any(axis=1)
    places = room[chunk, error.patterns].sum()
    assert np.count_nonzero(confined) >= places + error.excess
    assert error.excess > 0
    held = ~(entries[error.column] & ~patterns).any(axis=1)
    assert set(np.flatnonzero(held)) <= set(error.patterns.tolist())


def test_a_long_chain_of_columns_that_make_room():
    # Patterns (k, k + 1) in a ring, each with one place: the last column has a place
    # if all others move on by one.
    m = 9
    patterns = np.eye(m, dtype=bool) | np.roll(np.eye(m, dtype=bool), 1, axis=1)
    entries = np.eye(m, dtype=bool)[[*range(1, m), 1]]
    found = match_columns(np.zeros(m, int), entries, np.ones((1, m), int), patterns)
    assert sorted(found) == list(range(m))
