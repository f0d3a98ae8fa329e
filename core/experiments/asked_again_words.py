"""What asking about a row again shows, in words and as JSON: the change beside the noise, and what so few askings can show."""

from __future__ import annotations

import math
from typing import Any

from core.evidence.changed_cards import describe_changes
from core.experiments.asked_again import QUESTIONS, AnswerChange, AskedAgain
from core.stats.power import LEVEL
from core.texts import number_text


def points_text(change: float) -> str:
    """A change of a probability in percentage points, with its sign; an en dash if it is unknown."""
    return "–" if math.isnan(change) else f"{number_text(100 * change, '+.1f')} points"


def _percent(p: float) -> str:
    return "–" if math.isnan(p) else f"{100 * p:.0f}%"


def _mean(values: Any) -> float:
    return float(values.mean()) if len(values) else math.nan


def who_sentence(found: AskedAgain) -> str:
    """Who was asked, how often, and about what."""
    who = "The judge alone, on the stored briefs," if found.judge_alone else "The whole debate"
    repeats = f"{found.repeats} time{'s' * (found.repeats != 1)}"
    unread = f" {found.unread:,} answer{'s' * (found.unread != 1)} could not be read." if found.unread else ""
    return f"{who} was asked again {repeats} about {found.pair_id} in {found.of.name}.{unread}"


def noise_sentence(each: AnswerChange) -> str:
    """What asking again with nothing changed brings for one number."""
    if not len(each.again):
        return f"{each.name}: no answer could be read."
    low, high = each.again.min(), each.again.max()
    spread = f", standard deviation {number_text(100 * each.spread, '.1f')} points" if not math.isnan(each.spread) else ""
    stands = f"stands at {_percent(each.stands)}; " if not math.isnan(each.stands) else ""
    return f"{each.name} {stands}asked again with nothing changed: {_percent(low)} to {_percent(high)}{spread}."


def change_sentence(each: AnswerChange) -> str:
    """How far the changed dossier moves one number, and whether that lies outside of what asking again brings."""
    if not len(each.changed) or not len(each.again):
        return f"{each.name}: one side has no answer that could be read, so there is no change to show."
    moved = (
        f"{each.name} moves from {_percent(_mean(each.again))} to {_percent(_mean(each.changed))} ({points_text(each.change)})"
    )
    sizes = f"{len(each.changed)} against {len(each.again)} askings"
    if not each.can_show:
        least = number_text(len(QUESTIONS) * each.test.smallest_p, ".2f")
        return f"{moved}. {sizes} can show no change at {LEVEL:.0%}, however large: p is {least} at least. Ask more often."
    p = f"p {number_text(each.test.p, '.3f')}, after Holm over both numbers {number_text(each.p_holm, '.3f')}"
    if each.is_outside:
        return f"{moved}: outside of what asking again brings ({p}; {sizes})."
    return f"{moved}: inside of what asking again brings ({p}; {sizes}), so it is no sign that the change matters."


def power_sentence(found: AskedAgain) -> str:
    """What so few askings can show, and what they would miss; "" where they can show nothing, or the spread is not known."""
    known = [each for each in found.answers if each.can_show and not math.isnan(each.detectable)]
    parts = [f"{number_text(100 * each.detectable, '.0f')} points of {each.name}" for each in known]
    if not parts:
        return ""
    return f"With this noise a true change of about {' or '.join(parts)} would show 4 times in 5; smaller ones are often missed."


def again_lines(found: AskedAgain) -> list[str]:
    """The whole report as lines."""
    lines = [who_sentence(found), *map(noise_sentence, found.answers)]
    if found.changed is not None:
        title = f"Dossier {describe_changes(found.changes)}:"
        lines += [title, *map(change_sentence, found.answers), *filter(None, (power_sentence(found), LIMITS))]
    tokens = "unknown" if found.tokens is None else f"{found.tokens:,}"
    return [*lines, f"Tokens: {tokens}."]


LIMITS = (
    "This is about one row and one change. Of many cards that are tried one by one, some fall outside by chance; attribute, on "
    "the page Evidence, tests the tools over many rows."
)


def again_json(found: AskedAgain) -> dict[str, Any]:
    """`again`: both numbers with every asking, the test, and the runs."""
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
