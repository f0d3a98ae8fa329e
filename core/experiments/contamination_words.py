"""The result of a contamination experiment, in words and as JSON: the card of a run."""

from __future__ import annotations

import math
from typing import Any

from core.experiments.contamination import TITLES, WITHOUT_NAMES, ArmEffect, Contamination, why_unknown
from core.methods.coded_names import ALONE
from core.scoring import json_shapes
from core.scoring.sentences import TWO_WAY, interval_text, scored_text
from core.store.runs import Run
from core.texts import number_text

LIMITS = (
    "Coded names leave other hints in the texts: descriptions of a gene, and aliases that no imported pack lists (XCT, "
    "Arp2/3). A model may still recognise a gene by these. So a stable score does not rule out memory."
)


def unknown_lines(run: Run) -> list[str] | None:
    """Return sentences on what stays unknown about a run that cannot be asked again with other names; None if it can be asked."""
    why = why_unknown(run)
    if why is None:
        return None
    return [
        f"{run.name} ({run.method}, {run.origin}): {why}.",
        "Its texts can be read, but a brief that names a gene or quotes the dossier proves neither memory nor reading.",
    ]


def verdict_sentence(found: Contamination) -> str:
    """Return a sentence on whether the answers rest on names or on the dossier."""
    names, dossier = found.falls(*WITHOUT_NAMES), found.falls(ALONE)
    has_alone = any(each.arm == ALONE for each in found.arms)
    if names and dossier:
        return f"{found.spec.name} rests on names and on its dossier: its score falls without either."
    if names:
        rest = ", and does not fall on names alone" if has_alone else ""
        return f"{found.spec.name} rests on remembered names: its score falls without them{rest}."
    if dossier:
        return f"{found.spec.name} rests on its dossier: its score does not fall without names, but falls on names alone."
    known = [each.mean.detectable for each in found.arms if not math.isnan(each.mean.detectable)]
    if not known:
        return (
            f"{found.spec.name}: no change has an interval, so these rows say nothing about memory or reasoning; ask more rows."
        )
    least = max(known)
    return (
        f"{found.spec.name}: the score does not fall, with names or without; changes below about {number_text(least, '.3f')} "
        "would mostly be missed with these rows."
    )


def arm_sentence(each: ArmEffect) -> str:
    """Return a sentence on the fall of the score in one arm, also as a share of the run's score above chance."""
    mean, p = each.mean, number_text(each.p_holm, ".4f")
    change = interval_text(mean.change.shown, signed=True)
    scores = f"{number_text(mean.a.value, '.3f')} → {number_text(mean.b.value, '.3f')}"
    verdict = "falls" if each.falls else "no fall found"
    return f"{TITLES[each.arm]}: {scores}, change {change}, p after Holm {p}: {verdict}{_share_text(each)}{_leak_text(each)}."


def _share_text(each: ArmEffect) -> str:
    if each.share is None:
        return "; the original run is not above chance, so there is no share"
    share, low, high = (f"{value:.0%}".replace("-", "−") for value in each.share)
    return f"; {share} [{low} to {high}] of its score above chance is lost"


def _leak_text(each: ArmEffect) -> str:
    if each.leaks is None:
        return ""
    return f"; a symbol of the row occurs in {each.leaks:,} of {each.requests:,} requests"


def method_sentence(found: Contamination) -> str:
    """Return a sentence on the rows and the comparison."""
    first = found.arms[0].found
    n = first.covered.n_labelled
    return (
        f"{len(found.spec.rows):,} rows of {found.spec.name}, {n:,} of them labelled, {scored_text(first.scored)}; each arm "
        f"paired with the original run, {first.headline}, 95% intervals {TWO_WAY}, Holm over {len(found.arms)} arms."
    )


def contamination_lines(found: Contamination) -> list[str]:
    """Return the whole card as lines."""
    return [verdict_sentence(found), *map(arm_sentence, found.arms), method_sentence(found), LIMITS]


def contamination_json(found: Contamination) -> dict[str, Any]:
    """Return the whole card as plain data."""
    return {
        "run": found.spec.name,
        "known": True,
        "rows": len(found.spec.rows),
        "verdict": verdict_sentence(found),
        "arms": [_arm(each) for each in found.arms],
        "runs": {TITLES[arm]: run for arm, run in found.runs.items()},
        "limits": LIMITS,
    }


def _arm(each: ArmEffect) -> dict[str, Any]:
    mean = each.mean
    share = None if each.share is None else dict(zip(("estimate", "low", "high"), each.share, strict=True))
    return {
        "names": each.arm,
        "title": TITLES[each.arm],
        "as_it_is": mean.a.value,
        "score": mean.b.value,
        "change": json_shapes.interval(mean.change.shown),
        "p": None if math.isnan(each.p) else each.p,
        "p_holm": None if math.isnan(each.p_holm) else each.p_holm,
        "falls": each.falls,
        "share_of_score_above_chance": share,
        "requests": each.requests,
        "requests_with_a_symbol": each.leaks,
    }
