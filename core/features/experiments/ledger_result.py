"""The ledger as a result: each hypothesis with its verdict, and p-values corrected for its family.

A family is all tests on one dataset from one source. Results from here are corrected together with
every comparison of two runs that somebody viewed here. Every result counts, also a second one of the
same hypothesis; a comparison with a result counts once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from core.actions.comparison_log import LookedAt, p_of, pair_of_entry
from core.base.result import Figure, Table, fields_of
from core.stats.intervals import Z95
from core.stats.multiplicity import AdjustedP, adjust
from core.stats.power import LEVEL, detectable_difference
from core.store.hypotheses import HERE, Entry
from core.texts import estimate_text, quantity_text

ON_LABELS, ON_PUBLIC = "labelled rows", "public leaderboard"  # where a result was measured
LATE = "registered after its result could be seen"
Z_DETECTABLE = detectable_difference(1.0)  # in standard errors
NOTHING_LOOKED_AT: LookedAt = MappingProxyType({})
NOT_TESTED = AdjustedP(math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One result, or a registration without one.

    registration: the first entry with the rule; None of what was published without one. p: NaN
    without a result. tests: in its family. again: whether there is an earlier result.
    """

    entry: Entry
    registration: Entry | None
    p: AdjustedP = NOT_TESTED
    tests: int = 0
    again: bool = False

    @property
    def survives(self) -> bool:
        """Whether the difference is above 0 by its interval and after Holm's correction."""
        entry = self.entry
        low = entry.low if entry.z is None or entry.estimate is not None else entry.z - Z95
        return low is not None and low > 0 and self.p.holm < LEVEL

    @property
    def is_late(self) -> bool:
        """Whether the hypothesis was registered after its result could be seen."""
        return any(entry and entry.seen_before for entry in (self.entry, self.registration))

    @property
    def words(self) -> str:
        """The verdict with the remarks that must accompany it."""
        verdict = self.entry.verdict or "no result yet"
        remarks = {
            "not after Holm's correction": verdict.startswith("confirmed") and not self.survives,
            LATE: self.is_late,
            "not its first result": self.again,
        }
        return ", ".join([verdict, *(words for words, holds in remarks.items() if holds)])

    @property
    def json_value(self) -> dict[str, Any]:
        """The fields of the entry, its verdict in words, its p-values, and whether it was late."""
        return {
            **fields_of(self.entry),
            "words": self.words,
            "p": self.p.p,
            "p_holm": self.p.holm,
            "p_bh": self.p.benjamini_hochberg,
            "tests": self.tests,
            "survives_holm": None if self.entry.z is None else self.survives,
            "seen_before": self.is_late if self.entry.source == HERE else None,
            "registered": self.registration and self.registration.written_at,
        }

    def row(self) -> dict[str, Any]:
        """Return the line as a row of a table."""
        entry = self.entry
        low, high = (math.nan if end is None else end for end in (entry.low, entry.high))
        change = None if entry.estimate is None else estimate_text(entry.estimate, low, high, "+.3f")
        return {
            "hypothesis": entry.name,
            "verdict": self.words,
            "difference": change,
            "z": entry.z,
            "detectable": entry.detectable,
            "p": quantity_text(self.p.p),
            "p (Holm)": quantity_text(self.p.holm),
            "p (BH)": quantity_text(self.p.benjamini_hochberg),
            "tested": entry.name_b,
            "against": entry.name_a,
            "measured on": entry.measured_on,
            "dataset": entry.dataset,
            "source": entry.source,
        }


@dataclass(frozen=True, slots=True)
class LedgerResult:
    """Every hypothesis with its verdict and its corrected p, in the order of registration."""

    hypotheses: tuple[LedgerLine, ...]
    json_properties = ("sentences",)
    title = "Ledger of hypotheses"
    scope = "p corrected for all results of a source and dataset, and for every comparison that was looked at here"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What survives in each family, and what has no result yet."""
        families: dict[str, list[LedgerLine]] = defaultdict(list)
        for line in self.hypotheses:
            where = f", {line.entry.dataset}" if line.entry.dataset else ""
            families[f"{line.entry.source.capitalize()}{where}"].append(line)
        return tuple(sentence for family, lines in families.items() for sentence in _sentences(family, lines))

    @property
    def sentence(self) -> str:
        """The sentences of all families."""
        return " ".join(self.sentences) or "No hypothesis is in the ledger."

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is no test of a prediction, and what is no claim."""
        named = {
            f"{LATE.capitalize()}, so not a test of a prediction": [line.entry for line in self.hypotheses if line.is_late],
            "Below what a leaderboard shows with 80% power, so these are not claims": [
                line.entry for line in self.hypotheses if _is_below(line.entry)
            ],
            "Only z is known, because the score compared with was not published": [
                line.entry for line in self.hypotheses if line.entry.z and line.entry.low is None
            ],
        }
        return tuple(f"{words}: {', '.join(entry.name for entry in entries)}." for words, entries in named.items() if entries)

    def tables(self) -> tuple[Table, ...]:
        """Return the hypotheses, then the scores in order."""
        rows = tuple(line.row() for line in self.hypotheses)
        tables = Table("Hypotheses", rows, ("z",)), Table("Scores in order", self.steps())
        return tuple(table for table in tables if table.rows)

    def figure(self) -> Figure | None:
        """Return the scores in order, with the noise of one score."""
        steps = self.steps()
        draw = "core.plots.score_history:figure"
        return Figure(draw, {"steps": steps}, self.sentence) if steps else None

    def steps(self) -> tuple[dict[str, Any], ...]:
        """Return the scores of the longest series of results on the same rows, in order, after the
        score that the first was compared with."""
        series: dict[Any, list[Entry]] = defaultdict(list)
        for entry in (line.entry for line in self.hypotheses):
            if entry.kind == "result" and entry.score_b is not None:
                where = (entry.source, entry.dataset, entry.measured_on, entry.scored, entry.metric)
                series[where].append(entry)
        results = max(series.values(), key=len, default=[])
        start = [(each.name_a, each.score_a, None, each) for each in results[:1] if each.score_a]
        scores = [(each.name, each.score_b, each.verdict, each) for each in results]
        return tuple(
            {"step": name, "score": score, "half width": _half(each), "rows": each.n, "verdict": verdict}
            for name, score, verdict, each in (*start, *scores)
        )


def _half(entry: Entry) -> float | None:
    return None if entry.score_se is None else Z95 * entry.score_se


def _is_below(entry: Entry) -> bool:
    """Return whether a leaderboard difference is too small for the leaderboard to detect."""
    change, least = entry.estimate, entry.detectable
    known = change is not None and least is not None
    return known and entry.measured_on == ON_PUBLIC and abs(change or 0) < (least or 0)


def _sentences(family: str, lines: Sequence[LedgerLine]) -> Iterable[str]:
    tested = [line for line in lines if line.entry.z is not None]
    survivors = ", ".join(
        f"{line.entry.name} (p {quantity_text(line.p.p)}, after Holm {quantity_text(line.p.holm)})"
        for line in tested
        if line.survives
    )
    if tested:
        start = f"{family}: of {len(tested)} result{'s' * (len(tested) > 1)}, Holm's correction leaves"
        yield f"{start} {survivors or 'none'}."
    waiting = ", ".join(line.entry.name for line in lines if line.entry.kind == "registration")
    if waiting:
        yield f"{family}: no result yet of {waiting}."


def ledger_of(entries: Sequence[Entry], looked: LookedAt = NOTHING_LOOKED_AT) -> LedgerResult:
    """Return the ledger of entries in the order of writing: a line for each result, and for each
    hypothesis without one."""
    by_first: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_first[entry.first].append(entry)
    adjusted = adjust_entries(entries, looked)
    lines = []
    for about in by_first.values():
        registration = next((entry for entry in about if entry.kind == "registration"), None)
        results = [entry for entry in about if entry.kind == "result"]
        for i, entry in enumerate(results or about[:1]):
            p, tests = adjusted.get(entry.id, (NOT_TESTED, 0))
            lines.append(LedgerLine(entry, registration, p, tests, again=i > 0))
    return LedgerResult(tuple(lines))


def adjust_entries(entries: Iterable[Entry], looked: LookedAt) -> dict[str, tuple[AdjustedP, int]]:
    """Return the p-values of results by their ids, corrected over their family, with its size."""
    families: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind == "result" and entry.z is not None:
            families[entry.source, entry.dataset or ""].append(entry)
    adjusted: dict[str, tuple[AdjustedP, int]] = {}
    for (source, dataset), tested in families.items():
        viewed = looked.get(dataset, {}) if source == HERE else {}
        recorded = set(map(pair_of_entry, tested))
        p = [*map(p_of, tested), *(p for pair, p in viewed.items() if pair not in recorded)]
        for entry, value in zip(tested, adjust(p), strict=False):
            adjusted[entry.id] = value, len(p)
    return adjusted
