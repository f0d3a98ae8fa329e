"""The ledger as a result: each hypothesis with its verdict, and p-values corrected for its family.

A family is all tests on one dataset from one source. Results from here are corrected together with
every comparison of two runs that somebody viewed here. Every result counts, also a second one of
the same hypothesis; a comparison with a result counts once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from core.base.result import Figure, Table, inline
from core.base.texts import estimate_text, quantity_text
from core.features.experiments.comparison_log import LookedAt, p_of, pair_of_entry
from core.features.experiments.ledger_table import HERE, PUBLISHED, Entry
from core.stats.intervals import Z95
from core.stats.multiplicity import adjust
from core.stats.power import LEVEL

LATE = "registered after its result could be seen"
NOTHING_LOOKED_AT: LookedAt = MappingProxyType({})


_SHOWN = {  # column → field of an entry
    "tested": "name_b",
    "against": "name_a",
    "measured on": "measured_on",
    "leaderboard": "public",
    "dataset": "dataset",
    "source": "source",
}


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One result, or a registration without one. p, p_holm, p_bh: NaN without a result. tests: in
    its family. again: whether there is an earlier result."""

    entry: Entry = inline()
    p: float = math.nan
    p_holm: float = math.nan
    p_bh: float = math.nan
    tests: int = 0
    again: bool = False
    json_properties = ("words", "survives_holm")

    @property
    def survives_holm(self) -> bool | None:
        """Whether the difference is above 0 after Holm's correction; None without a test."""
        return None if self.entry.z is None else self.entry.z > 0 and self.p_holm < LEVEL

    @property
    def words(self) -> str:
        """The verdict with the remarks that must accompany it."""
        verdict = self.entry.verdict or "no result yet"
        remarks = {
            "not after Holm's correction": (
                verdict.startswith("confirmed") and not self.survives_holm
            ),
            LATE: self.entry.seen_before,
            "not its first result": self.again,
        }
        return ", ".join([verdict, *(words for words, holds in remarks.items() if holds)])

    def row(self) -> dict[str, Any]:
        """Return the line as a row of a table."""
        entry, difference = self.entry, None
        if entry.estimate is not None:
            low, high = (math.nan if end is None else end for end in (entry.low, entry.high))
            difference = estimate_text(entry.estimate, low, high, "+.3f")
        p = {"p": self.p, "p (Holm)": self.p_holm, "p (BH)": self.p_bh}
        return {
            **{"hypothesis": entry.name, "verdict": self.words, "difference": difference},
            **{"z": entry.z, "detectable": entry.detectable},
            **{name: quantity_text(value) for name, value in p.items()},
            **{title: getattr(entry, name) for title, name in _SHOWN.items()},
        }

    def claim(self) -> dict[str, Any]:
        """Return what was claimed, by which rule, and who wrote it, as a row of a table."""
        columns = (
            "hypothesis",
            "prediction",
            "metric",
            "smallest_effect",
            "note",
            "author",
            "code_version",
        )
        values = {name.replace("_", " "): getattr(self.entry, name) or None for name in columns}
        at = self.entry.written_at
        return {"name": self.entry.name, **values, "written": at and f"{at:%Y-%m-%d %H:%M}"}


@dataclass(frozen=True, slots=True)
class LedgerResult:
    """Every hypothesis with its verdict and its corrected p, in the order of writing."""

    hypotheses: tuple[LedgerLine, ...]
    title = "Ledger of hypotheses"
    scope = (
        "p corrected for all results of a source and dataset, and for every comparison that was"
        " looked at here"
    )

    @property
    def sentence(self) -> str:
        """What survives in each family, and what has no result yet."""
        families: dict[str, list[LedgerLine]] = defaultdict(list)
        for line in self.hypotheses:
            where = f", {line.entry.dataset}" if line.entry.dataset else ""
            families[f"{line.entry.source.capitalize()}{where}"].append(line)
        sentences = [
            sentence for family, lines in families.items() for sentence in _sentences(family, lines)
        ]
        return " ".join(sentences) or "No hypothesis is in the ledger."

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is no test of a prediction, and what is no claim."""
        published = [line.entry for line in self.hypotheses if line.entry.source == PUBLISHED]
        names = {
            f"{LATE.capitalize()}, so not a test of a prediction": [
                line.entry.name for line in self.hypotheses if line.entry.seen_before
            ],
            "Below what a leaderboard shows with 80% power, so these are not claims": [
                entry.name
                for entry in published
                if abs(entry.estimate or math.inf) < (entry.detectable or 0)
            ],
            "Only z is known, because the score compared with was not published": [
                entry.name for entry in published if entry.estimate is None
            ],
        }
        return tuple(f"{words}: {', '.join(about)}." for words, about in names.items() if about)

    def tables(self) -> tuple[Table, ...]:
        """Return the hypotheses, the scores in order, then what was claimed."""
        rows, claims = (
            tuple(line.row() for line in self.hypotheses),
            tuple(line.claim() for line in self.hypotheses),
        )
        tables = (
            Table("Hypotheses", rows, ("z",)),
            Table("Scores in order", self.steps()),
            Table("Claims", claims),
        )
        return tuple(table for table in tables if table.rows)

    def figure(self) -> Figure | None:
        """Return the scores in order, with the noise of one score."""
        steps = self.steps()
        return (
            Figure(
                "core.features.experiments.plots:draw_scores",
                {"steps": steps},
                self.sentence,
            )
            if steps
            else None
        )

    def steps(self) -> tuple[dict[str, Any], ...]:
        """Return the scores of the longest series of results on the same rows, in order, after the
        score that the first was compared with."""
        series: dict[Any, list[Entry]] = defaultdict(list)
        for entry in (line.entry for line in self.hypotheses if line.entry.score_b is not None):
            series[
                entry.source, entry.dataset, entry.measured_on, entry.scored, entry.metric
            ].append(entry)
        results = max(series.values(), key=len, default=[])
        steps = [
            {
                "step": entry.name,
                "score": entry.score_b,
                "half width": None if entry.score_se is None else Z95 * entry.score_se,
                "rows": entry.n,
                "verdict": entry.verdict,
            }
            for entry in results
        ]
        if results and results[0].score_a:
            steps.insert(
                0,
                {
                    **steps[0],
                    "step": results[0].name_a,
                    "score": results[0].score_a,
                    "verdict": None,
                },
            )
        return tuple(steps)


def _sentences(family: str, lines: Sequence[LedgerLine]) -> Iterator[str]:
    tested = [line for line in lines if line.entry.z is not None]
    survivors = ", ".join(
        f"{line.entry.name} (p {quantity_text(line.p)}, after Holm {quantity_text(line.p_holm)})"
        for line in tested
        if line.survives_holm
    )
    if tested:
        start = (
            f"{family}: of {len(tested)} result{'s' * (len(tested) > 1)}, Holm's correction leaves"
        )
        yield f"{start} {survivors or 'none'}."
    waiting = ", ".join(line.entry.name for line in lines if line.entry.kind == "registration")
    if waiting:
        yield f"{family}: no result yet of {waiting}."


def ledger_of(entries: Sequence[Entry], looked: LookedAt = NOTHING_LOOKED_AT) -> LedgerResult:
    """Return the ledger of entries in the order of writing: a line for each result, and for each
    hypothesis without one."""
    results = [entry for entry in entries if entry.kind == "result"]
    first = {entry.about: entry for entry in reversed(results)}
    lines = [
        LedgerLine(entry)
        for entry in entries
        if entry.z is None and first.get(entry.about, entry) == entry
    ]
    families: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in (entry for entry in results if entry.z is not None):
        families[entry.source, entry.dataset or ""].append(entry)
    for (source, dataset), tested in families.items():
        viewed = looked.get(dataset, {}) if source == HERE else {}
        recorded = set(map(pair_of_entry, tested))
        p = [*map(p_of, tested), *(p for pair, p in viewed.items() if pair not in recorded)]
        for entry, value in zip(tested, adjust(p), strict=False):
            lines.append(
                LedgerLine(
                    entry,
                    value.p,
                    value.holm,
                    value.benjamini_hochberg,
                    len(p),
                    entry != first[entry.about],
                )
            )
    return LedgerResult(tuple(sorted(lines, key=lambda line: line.entry.position)))
