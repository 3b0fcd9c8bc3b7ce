"""Races by a clock that the calls themselves advance."""

from sparray.functions.race import race


class Clock:
    """A clock that stands still unless a call takes time."""

    now = 0.0
    calls = 0

    def __call__(self):
        return self.now

    def takes(self, *seconds):
        """Return a call that takes these times in turn."""
        number = 0

        def call():
            nonlocal number
            self.now += seconds[number % len(seconds)]
            number += 1
            call.count += 1

        call.count = 0
        return call


def test_medians_are_returned_in_the_order_of_the_calls():
    clock = Clock()
    calls = [clock.takes(3e-3), clock.takes(1e-3), clock.takes(2e-3, 2e-3, 90e-3)]
    slow, fast, uneven = race(calls, 1.0, clock)
    assert abs(slow - 3e-3) < 1e-9
    assert abs(fast - 1e-3) < 1e-9
    assert abs(uneven - 2e-3) < 1e-9


def test_the_slower_half_is_left_out():
    clock = Clock()
    calls = [clock.takes(n * 1e-3) for n in range(1, 9)]
    race(calls, 2.0, clock)
    counts = [call.count for call in calls]
    assert counts[0] > 20
    assert counts[-1] <= 6


def test_a_call_that_takes_the_whole_budget_runs_once():
    clock = Clock()
    endless, quick = clock.takes(100.0), clock.takes(1e-3)
    assert race([endless, quick], 1.0, clock)[0] == 100.0
    assert endless.count == 1
    assert quick.count == 2


def test_one_call_is_timed_too():
    clock = Clock()
    (time,) = race([clock.takes(1e-3)], 1.0, clock)
    assert abs(time - 1e-3) < 1e-9
