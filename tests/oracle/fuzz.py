"""Check random problems at every stage: ``python tests/oracle/fuzz.py --first 5 100``.

Prints each problem that is wrong, or refused in a way that no test expects; to be kept,
its seed goes into ``FOUND`` of ``tests/compiler/test_oracle.py``.
"""

import argparse
import sys

from batched_problems import batched_question
from masked_problems import masked_question
from oracle_check import check_stages, refusal
from oracle_problems import random_question
from position_problems import position_question
from random_schedules import scheduled
from semiring_problems import semiring_question
from window_problems import window_question


def main() -> int:
    """Check the seeds that the command line names; return 1 if one was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, help="how many seeds to check")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    parser.add_argument(
        "--every-dtype", action="store_true", help="of every dtype, not of some"
    )
    parser.add_argument(
        "--batched", action="store_true", help="with slices as outermost levels"
    )
    parser.add_argument("--windows", action="store_true", help="with windows")
    parser.add_argument("--masked", action="store_true", help="with masks")
    parser.add_argument("--semirings", action="store_true", help="over semirings")
    parser.add_argument("--unordered", action="store_true", help="operands in no order")
    parser.add_argument("--scheduled", action="store_true", help="schedules by hand")
    parser.add_argument(
        "--positions", action="store_true", help="loops over positions, by hand"
    )
    given = parser.parse_args()
    wrong = 0
    for seed in range(given.first, given.first + given.count):
        if given.batched:
            question = batched_question(seed, every_dtype=given.every_dtype)
        elif given.positions:
            question = position_question(seed)
        elif given.masked:
            question = masked_question(seed)
        elif given.semirings:
            question = semiring_question(seed)
        elif given.windows:
            question = window_question(seed)
        else:
            question = random_question(
                seed, every_dtype=given.every_dtype, unordered=given.unordered
            )
        try:
            if given.scheduled:
                question = scheduled(question, seed)
            refusal(question, check_stages)
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {type(error).__name__}: {error}\n{question}\n")
    print(f"{given.count} problems, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
