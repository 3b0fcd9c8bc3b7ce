"""Several tasks on several threads."""

import threading

import pytest

from sparray._kernels.together import run_together


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_the_order_of_the_tasks(workers):
    done = []
    tasks = [lambda n=n: n * n for n in range(7)]
    assert run_together(tasks, workers, done.append) == [n * n for n in range(7)]
    assert done == [1, 2, 3, 4, 5, 6, 7]


def test_no_task_is_no_work():
    assert run_together([], 4) == []


def test_tasks_run_at_the_same_time():
    both = threading.Barrier(2, timeout=30)
    assert sorted(run_together([both.wait, both.wait], 2)) == [0, 1]


def test_the_first_error_is_raised_and_ends_the_work():
    ran = []

    def fail():
        raise ValueError("here")

    tasks = [fail, *[lambda: ran.append(1)] * 3]
    with pytest.raises(ValueError, match="here"):
        run_together(tasks, 1)
    assert ran == []
