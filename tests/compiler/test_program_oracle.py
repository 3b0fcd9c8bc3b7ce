"""The oracle for programs: random ones, right however they are joined.

Dense NumPy = CIN of the joined nest = loop IR, for random chains of statements. A
program is named by its seed: ``random_program(seed)`` of `tests/oracle`.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_problems import check_program, random_program
from program_schedules import check_scheduled_program


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_programs_agree_with_dense_numpy(seed):
    check_program(random_program(seed))


def test_programs_are_joined_often_enough_to_test_it():
    joined = [check_program(random_program(seed)) for seed in range(20)]
    assert sum(count > 0 for count in joined) >= 5


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_schedules_of_statements_change_no_result(seed):
    check_scheduled_program(seed)


def test_commands_are_accepted_often_enough_to_test_them():
    assert sum(map(check_scheduled_program, range(20))) >= 20


@pytest.mark.slow
@settings(max_examples=150)
@given(seed=st.integers(0, 2**32 - 1))
def test_schedules_of_statements_change_no_result_many(seed):
    check_scheduled_program(seed)


@pytest.mark.slow
@settings(max_examples=300)
@given(seed=st.integers(0, 2**32 - 1))
def test_programs_agree_with_dense_numpy_more(seed):
    check_program(random_program(seed))
