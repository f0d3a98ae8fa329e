"""Read the ledger: each hypothesis with its verdict, and p-values corrected for all tests of its family.

A family is all tests on one dataset from one source. Results from here are corrected together with every comparison of two runs
that somebody viewed here; results published elsewhere are corrected together. Every result counts, also a second one for the
same hypothesis. A comparison with a result counts once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import pandas as pd

from core.experiments.decision import ALPHA, Decision
from core.stats.intervals import Z95, Interval
from core.stats.multiplicity import AdjustedP, adjust, p_value
from core.store.hypotheses import HERE, Entry

ON_LABELS, ON_PUBLIC = "labelled rows", "public leaderboard"  # the rows behind a result

Family = tuple[str, str | None]
Pair = tuple[str, str]  # ids of two runs, in alphabetical order
LookedAt = Mapping[str, Mapping[Pair, float]]  # dataset name → pair → p of the mean, for every viewed pair
NOTHING_LOOKED_AT: LookedAt = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One result, or a registration without a result.

    registration: the first entry with the rule; None without a registration. adjusted: p-values, None without a result. tests:
    number in the family. again: whether the hypothesis had an earlier result.
    """

    entry: Entry
    registration: Entry | None
    adjusted: AdjustedP | None
    tests: int
    again: bool = False

    @property
    def survives(self) -> bool:
        """Whether the difference is above 0 by its interval and after Holm's correction."""
        return self.adjusted is not None and self.adjusted.holm < ALPHA and _is_above(self.entry)

    @property
    def seen_before(self) -> bool:
        """Whether the hypothesis was registered after its result could be seen."""
        return bool(self.entry.seen_before) or bool(self.registration is not None and self.registration.seen_before)


def family_of(entry: Entry) -> Family:
    """Return the family of an entry."""
    return entry.source, entry.dataset


def pair_of(a: str, b: str) -> Pair:
    """Return the ids of two runs in alphabetical order, whichever is the baseline."""
    return (a, b) if a <= b else (b, a)


def pair_of_arms(benchmark: str, a: str, b: str) -> Pair:
    """Return the pair of two arms, which have many runs."""
    return pair_of(f"{benchmark}: {a}", f"{benchmark}: {b}")


def results_here(entries: Sequence[Entry], dataset: str) -> list[Entry]:
    """Return the results with a p that were recorded here on this dataset."""
    return [one for one in entries if family_of(one) == (HERE, dataset) and one.kind == "result" and one.z is not None]


def pairs_in_ledger(results: Sequence[Entry]) -> dict[Pair, float]:
    """Return the last p of each compared pair: the mean of two runs, or two arms of a benchmark."""
    found: dict[Pair, float] = {}
    for one in results:
        if one.benchmark and one.name_a and one.name_b:
            found[pair_of_arms(one.benchmark, one.name_a, one.name_b)] = p_of(one)
        elif one.run_a and one.run_b and one.metric in (None, "mean"):
            found[pair_of(one.run_a, one.run_b)] = p_of(one)
    return found


def p_of(entry: Entry) -> float:
    """Return the two-sided p of a result."""
    assert entry.z is not None
    return p_value(Interval(entry.z, math.nan, math.nan, 1.0, entry.n or 0, "row", "z", degrees=entry.df))


def ledger_lines(entries: Sequence[Entry], looked: LookedAt = NOTHING_LOOKED_AT) -> list[LedgerLine]:
    """Return the lines of a ledger; entries: in the order of writing.

    A hypothesis keeps the position of its first entry.
    """
    by_first: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_first[entry.first].append(entry)
    adjusted, sizes = _adjust_p_values(entries, looked)
    lines = []
    for about in by_first.values():
        registration = next((entry for entry in about if entry.kind == "registration"), None)
        results = [entry for entry in about if entry.kind == "result"]
        for place, entry in enumerate(results or about[:1]):
            found = adjusted.get(entry.id)
            lines.append(LedgerLine(entry, registration, found, sizes.get(family_of(entry), 0), place > 0))
    return lines


def line_of_benchmark(lines: Sequence[LedgerLine], name: str) -> LedgerLine | None:
    """Return the last line on the hypothesis registered by a benchmark; None if it registered none."""
    return next((line for line in reversed(lines) if line.entry.benchmark == name), None)


def _adjust_p_values(entries: Sequence[Entry], looked: LookedAt) -> tuple[dict[str, AdjustedP], dict[Family, int]]:
    families: dict[Family, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind == "result" and entry.z is not None:
            families[family_of(entry)].append(entry)
    found: dict[str, AdjustedP] = {}
    sizes: dict[Family, int] = {}
    for family, tested in families.items():
        source, dataset = family
        seen, recorded = looked.get(dataset or "", {}) if source == HERE else {}, pairs_in_ledger(tested)
        others = [p for pair, p in seen.items() if pair not in recorded]
        p_values = adjust([*map(p_of, tested), *others])
        found |= {entry.id: p for entry, p in zip(tested, p_values, strict=False)}
        sizes[family] = len(p_values)
    return found, sizes


def _is_above(entry: Entry) -> bool:
    """Return whether the recorded interval is above 0; where only the z is known, that of the z."""
    if entry.estimate is None:
        return entry.z is not None and entry.z > Z95
    return entry.low is not None and entry.low > 0


Step = tuple[str, float | None, float | None, str | None, int | None]
HISTORY = ("step", "label", "score", "low", "high", "verdict", "is_best", "n")


def score_histories(lines: Sequence[LedgerLine]) -> dict[tuple[str, str, str, str], pd.DataFrame]:
    """Return the scores of all trials, in the order of the ledger, one table for each (source, dataset, measured on, metric).

    Columns: HISTORY. The first step is the baseline of the first result. low, high: 1.96 standard errors of one score, NaN if
    unknown. is_best: whether every earlier score was lower. Scores on different rows are in different tables.
    """
    groups: dict[tuple[str, str, str, str], list[LedgerLine]] = defaultdict(list)
    for line in lines:
        entry = line.entry
        if entry.kind == "result" and entry.score_b is not None:
            where = f"{entry.measured_on}, {entry.scored}" if entry.scored else str(entry.measured_on)
            groups[entry.source, entry.dataset or "", where, entry.metric or "mean"].append(line)
    return {key: _history(found) for key, found in groups.items()}


def _history(lines: Sequence[LedgerLine]) -> pd.DataFrame:
    first = lines[0].entry
    before: Step = (first.name_a or "before", first.score_a, first.score_se, None, first.n)
    steps = [before] if first.score_a is not None else []
    steps += [(line.entry.name, line.entry.score_b, line.entry.score_se, line.entry.verdict, line.entry.n) for line in lines]
    table = pd.DataFrame(steps, columns=["label", "score", "se", "verdict", "n"])
    half = Z95 * table["se"].astype(float)
    best = table["score"].cummax().shift()
    return table.assign(
        step=range(len(table)), low=table["score"] - half, high=table["score"] + half, is_best=~(table["score"] <= best)
    )[list(HISTORY)]


def with_result(entry: Entry, change: Interval, decision: Decision) -> Entry:
    """Return the entry as a result, with the measured difference and the decision."""
    return replace(
        entry,
        kind="result",
        estimate=change.estimate,
        low=_none_if_nan(change.low),
        high=_none_if_nan(change.high),
        se=_none_if_nan(change.se),
        df=change.df if math.isfinite(change.df) else None,
        z=change.estimate / change.se if change.se > 0 else None,
        n=change.n or None,
        detectable=_none_if_nan(decision.detectable),
        verdict=decision.verdict,
        reason=decision.reason,
    )


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
