"""The ledger in words: confirmed, undetectable and too late registered hypotheses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from core.experiments.decision import ALPHA, METRICS, POWER
from core.experiments.ledger import ON_PUBLIC, Family, LedgerLine, family_of
from core.records import to_json
from core.stats.power import detectable_difference
from core.store.hypotheses import HERE, Entry
from core.texts import estimate_text, number_text, quantity_text

SEEN = "registered after its result was seen"
OPEN = "no result yet"
Z_DETECTABLE = detectable_difference(1.0, POWER, ALPHA)  # smallest detectable difference, in standard errors


def verdict_text(line: LedgerLine) -> str:
    """Return the verdict of a line, with the remarks that must accompany it."""
    entry = line.entry
    words = [entry.verdict or OPEN]
    if words[0].startswith("confirmed") and line.adjusted is not None and not line.survives:
        words.append("not after Holm's correction")
    if line.seen_before:
        words.append(SEEN)
    if line.again:
        words.append("not its first result")
    return ", ".join(words)


def result_text(entry: Entry) -> str:
    """Return the difference with its interval, in standard errors if nothing else is known."""
    if entry.estimate is not None and entry.low is not None and entry.high is not None:
        return estimate_text(entry.estimate, entry.low, entry.high, "+.3f")
    return "–" if entry.z is None else f"{number_text(entry.z, '+.1f')} standard errors"


def detectable_text(entry: Entry) -> str:
    """Return the smallest detectable difference, as a range if it was published as one."""
    if entry.detectable is None:
        return "–" if entry.z is None else f"{Z_DETECTABLE:.1f} standard errors"
    low = "" if entry.detectable_low is None else f"{entry.detectable_low:.3f}–"
    return f"{low}{entry.detectable:.3f}"


def compared_text(entry: Entry) -> str:
    """Return a text on the compared scores: b against a."""
    if entry.name_b is None:
        return "–"
    return f"{entry.name_b} against {entry.name_a or 'an unpublished score'}"


def benchmark_sentence(line: LedgerLine, name: str) -> str:
    """Return a sentence on the ledger's line for a benchmark's hypothesis."""
    found = f", {result_text(line.entry)}" if line.entry.kind == "result" else ""
    late = "" if line.seen_before else ", registered before its result"
    about = "its hypothesis" if line.entry.name == name else f"its hypothesis {line.entry.name}"
    return f"In the ledger, {about}: {verdict_text(line)}{found}{late}."


def rule_text(entry: Entry) -> str:
    """Describe the registered rule."""
    if entry.smallest_effect is None:
        return "none"
    metric = METRICS.get(entry.metric or "mean", "")
    return f"{metric}, level {entry.level}, by {entry.unit}, at least {entry.smallest_effect:+g}"


def summary_sentences(lines: Sequence[LedgerLine]) -> list[str]:
    """Summarise the ledger in sentences, one family after the other; empty for an empty ledger."""
    families: dict[Family, list[LedgerLine]] = defaultdict(list)
    for line in lines:
        families[family_of(line.entry)].append(line)
    return [sentence for family, found in families.items() for sentence in _family_sentences(family, found)]


def family_text(family: Family) -> str:
    """Return the name of a family, such as "Published elsewhere, challenge"."""
    source, dataset = family
    return f"{source[:1].upper()}{source[1:]}{f', {dataset}' if dataset else ''}"


def _family_sentences(family: Family, lines: Sequence[LedgerLine]) -> list[str]:
    tested = [line for line in lines if line.adjusted is not None]
    words = [_survivors(family, tested)] if tested else []
    below = [line for line in tested if _is_below(line.entry)]
    if below:
        words.append(_below_sentence(below))
    by_z = [f"{line.entry.name} {number_text(line.entry.z or 0, '+.1f')}" for line in tested if line.entry.estimate is None]
    if by_z:
        words.append(
            f"Only z is known, because their baselines were not published: {', '.join(by_z)}; "
            f"a difference of {Z_DETECTABLE:.1f} standard errors would be seen with 80% power."
        )
    late = [line.entry.name for line in lines if line.seen_before]
    if late:
        words.append(f"Registered after the result was seen, so not a test of a prediction: {', '.join(late)}.")
    waiting = [line.entry.name for line in lines if line.entry.kind == "registration"]
    if waiting:
        words.append(f"{family_text(family)}: no result yet of {', '.join(waiting)}.")
    return words


def _survivors(family: Family, tested: Sequence[LedgerLine]) -> str:
    named = [
        f"{line.entry.name} (p {quantity_text(line.adjusted.p)}, after Holm {quantity_text(line.adjusted.holm)}"
        f"{f', {SEEN}' if line.seen_before else ''})"
        for line in tested
        if line.adjusted is not None and line.survives
    ]
    s = "" if len(tested) == 1 else "s"
    start = f"{family_text(family)}: of {len(tested)} result{s}"
    if not named:
        return f"{start} none survives Holm's correction."
    return f"{start} {len(named)} {'survives' if len(named) == 1 else 'survive'} Holm's correction: {', '.join(named)}."


def _is_below(entry: Entry) -> bool:
    """Return whether a leaderboard difference is too small for the leaderboard to detect."""
    known = entry.estimate is not None and entry.detectable is not None
    return known and entry.measured_on == ON_PUBLIC and abs(entry.estimate or 0) < (entry.detectable or 0)


def _below_sentence(below: Sequence[LedgerLine]) -> str:
    rows = {line.entry.n for line in below if line.entry.n}
    where = f" ({next(iter(rows)):,} rows)" if len(rows) == 1 else ""
    named = [
        f"{line.entry.name} {number_text(line.entry.estimate or 0, '+.3f')} (detectable {detectable_text(line.entry)})"
        for line in below
    ]
    return f"Below what one leaderboard half{where} shows with 80% power, so these are not claims: {', '.join(named)}."


def ledger_table(lines: Sequence[LedgerLine]) -> list[dict[str, Any]]:
    """Return the ledger as texts and p-values."""
    return [_row(line) for line in lines]


def _row(line: LedgerLine) -> dict[str, Any]:
    entry, rule = line.entry, line.registration or line.entry
    p, holm, benjamini_hochberg = astuple(line.adjusted) if line.adjusted else (float("nan"),) * 3
    return {
        "hypothesis": entry.name,
        "verdict": verdict_text(line),
        "difference": result_text(entry),
        "detectable": detectable_text(entry),
        "p": p,
        "p (Holm)": holm,
        "p (BH)": benjamini_hochberg,
        "reason": entry.reason or "–",
        "claim": entry.hypothesis,
        "prediction": rule.prediction or "–",
        "rule": rule_text(rule),
        "compared": compared_text(entry),
        "measured on": " ".join(filter(None, (entry.measured_on, entry.scored and f"({entry.scored})"))) or "–",
        "source": entry.source,
        "dataset": entry.dataset or "–",
        "by": entry.author,
        "when": f"{entry.written_at:%Y-%m-%d %H:%M}" if entry.written_at else "–",
        "code": entry.code_version,
        "note": entry.note or "–",
    }


def line_record(line: LedgerLine) -> dict[str, Any]:
    """Return a line as plain values: the fields of its entry, its p-values, and its registration's rule and time."""
    p, holm, benjamini_hochberg = astuple(line.adjusted) if line.adjusted else (None,) * 3
    registration = line.registration
    rule = registration or line.entry
    return {
        **to_json(line.entry),
        "words": verdict_text(line),
        "prediction": rule.prediction,
        "rule": {key: getattr(rule, key) for key in ("metric", "level", "unit", "smallest_effect")},
        "p": p,
        "p_holm": holm,
        "p_bh": benjamini_hochberg,
        "tests": line.tests,
        "survives_holm": line.survives if line.adjusted else None,
        "seen_before": line.seen_before if line.entry.source == HERE else None,
        "registered": None if registration is None else str(registration.written_at),
    }
