"""The ledger as it is read: each hypothesis with its verdict, and p-values corrected for all that were tested beside it.

A family is what was tested on one dataset, from one source: results from here are corrected together, and those that were
published elsewhere together. Every result counts, also a second one of the same hypothesis: who looks twice pays twice.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from core.experiments.decision import ALPHA, Decision
from core.stats.intervals import Z95, Interval
from core.stats.multiplicity import AdjustedP, adjusted_p_values
from core.store.hypotheses import Entry

Family = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One result, or a registration that has none yet.

    registration: the first entry that states the rule; None where none was registered. adjusted: p-values, None without a
    result. tests: results in the family. again: whether the hypothesis had a result before this one.
    """

    entry: Entry
    registration: Entry | None
    adjusted: AdjustedP | None
    tests: int
    again: bool = False

    @property
    def survives(self) -> bool:
        """Whether the difference is above 0 after Holm's correction."""
        return self.adjusted is not None and self.adjusted.holm < ALPHA and (self.entry.z or 0) > 0

    @property
    def seen_before(self) -> bool:
        """Whether the hypothesis was registered after its result was there to see."""
        return bool(self.entry.seen_before) or bool(self.registration is not None and self.registration.seen_before)


def family_of(entry: Entry) -> Family:
    """What an entry is corrected together with."""
    return entry.source, entry.dataset


def ledger_lines(entries: Sequence[Entry]) -> list[LedgerLine]:
    """The lines of a ledger; entries: in the order in which they were written. A hypothesis stands where it was first named."""
    by_first: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_first[entry.first].append(entry)
    adjusted, sizes = _adjusted_by_id(entries)
    lines = []
    for about in by_first.values():
        registration = next((entry for entry in about if entry.kind == "registration"), None)
        results = [entry for entry in about if entry.kind == "result"]
        for place, entry in enumerate(results or about[:1]):
            found = adjusted.get(entry.id)
            lines.append(LedgerLine(entry, registration, found, sizes.get(family_of(entry), 0), place > 0))
    return lines


def line_of_benchmark(lines: Sequence[LedgerLine], name: str) -> LedgerLine | None:
    """The last line about the hypothesis that a benchmark of this name registered; None if it registered none."""
    return next((line for line in reversed(lines) if line.entry.benchmark == name), None)


def _adjusted_by_id(entries: Sequence[Entry]) -> tuple[dict[str, AdjustedP], dict[Family, int]]:
    families: dict[Family, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind == "result" and entry.z is not None:
            families[family_of(entry)].append(entry)
    found: dict[str, AdjustedP] = {}
    for tested in families.values():
        p_values = adjusted_p_values([_in_standard_errors(entry) for entry in tested])
        found |= {entry.id: p for entry, p in zip(tested, p_values, strict=True)}
    return found, {family: len(tested) for family, tested in families.items()}


def _in_standard_errors(entry: Entry) -> Interval:
    """The result of an entry with a standard error of 1, from which its p follows."""
    nan, clusters = math.nan, None if entry.df is None else int(entry.df) + 1
    assert entry.z is not None
    return Interval(entry.z, nan, nan, 1.0, entry.n or 0, "row", "z", clusters=clusters)


Step = tuple[str, float | None, float | None, str | None, int | None]
HISTORY = ("step", "label", "score", "low", "high", "verdict", "is_best", "n")


def score_histories(lines: Sequence[LedgerLine]) -> dict[tuple[str, str, str, str], pd.DataFrame]:
    """The scores of what was tried, in the order of the ledger, one table for each (source, dataset, measured on, metric).

    Columns: HISTORY. The first step is the score that the first result was compared with. low, high: 1.96 standard errors of
    one score, NaN if unknown. is_best: whether no earlier score was as high. Scores on different rows share no table.
    """
    groups: dict[tuple[str, str, str, str], list[Entry]] = defaultdict(list)
    for line in lines:
        entry = line.entry
        if entry.kind == "result" and entry.score_b is not None:
            where = f"{entry.measured_on}, {entry.scored}" if entry.scored else str(entry.measured_on)
            groups[entry.source, entry.dataset or "", where, entry.metric or "mean"].append(entry)
    return {key: _history(entries) for key, entries in groups.items()}


def _history(entries: Sequence[Entry]) -> pd.DataFrame:
    first = entries[0]
    before: Step = (first.name_a or "before", first.score_a, first.score_se, None, first.n)
    steps = [before] if first.score_a is not None else []
    steps += [(entry.name, entry.score_b, entry.score_se, entry.verdict, entry.n) for entry in entries]
    table = pd.DataFrame(steps, columns=["label", "score", "se", "verdict", "n"])
    half = Z95 * table["se"].astype(float)
    best = table["score"].cummax().shift()
    return table.assign(
        step=range(len(table)), low=table["score"] - half, high=table["score"] + half, is_best=~(table["score"] <= best)
    )[list(HISTORY)]


def with_result(entry: Entry, change: Interval, decision: Decision) -> Entry:
    """The entry as a result: the measured difference and the decision on it."""
    return replace(
        entry,
        kind="result",
        estimate=change.estimate,
        low=change.low,
        high=change.high,
        se=change.se,
        df=None if change.clusters is None else change.df,
        z=change.estimate / change.se if change.se else None,
        n=change.n or None,
        detectable=decision.detectable,
        verdict=decision.verdict,
        reason=decision.reason,
    )
