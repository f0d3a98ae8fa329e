"""The probes of a run: whether it may have seen labels, or copies the baselines without biology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.base.result import HIDDEN
from core.base.texts import NO_BIOLOGY, estimate_text
from core.features.leakage.run_probe import RunProbe, Tail, probe_run
from core.scoring.controls import COUNT_ONLY, RARER_GENE
from core.scoring.run_scores import Headline, RunRows, RunScore, count_rows
from core.stats.intervals import Interval
from core.stats.official_score import ScoreIntervals
from core.stats.row_changes import Agreement, agreement
from core.stats.scores_and_labels import scores_from_probabilities
from core.store.runs import Run

DISGUISE = 0.9  # |Spearman| above which a run ranks rows as a count control does
LEAST_ROWS = 20  # among fewer, chance or a good run gives such values
# A high score never proves that labels were seen, because a model may be that good. So it is not a
# finding.
SUSPICION: Mapping[Tail, str] = MappingProxyType(
    {"labels": "suspiciously good", "inverted labels": "suspiciously wrong"}
)
DOUBT: Mapping[Tail, str] = MappingProxyType(
    {
        "labels": (
            "It has seen labels, or is better than any published run: its scores cannot decide this"
        ),
        "inverted labels": (
            "It has seen inverted labels, or its numbers or the labels have the wrong sign"
        ),
    }
)


@dataclass(frozen=True, slots=True)
class RunCheck:
    """One run: its score, and for each split the rank correlation with count-only (de) and with
    rarer gene (up).

    headline: the number that it is judged by, of either question; probes: DE and DIR.
    """

    run: Run = field(metadata=HIDDEN)
    score: ScoreIntervals = field(metadata=HIDDEN)
    headline: Headline = field(metadata=HIDDEN)
    probes: Mapping[str, RunProbe]
    likeness: Mapping[str, Agreement]
    json_properties = ("name",)

    @property
    def name(self) -> str:
        """The run's name."""
        return self.run.name

    @property
    def findings(self) -> list[str]:
        """The findings as sentences."""
        return [*self._label_sentences(), *self._likeness_sentences()]

    def _label_sentences(self) -> Iterator[str]:
        values = {"DE": self.headline.de, "DIR": self.headline.dir}
        metric = "macro AUROC by gene " if self.headline.genes else ""
        for name, probe in self.probes.items():
            if tail := probe.tail(*_limits(values[name])):
                found = estimate_text(*_limits(values[name]))
                yield (
                    f"{SUSPICION[tail]}: {name} {metric}{found} on {probe.n:,} labelled rows, and"
                    " among genes and perturbations of equal rates too; scored:"
                    f" {self.score.scored}. {DOUBT[tail]}"
                )
            elif tail := probe.edge_tail:
                yield (
                    f"{SUSPICION[tail]} at its ends: {name} {probe.edge:.3f} among the rows that it"
                    f" ranks highest and lowest, of about equal rates. {DOUBT[tail]}"
                )

    def _likeness_sentences(self) -> Iterator[str]:
        for split, found in self.likeness.items():
            for control, number, n, spearman in (
                (COUNT_ONLY, "P(DE)", found.n, found.de),
                (RARER_GENE, "P(up | DE)", found.n_up, found.up),
            ):
                if n >= LEAST_ROWS and abs(spearman) > DISGUISE:
                    yield (
                        f"the {NO_BIOLOGY} ({control}) posing as a model: {number} ranks the {n:,}"
                        f" rows of {split} by how often their genes were measured (rank correlation"
                        f" {spearman:+.2f})"
                    )


def check_run(rows: RunRows, score: RunScore) -> RunCheck:
    """Return the check of a run with the score of all of its rows."""
    known, split = rows.frame["p_de"].notna().to_numpy(), rows.frame["split"].to_numpy()
    run = scores_from_probabilities(rows.frame["p_de"].fillna(0.0), rows.frame["p_up_given_de"])
    counts = count_rows(rows).scores
    chosen = {str(name): known & (split == name) for name in dict.fromkeys(split)}
    de, direction = rows.arrays.tasks()
    return RunCheck(
        rows.run,
        score.whole,
        score.headline,
        {
            "DE": probe_run(de, rows.pert, rows.gene),
            "DIR": probe_run(direction, rows.pert, rows.gene),
        },
        {name: agreement(run.take(some), counts.take(some)) for name, some in chosen.items()},
    )


def _limits(value: Interval) -> tuple[float, float, float]:
    """Return the estimate and its limits; an AUROC of exactly 0 or 1 has no interval, and is its
    own limits."""
    if value.estimate in (0.0, 1.0):
        return value.estimate, value.estimate, value.estimate
    return value.ends
