"""Rates of rubrics and the worth of arguments, in words and as the JSON of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from core.scoring import json_shapes
from core.scoring.rubric_rates import FEWEST_LABELS, RoleRates, RubricRates
from core.scoring.rubric_worth import MEASURES, RubricWorth
from core.scoring.sentences import axes_text, interval_text
from core.stats.group_contributions import GroupDifference
from core.stats.intervals import Interval
from core.texts import quantity_text, table_lines


def rate_lines(found: RubricRates, judge: str) -> list[str]:
    """Return the rates of every role as a table. judge: a description of the reader."""
    title = f"{found.answer}, read by {judge}; intervals {axes_text(found.whole.raw)}:"
    return [title, *table_lines(rates_table(found)), *filter(None, [kappa_sentence(found)])]


def rates_table(found: RubricRates) -> list[dict[str, str | int | None]]:
    """Return a line for each role: its texts, the rates of judge and people, and how well they agree."""
    return [
        {
            "role": role,
            "texts": each.n,
            "unread": each.unread or None,
            "with it": each.yes,
            "as judged": interval_text(each.raw),
            "labels": each.labels,
            "corrected": _text(each.corrected) or f"{each.missing:,} labels missing",
            "sensitivity": _text(each.sensitivity),
            "specificity": _text(each.specificity),
        }
        for role, each in found.roles.items()
    ]


def _text(value: Interval | None) -> str | None:
    return None if value is None else interval_text(value)


def kappa_sentence(found: RubricRates) -> str:
    """Return how far two readers agree; "" if no text was labelled by two."""
    return "" if found.kappa is None else f"Two readers of {found.twice:,} texts: Cohen's kappa {interval_text(found.kappa)}."


def quality_sentence(rates: RoleRates, judge: str, what: str, it: str) -> str:
    """Return how often a judge is right by people's labels; "" without labels. what, it: what it finds, named and again."""
    parts = []
    if rates.sensitivity is not None:
        parts.append(f"finds {what} in {interval_text(rates.sensitivity)} of the texts with {it} (sensitivity)")
    if rates.specificity is not None:
        parts.append(f"does not find {it} in {interval_text(rates.specificity)} of the others (specificity)")
    return f"By people's labels {judge} {' and '.join(parts)}." if parts else ""


def missing_text(rates: RoleRates) -> str:
    """Return why there is no corrected rate."""
    return f"no corrected rate: {rates.labels:,} of the {FEWEST_LABELS} labels that it takes, {rates.missing:,} more are missing"


def rates_shape(found: RubricRates) -> dict[str, Any]:
    """Return `rubric rate`: {"roles": {role: {"n", "yes", "rate", "corrected", "labels", …}}, "kappa"}."""
    return {
        "answer": found.answer,
        "roles": {role: _role_shape(each) for role, each in found.roles.items()},
        "kappa": _interval(found.kappa),
        "labelled_twice": found.twice,
    }


def _role_shape(rates: RoleRates) -> dict[str, Any]:
    return {
        "n": rates.n,
        "unread": rates.unread,
        "yes": rates.yes,
        "rate": _interval(rates.raw),
        "corrected": _interval(rates.corrected),
        "labels": rates.labels,
        "missing_labels": rates.missing,
        "power": rates.power,
        "sensitivity": _interval(rates.sensitivity),
        "specificity": _interval(rates.specificity),
    }


def _interval(value: Interval | None) -> dict[str, float] | None:
    return None if value is None else json_shapes.interval(value)


def worth_sentences(worth: RubricWorth) -> list[str]:
    """Return the worth of a rubric: the rows, one line per measure, and the conclusion."""
    where_yes, where_no = rows_text(worth)
    unread = f"; {worth.unread:,} rows without a readable text are left out" if worth.unread else ""
    lines = [f"{worth.rubric}: {worth.n_yes:,} {where_yes}, {worth.n_no:,} {where_no}{unread}."]
    for key, words in MEASURES.items():
        found, p = worth.measures[key], worth.p[key]
        lines.append(
            f"{words:16} {interval_text(found.yes.shown)} against {interval_text(found.no.shown)}: "
            f"{interval_text(found.change.shown, signed=True)}, p {quantity_text(p.p)}, Holm {quantity_text(p.holm)}"
        )
    return [*lines, conclusion(worth)]


def worth_summary(worth: RubricWorth) -> str:
    """Return which rows were compared, and the conclusion."""
    first, *_, last = worth_sentences(worth)
    return f"{first} {last}"


def rows_text(worth: RubricWorth) -> tuple[str, str]:
    """Describe the two groups of rows: "rows where at least one advocate argued it", "rows where none did"."""
    if worth.unit == "brief":
        return f"rows where at least one advocate's text is “{worth.answer}”", "rows where none is"
    if worth.unit in ("speech", "verdict"):
        return f"rows where at least one {worth.unit} is “{worth.answer}”", "rows where none is"
    return f"rows whose answer is “{worth.answer}”", "rows with another answer"


def conclusion(worth: RubricWorth) -> str:
    """Return which measures differ after the correction for all that was tried."""
    differing = [
        f"{'higher' if worth.measures[key].change.value > 0 else 'lower'} in {words}"
        for key, words in MEASURES.items()
        if worth.p[key].holm < 0.05
    ]
    if not differing:
        return "No difference remains after Holm's correction over all tests."
    return f"After Holm's correction over all tests, the rows with it are {' and '.join(differing)}."


def worth_shape(found: Sequence[RubricWorth]) -> dict[str, Any]:
    """Return `rubric worth`: {"rubrics": [{"rubric", "yes", "no", "delta", "p", "p_holm"}]}; for a single rubric, its keys."""
    shapes = [_one_worth(each) for each in found]
    return {**(shapes[0] if len(shapes) == 1 else {}), "rubrics": shapes}


def _one_worth(worth: RubricWorth) -> dict[str, Any]:
    sides = {side: _side(worth.measures.values(), side) for side in ("yes", "no", "change")}
    return {
        "rubric": worth.rubric,
        "answer": worth.answer,
        "yes": {"n": worth.n_yes, **sides["yes"]},
        "no": {"n": worth.n_no, **sides["no"]},
        "unread": worth.unread,
        "delta": sides["change"],
        "p": {key: p.p for key, p in worth.p.items()},
        "p_holm": {key: p.holm for key, p in worth.p.items()},
        "sentences": worth_sentences(worth),
    }


def _side(measures: Iterable[GroupDifference], side: str) -> dict[str, Any]:
    return {key: json_shapes.shape_shown(getattr(each, side)) for key, each in zip(MEASURES, measures, strict=True)}
