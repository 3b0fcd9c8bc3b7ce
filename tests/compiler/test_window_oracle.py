"""The oracle for windows, constants, sums of indices and broadcasting."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_check import check_stages, refusal
from window_problems import window_question


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_windows_agree_with_dense_numpy(seed):
    refusal(window_question(seed), check_stages)


@pytest.mark.slow
@settings(max_examples=200)
@given(seed=st.integers(0, 2**63 - 1))
def test_windows_agree_with_dense_numpy_many(seed):
    refusal(window_question(seed), check_stages)
