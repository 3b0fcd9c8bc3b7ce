"""The oracle: random problems, right at every stage or refused by name.

Dense NumPy = CIN of every stage = loop IR = compiled kernel, for random expressions,
formats, orders, dtypes, index widths and extents. A problem is named by its seed:
``random_question(seed)`` of `tests/oracle` makes it again. These tests check the same
seeds in every run (`tests/conftest.py`); ``python tests/oracle/fuzz.py`` goes through
any others.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from batched_problems import batched_question
from hypothesis import given, settings
from hypothesis import strategies as st
from masked_problems import masked_question
from oracle_check import check_dispatch, check_stages, refusal
from oracle_problems import random_question
from position_problems import position_question
from random_schedules import random_product, scheduled
from semiring_problems import semiring_question
from window_problems import window_question

# Random problems that were wrong once.
FOUND = {
    9: "a sum of nothing, beside one that is stored, in a sparse result",
    14: "values that no path wrote",
    19: "an operand of the consumer, in the producer's loops",
    37: "a dead producer where its operand is absent",
    45: "two sums whose operands want other orders",
    67: "abs of a complex number",
    90: "a conversion that converts its operand",
    4000116: "complex products of infinities in another order",
    174: "the pattern of a sum through a temporary",
    217: "an operand that is multiplied by 0",
    368: "conversions without end",
    499: "a scalar temporary beside what is not stored, in a sparse result",
    496: "counting along an unsorted list",
    1189: "a factor that is a sum",
    1368: "a factor that is a sum, sparse result",
    7201: "prefetching the operand that is walked",
    30150: "the truth of a constant, in a result of bools",
    70019: "no diagonals of an array without rows and columns",
    93066: "the maximum of products of bools, none of which is stored",
    414127: "a place to prefetch in a level that gives slots",
    50397: "a factor in blocks along an index whose loop stands in a sum",
    205531269097215488: "a sum over a diagonal's columns without its rows",
}
FOUND_EVERY_DTYPE = {
    214: "a scalar temporary beside what is not stored, in a sparse result",
    1493: "the dtype of a product that an absent factor makes 0",
    600013: "the dtype of a sum from which an absent term is left out",
}
FOUND_UNORDERED = {
    40172: "an operand in no order beside a workspace in order",
    40613: "an operand in no order in a sum that its fill value adds to",
    41234: "the same, below another one",
    1265659: "a product with the complex number 1",
    90594068031398672: "a place to prefetch in a level that gives slots",
}


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_stage_agrees_with_dense_numpy(seed):
    refusal(random_question(seed), check_stages)


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_stage_agrees_in_every_dtype(seed):
    refusal(random_question(seed, every_dtype=True), check_stages)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_operands_in_no_order(seed):
    refusal(random_question(seed, unordered=True), check_stages)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_stage_agrees_with_dense_numpy_in_slices(seed):
    refusal(batched_question(seed), check_stages)


# In ranges, which share the time between workers.
@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 12_000, 250))
def test_every_stage_agrees_with_dense_numpy_many(first):
    for seed in range(first, first + 250):
        refusal(random_question(seed), check_stages)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20_000, 20_600, 200))
def test_operands_in_no_order_many(first):
    for seed in range(first, first + 200):
        refusal(random_question(seed, unordered=True), check_stages)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(30_000, 30_600, 200))
def test_every_stage_agrees_with_dense_numpy_in_slices_many(first):
    for seed in range(first, first + 200):
        refusal(batched_question(seed), check_stages)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_legal_schedules_by_hand_change_no_result(seed):
    question = scheduled(random_question(seed), seed)
    if question.schedule is not None:
        refusal(question, check_stages)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    make=st.sampled_from([masked_question, semiring_question, window_question]),
)
def test_legal_schedules_of_masks_semirings_and_windows_change_no_result(seed, make):
    question = scheduled(make(seed), seed)
    if question.schedule is not None:
        refusal(question, check_stages)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_legal_schedules_of_products_change_no_result(seed):
    question = scheduled(random_product(seed), seed)
    assert question.schedule is not None
    check_stages(question)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_loops_over_positions_change_no_result(first):
    for seed in range(first, first + 20):
        check_stages(position_question(seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", [60])
def test_loops_over_positions_change_no_result_many(first):
    questions = [position_question(seed) for seed in range(first, first + 400)]
    for question in questions:
        check_stages(question)
    text = " ".join(str(question.schedule) for question in questions)
    # In chunks of equal entries, of blocks, and on one thread.
    assert text.count("parallelize") > 120
    assert text.count("split") > 120
    assert sum(q.format is not None and not q.format.is_dense for q in questions) > 20


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 250, 250))
def test_legal_schedules_of_products_change_no_result_many(first):
    names = set()
    for seed in range(first, first + 250):
        question = scheduled(random_product(seed), seed)
        check_stages(question)
        names |= {str(c).partition("(")[0] for c in question.schedule.commands}
        names |= {a for c in question.schedule.commands for a in c.arguments[-1:]}
    every = "reorder split accumulate tile pack precompute fuse prefetch unroll"
    assert names >= {*every.split(), "vectorize", "parallelize", "rows", "merge"}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 250, 250))
def test_legal_schedules_by_hand_change_no_result_many(first):
    questions = [scheduled(random_question(s), s) for s in range(first, first + 250)]
    taken = [q for q in questions if q.schedule is not None]
    for question in taken:
        refusal(question, check_stages)
    assert len(taken) > 120
    assert sum(len(question.schedule.commands) for question in taken) > 200


@pytest.mark.slow
@pytest.mark.parametrize("make", [masked_question, semiring_question, window_question])
def test_legal_schedules_of_masks_semirings_and_windows_change_no_result_many(make):
    taken = [scheduled(make(seed), seed) for seed in range(120)]
    for question in taken:
        refusal(question, check_stages)
    assert sum(question.schedule is not None for question in taken) > 60


@pytest.mark.parametrize(
    ("make", "seed"),
    [
        # A loop over the positions of a mask, inside of a sum.
        (masked_question, 300122),
        (masked_question, 400264),
        # Fused loops around an operand in a window.
        (window_question, 900016),
        (window_question, 900083),
    ],
)
def test_schedules_that_were_refused_in_no_way_once(make, seed):
    refusal(scheduled(make(seed), seed), check_stages)


@pytest.mark.parametrize("seed", FOUND, ids=lambda seed: f"{seed}")
def test_problems_that_were_wrong_once(seed):
    assert refusal(random_question(seed), check_stages) is None


@pytest.mark.parametrize("seed", FOUND_EVERY_DTYPE, ids=lambda seed: f"{seed}")
def test_problems_of_every_dtype_that_were_wrong_once(seed):
    assert refusal(random_question(seed, every_dtype=True), check_stages) is None


@pytest.mark.parametrize("seed", FOUND_UNORDERED, ids=lambda seed: f"{seed}")
def test_problems_of_operands_in_no_order_that_were_wrong_once(seed):
    assert refusal(random_question(seed, unordered=True), check_stages) is None


def test_a_part_of_slices_is_computed_first_as_a_whole():
    # Too many operands meet, and the parts have slices.
    assert refusal(batched_question(30473), check_stages) is None


def test_most_problems_are_answered():
    answers = [refusal(random_question(s), check_stages) for s in range(200)]
    assert sum(answer is not None for answer in answers) < 20


def compiled(seeds, make=random_question, **options):
    """Check problems through compiled kernels, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        questions = [make(seed, **options) for seed in seeds]
        return list(pool.map(lambda q: refusal(q, check_dispatch), questions))


def test_compiled_kernels_agree_with_dense_numpy():
    assert compiled(range(100, 124)).count(None) > 18


def test_compiled_kernels_agree_in_every_dtype():
    assert compiled(range(100, 124), every_dtype=True).count(None) > 14


def test_compiled_kernels_agree_with_dense_numpy_by_schedules():
    questions = [scheduled(random_question(s), s) for s in range(100, 116)]
    taken = [q for q in questions if q.schedule is not None]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda q: refusal(q, check_dispatch), taken))
    assert len(taken) > 5


def test_compiled_kernels_agree_with_dense_numpy_in_slices():
    assert compiled(range(200, 208), batched_question).count(None) > 5


@pytest.mark.slow
def test_compiled_kernels_agree_with_dense_numpy_many():
    assert compiled(range(1000, 1050)).count(None) > 38


@pytest.mark.slow
def test_compiled_kernels_agree_in_every_dtype_many():
    assert compiled(range(1420, 1460), every_dtype=True).count(None) > 25


@pytest.mark.slow
def test_compiled_kernels_agree_with_dense_numpy_in_slices_many():
    assert compiled(range(1000, 1040), batched_question).count(None) > 28
