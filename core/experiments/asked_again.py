"""Ask about one row again: compare the change of the answers by a changed dossier with the change by asking again.

Every repeat is one asking: P(DE) and P(up | DE) under its own seeds. An exact permutation test of the difference of means
compares the askings with the changed dossier with the askings with the original one. Each of the two numbers has a p, with Holm
over both. The run's own answer is shown too, but counts on neither side: it is a single asking.

The result is given in words and as JSON: the change, the noise, and the smallest change that so few askings can show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.errors import StateError
from core.evidence.changed_cards import CardChange, describe_changes, read_changes
from core.hashes import sha256_of
from core.stats.arrays import Floats
from core.stats.exact_permutation import PermutationTest, permutation_test
from core.stats.multiplicity import holm
from core.stats.power import LEVEL, POWER, detectable_difference
from core.store import predictions, runs, traces
from core.store.connection import Cursor
from core.store.runs import Run
from core.texts import number_text
from core.types import ASKED_AGAIN

QUESTIONS = {"P(DE)": "de", "P(up | DE)": "dir"}  # → the stage of the debate with the answer
COLUMNS = {"P(DE)": "p_de", "P(up | DE)": "p_up_given_de"}
LEAST_READ = 2  # fewest askings on a side, for a spread


@dataclass(frozen=True, slots=True, eq=False)
class AnswerChange:
    """One number of the row.

    stands: as in the run, NaN if unknown. again, changed: of each asking with the original dossier and with the changed one;
    unreadable answers are left out, and changed is empty without a change. p_holm: over both numbers. detectable: the true
    change that this many askings with this noise would show 4 times in 5, at 5% over both numbers, by Student's t; NaN without
    a spread.
    """

    name: str
    stands: float
    again: Floats
    changed: Floats
    test: PermutationTest
    p_holm: float
    detectable: float

    @property
    def change(self) -> float:
        """The change of the mean answer by the changed dossier."""
        return self.test.difference

    @property
    def spread(self) -> float:
        """The standard deviation of asking again with nothing changed; NaN with one answer."""
        return float(self.again.std(ddof=1)) if len(self.again) >= LEAST_READ else math.nan

    @property
    def is_outside(self) -> bool:
        """Whether the change exceeds that of asking again, at 5% over both numbers."""
        return self.p_holm <= LEVEL

    @property
    def can_show(self) -> bool:
        """Whether this many askings can show any change: twice the test's smallest p is at most 5%."""
        return len(QUESTIONS) * self.test.smallest_p <= LEVEL


@dataclass(frozen=True, slots=True, eq=False)
class AskedAgain:
    """The result for one row. of: the run that was asked again. judge_alone: whether its stored briefs were judged again.
    unchanged, changed: the runs; changed is None and changes is empty if only the original was asked again. unread: number of
    unreadable answers. tokens: of both runs, None if unknown.
    """

    of: Run
    pair_id: str
    judge_alone: bool
    repeats: int
    changes: tuple[CardChange, ...]
    unchanged: Run
    changed: Run | None
    answers: tuple[AnswerChange, ...]
    unread: int
    tokens: int | None


def is_asked_again(run: Run, of: str, pair_id: str) -> bool:
    """Return whether a run asks only about this row of the run with the id `of` again."""
    return run.method == ASKED_AGAIN and run.parents == (of,) and run.spec.get("rows_sha256") == sha256_of(pair_id)


def changes_of(run: Run) -> tuple[CardChange, ...]:
    """Return the changes of the dossier in a run that asks again."""
    return read_changes(str(run.spec["options"]["changes"]))


def find_unchanged(asked: Iterable[Run], changed: Run) -> Run | None:
    """Return the run that asks the same with the original dossier; None if there is none."""
    key = _key_without_changes(changed)
    return next((run for run in asked if not run.spec["options"]["changes"] and _key_without_changes(run) == key), None)


def _key_without_changes(run: Run) -> dict[str, Any]:
    options = {name: value for name, value in run.spec["options"].items() if name != "changes"}
    return {**run.spec, "options": options}


def pair_askings(asked: Sequence[Run]) -> list[tuple[Run, Run | None]]:
    """Return the runs about one row as (unchanged, changed), in the order given.

    A change without its counterpart is left out. An unchanged run that is not a counterpart is returned alone.
    """
    partner = {each.id: find_unchanged(asked, each) for each in asked if each.spec["options"]["changes"]}
    used = {each.id for each in partner.values() if each is not None}
    found: list[tuple[Run, Run | None]] = []
    for each in asked:
        unchanged = partner.get(each.id)
        if unchanged is not None:
            found.append((unchanged, each))
        elif each.id not in partner and each.id not in used:
            found.append((each, None))
    return found


def report_again(db: Cursor, pair_id: str, unchanged: str, changed: str | None = None) -> AskedAgain:
    """Report on two runs that asked about a row again, or on the unchanged one alone.

    unchanged, changed: ids. Raise StateError if a run is not done or could not ask.
    """
    made = [runs.find(db, run) for run in (unchanged, changed) if run is not None]
    asked = [answers_of_row(db, run, pair_id) for run in made]
    first, last = made[0], made[-1] if changed is not None else None
    of, options = runs.find(db, first.parents[0]), first.spec["options"]
    stands = predictions.row(db, of.id, pair_id)
    answers = compare_answers(stands, asked[0], asked[1] if last is not None else None)
    counts = [run.tokens for run in made]
    tokens = None if any(count is None for count in counts) else sum(count or 0 for count in counts)
    unread = sum(int(np.isnan(values).sum()) for each in asked for values in each.values())
    judge_alone = options["ask"] == "judge"
    changes = () if last is None else changes_of(last)
    return AskedAgain(of, pair_id, judge_alone, options["repeats"], changes, first, last, answers, unread, tokens)


def answers_of_row(db: Cursor, run: Run, pair_id: str) -> dict[str, Floats]:
    """Return P(DE) and P(up | DE) of each asking, of shape (repeats,), from `answers_by_repeat`."""
    row = predictions.row(db, run.id, pair_id) if run.status == "done" else None
    if row is None or row["error"]:
        why = f"failed: {row['error']}" if row is not None else f"is {run.status}"
        raise StateError(f"run {run.name}: {why}, so there is no answer to compare; expected a finished run: use `jobs retry`")
    return answers_by_repeat(traces.of_row(db, run.id, pair_id), run.spec["options"]["repeats"])


def answers_by_repeat(events: Sequence[Mapping[str, Any]], repeats: int) -> dict[str, Floats]:
    """Return P(DE) and P(up | DE) → the mean over each repeat's readable verdicts; NaN without any.

    events: the fields of `TraceEvent`, meta a mapping.
    """
    found = {name: np.full(repeats, math.nan) for name in QUESTIONS}
    for name, stage in QUESTIONS.items():
        for repeat in range(1, repeats + 1):
            of_repeat = (e["meta"] for e in events if e["stage"] == stage and e["meta"].get("again") == repeat)
            read = [meta["p"] for meta in of_repeat if meta.get("p") is not None and not meta.get("fallback")]
            if read:
                found[name][repeat - 1] = np.mean(read)
    return found


def compare_answers(
    stands: Mapping[str, Any], again: Mapping[str, Floats], changed: Mapping[str, Floats] | None
) -> tuple[AnswerChange, ...]:
    """Return both numbers with their tests. stands: the row's prediction. again, changed: as in `answers_by_repeat`."""
    found = []
    for name in QUESTIONS:
        first = again[name][~np.isnan(again[name])]
        second = np.empty(0) if changed is None else changed[name][~np.isnan(changed[name])]
        value, test = stands[COLUMNS[name]], permutation_test(first, second)
        stood = math.nan if value is None else value
        found.append(AnswerChange(name, stood, first, second, test, test.p, _detectable(first, second)))
    adjusted = holm([each.test.p for each in found]) if changed is not None else [math.nan] * len(found)
    return tuple(replace(each, p_holm=float(p)) for each, p in zip(found, adjusted, strict=True))


def _detectable(again: Floats, changed: Floats) -> float:
    """Return the change that 80% of such experiments would show, for answers with the pooled spread of both sides."""
    sides = [side for side in (again, changed) if len(side) >= LEAST_READ]
    if len(sides) < 2:
        return math.nan
    df = sum(len(side) - 1 for side in sides)
    variance = sum(float(((side - side.mean()) ** 2).sum()) for side in sides) / df
    se = math.sqrt(variance * sum(1 / len(side) for side in sides))
    return detectable_difference(se, POWER, LEVEL / len(QUESTIONS), df)


def points_text(change: float) -> str:
    """Return a change of a probability in percentage points, with its sign; an en dash if unknown."""
    return "–" if math.isnan(change) else f"{number_text(100 * change, '+.1f')} points"


def _percent(p: float) -> str:
    return "–" if math.isnan(p) else f"{100 * p:.0f}%"


def _mean(values: Any) -> float:
    return float(values.mean()) if len(values) else math.nan


def who_sentence(found: AskedAgain) -> str:
    """Return a sentence on who was asked, how often, and about which row."""
    who = "Only the judge, on the stored briefs," if found.judge_alone else "The whole debate"
    repeats = f"{found.repeats} time{'s' * (found.repeats != 1)}"
    unread = f" {found.unread:,} answer{'s' * (found.unread != 1)} could not be read." if found.unread else ""
    return f"{who} was asked again {repeats} about {found.pair_id} in {found.of.name}.{unread}"


def noise_sentence(each: AnswerChange) -> str:
    """Return a sentence on one number when asking again without changes."""
    if not len(each.again):
        return f"{each.name}: no answer could be read."
    low, high = each.again.min(), each.again.max()
    spread = f", standard deviation {number_text(100 * each.spread, '.1f')} points" if not math.isnan(each.spread) else ""
    stands = f"stands at {_percent(each.stands)}; " if not math.isnan(each.stands) else ""
    return f"{each.name} {stands}asked again without changes: {_percent(low)} to {_percent(high)}{spread}."


def change_sentence(each: AnswerChange) -> str:
    """Return a sentence on the change of one number by the changed dossier, compared with asking again."""
    if not len(each.changed) or not len(each.again):
        return f"{each.name}: one side has no readable answer, so there is no change to show."
    moved = (
        f"{each.name} moves from {_percent(_mean(each.again))} to {_percent(_mean(each.changed))} ({points_text(each.change)})"
    )
    sizes = f"{len(each.changed)} against {len(each.again)} askings"
    if not each.can_show:
        least = number_text(len(QUESTIONS) * each.test.smallest_p, ".2f")
        return f"{moved}. {sizes} can show no change at {LEVEL:.0%}, however large: p is at least {least}. Ask more often."
    p = f"p {number_text(each.test.p, '.3f')}, after Holm over both numbers {number_text(each.p_holm, '.3f')}"
    if each.is_outside:
        return f"{moved}: outside the range of asking again ({p}; {sizes})."
    return f"{moved}: inside the range of asking again ({p}; {sizes}), so there is no sign that the change matters."


def power_sentence(found: AskedAgain) -> str:
    """Return a sentence on the changes that so few repeats can show; "" if they can show none or the spread is unknown."""
    known = [each for each in found.answers if each.can_show and not math.isnan(each.detectable)]
    parts = [f"{number_text(100 * each.detectable, '.0f')} points of {each.name}" for each in known]
    if not parts:
        return ""
    return f"With this noise a true change of about {' or '.join(parts)} would show 4 times in 5; smaller ones are often missed."


def again_lines(found: AskedAgain) -> list[str]:
    """Return the whole report as lines."""
    lines = [who_sentence(found), *map(noise_sentence, found.answers)]
    if found.changed is not None:
        title = f"Dossier {describe_changes(found.changes)}:"
        lines += [title, *map(change_sentence, found.answers), *filter(None, (power_sentence(found), LIMITS))]
    tokens = "unknown" if found.tokens is None else f"{found.tokens:,}"
    return [*lines, f"Tokens: {tokens}."]


LIMITS = (
    "This concerns one row and one change. If many cards are tested one by one, some are outside by chance. The page "
    "An experiment of the kind tools tests them over many rows."
)


def again_json(found: AskedAgain) -> dict[str, Any]:
    """Return the JSON `again`: both numbers with every asking, the test, and the runs."""
    return {
        "run": found.of.name,
        "row": found.pair_id,
        "judge_only": found.judge_alone,
        "repeats": found.repeats,
        "changes": [{"tool": each.tool, "key": each.key, "text": each.text} for each in found.changes],
        "answers": [_answer(each, is_tested=found.changed is not None) for each in found.answers],
        "unread": found.unread,
        "unchanged_run": found.unchanged.id,
        "changed_run": None if found.changed is None else found.changed.id,
        "tokens": found.tokens,
    }


def _answer(each: AnswerChange, *, is_tested: bool) -> dict[str, Any]:
    return {
        "name": each.name,
        "stands": each.stands,
        "unchanged": each.again.tolist(),
        "changed": each.changed.tolist() if is_tested else None,
        "sd": each.spread,
        "delta": each.change,
        "p": each.test.p,
        "p_holm": each.p_holm,
        "smallest_p": each.test.smallest_p,
        "detectable": each.detectable,
        "outside": each.is_outside if is_tested else None,
    }
