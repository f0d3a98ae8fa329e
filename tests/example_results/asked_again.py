"""A row asked again: with a change that matters for one number, with too few askings, and with nothing changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from core.base.result import Result
from core.features.asking.changed_cards import CardChange
from core.features.asking.result import RowAskedAgain, compare_answers


def examples() -> Sequence[Result]:
    again = {"P(DE)": (0.61, 0.58, 0.6, 0.63, 0.59), "P(up | DE)": (0.31, 0.35, 0.29, 0.3)}
    changed = {"P(DE)": (0.41, 0.42, 0.44, 0.4, 0.39), "P(up | DE)": (0.3, 0.36, 0.33, 0.3, 0.28)}
    nothing = {"P(DE)": (), "P(up | DE)": ()}
    few = {name: answers[:2] for name, answers in again.items()}
    stands = {"P(DE)": 0.6, "P(up | DE)": math.nan}
    changes = (
        CardChange("gene_class", "Rpl3"),
        CardChange("base_rates", "*|Atf3", "base rates: unknown"),
    )
    answers = compare_answers(stands, again, changed)
    found = RowAskedAgain("argued", "Rpl3_Atf3", True, 5, changes, answers, 1, "a1", "b2", 12_345)
    too_few = replace(
        found,
        repeats=2,
        answers=compare_answers(stands, few, changed),
        judge_only=False,
        tokens=None,
    )
    alone = replace(
        found,
        changes=(),
        answers=compare_answers(stands, again, nothing),
        changed_run=None,
        unread=0,
    )
    return (
        found,
        too_few,
        alone,
        replace(alone, answers=compare_answers(stands, nothing, nothing), unread=10),
    )
