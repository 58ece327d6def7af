"""Answers of one process to many questions in several orders, against those of processes that answer one alone.

    python answers_in_order.py ORDERS < QUESTIONS

QUESTIONS is a JSON list of `{"folder": ..., "words": [...]}`. Prints a JSON object: how many answers were compared, and
what was not the same.
"""

from __future__ import annotations

import json
import os
import random
import sys
from typing import Any

from fresh_process import Answer, answer, in_a_fork


def _asked(questions: list[dict[str, Any]]) -> list[Answer]:
    found: list[Answer] = []
    for question in questions:
        os.chdir(question["folder"])
        found.append(answer(question["words"])[:3])
    return found


def differing(questions: list[dict[str, Any]], orders: int) -> dict[str, object]:
    """What is answered otherwise after other questions."""
    chance = random.Random(11)
    alone: list[Answer] = [in_a_fork(_asked, [question])[0] for question in questions]
    count = 0
    found: list[object] = []
    order = list(range(len(questions)))
    for turn in range(orders):
        chance.shuffle(order)
        after_others = in_a_fork(_asked, [questions[at] for at in order])
        count += len(order)
        print(turn, count, len(found), file=sys.stderr)
        found += [
            [turn, questions[at], alone[at], given]
            for at, given in zip(order, after_others, strict=True)
            if alone[at] != given
        ]
    return {"compared": count, "differing": found}


if __name__ == "__main__":
    print(json.dumps(differing(json.load(sys.stdin), int(sys.argv[1]))))
