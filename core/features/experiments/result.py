"""The result of an experiment: every arm against the base, the base asked again, pairs of arms, and
one verdict rule.

A change is paired, on the same rows. "lower" and "higher" need p after Holm's correction over the
arms; a difference that is not significant is never called none. A sentence about two arms rests on
the difference of these two, after Holm over such pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.base.experiment import Measure, Metric
from core.base.result import Figure, Table, hidden
from core.base.texts import estimate_text, number_text
from core.stats.comparison import Verdict, verdict_of
from core.stats.delong import Estimate
from core.stats.multiplicity import holm, p_value
from core.stats.power import LEVEL, detectable_difference

METRICS: dict[Metric, str] = {"de": "DE", "dir": "DIR", "mean": "mean of DE and DIR"}
MOST_ALIKE = 3  # arms that cannot be distinguished from the base and have a sentence each


@dataclass(frozen=True, slots=True, eq=False)
class ArmResult:
    """One arm against the base. de, dir, mean: its own scores. delta_de, delta_dir, delta_mean:
    minus the base's, paired.

    moved: mean |Δ| of its answers from the base's, and floor: the same of the base asked again, on
    the same rows; None where scores are compared. p: two-sided of the deciding change, of |Δ|
    one-sided; p_holm: over the arms. rows_needed: how many would decide an undecided change. note:
    a remark for people. is_base: the base itself, which has no change.
    """

    name: str
    change: str
    n: int
    scored: str
    de: Estimate | None = None
    dir: Estimate | None = None
    mean: Estimate | None = None
    delta_de: Estimate | None = None
    delta_dir: Estimate | None = None
    delta_mean: Estimate | None = None
    moved: Estimate | None = None
    floor: Estimate | None = None
    p: float = math.nan
    p_holm: float = math.nan
    verdict: Verdict | None = None
    rows_needed: int | None = None
    runs: tuple[str, ...] = ()
    note: str = ""
    is_base: bool = False

    def deciding(self, metric: Metric, of: str = "delta_") -> tuple[Metric, Estimate] | None:
        """Return a metric with its change (of "": with the arm's own score); the only metric that
        is defined if that one is not."""
        names: tuple[Metric, ...] = (metric, "de", "dir")
        values: list[tuple[Metric, Estimate | None]] = [
            (name, getattr(self, of + name)) for name in names
        ]
        known = ((name, each) for name, each in values if each and not math.isnan(each.value))
        return next(known, None)

    def delta(self, metric: Metric) -> Estimate | None:
        """Return the change that decides."""
        deciding = self.deciding(metric)
        return deciding and deciding[1]

    @property
    def is_shown(self) -> bool:
        """Whether the arm differs from the base after Holm's correction."""
        return self.p_holm <= LEVEL


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Arm a minus arm b, paired, in the deciding metric. p_holm: over the contrasts."""

    a: str
    b: str
    change: Estimate
    p: float
    p_holm: float

    @property
    def sentence(self) -> str:
        """What the difference says of the two."""
        return _compared(self.a, self.b, self.change, self.p_holm)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseFloor:
    """The base asked again: the change of its scores, and mean |Δ| of its answers. seeds: how
    often, with the first."""

    seeds: int
    delta_de: Estimate | None = None
    delta_dir: Estimate | None = None
    delta_mean: Estimate | None = None
    moved: Estimate | None = None

    @property
    def sentence(self) -> str:
        """How much asking again changes."""
        parts = [
            ("answers move by", self.moved, ".3f"),
            ("the mean changes by", self.delta_mean, "+.3f"),
        ]
        known = [
            f"{words} {estimate_text(*each.ends, form)}"
            for words, each, form in parts
            if each is not None
        ]
        return f"Asking the base again: {', '.join(known)}." if known else ""


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentResult:
    """What an experiment found. kind: as commands name it. remarks: what its kind says before it is
    trusted.

    n, n_labelled, left_out: rows compared, those with a label, and those without an answer in some
    arm. details: a further table of the kind, with its title. is_computed: no arm asks a model, so
    that doing it again changes nothing. Without an arm that is the base, no change is judged.
    """

    kind: str
    name: str
    question: str
    dataset: str
    arms: tuple[ArmResult, ...]
    noise_floor: NoiseFloor | None
    measure: Measure
    metric: Metric
    smallest_effect: float
    n: int
    n_labelled: int
    contrasts: tuple[Contrast, ...] = ()
    left_out: int = 0
    remarks: tuple[str, ...] = ()
    details: tuple[Table, ...] = field(default=())
    is_computed: bool = False
    own_sentence: str = hidden(default="")
    json_properties = ("verdict",)

    @property
    def sentence(self) -> str:
        """The result in plain words: the arms that differ from the base, those that cannot be
        distinguished, then the pairs; without a base the score of each arm."""
        pairs = [each.sentence for each in self.contrasts]
        return " ".join(filter(None, (*self._arm_sentences(), *pairs, self.own_sentence)))

    @property
    def title(self) -> str:
        """The question."""
        return self.question

    verdict = sentence  # its name in the contract of the commands

    @property
    def scope(self) -> str:
        """Which rows count, and how they are scored."""
        labelled = "" if self.measure == "answers" else f", {self.n_labelled:,} labelled"
        scored = {arm.scored for arm in self.arms if arm.scored}
        how = f", scored {scored.pop()}" if len(scored) == 1 else ""
        base = [f", against {arm.name}" for arm in self.arms if arm.is_base]
        return f"{self.n:,} rows of {self.dataset}{labelled}{how}{base[0] if base else ''}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before trusting it."""
        left = (
            f"{self.left_out:,} rows without an answer in every arm are left out."
            if self.left_out
            else ""
        )
        noise = self.noise_floor.sentence if self.noise_floor else ""
        if not self.noise_floor and not self.is_computed:
            base = next((arm.name for arm in self.arms if arm.is_base), "the base")
            noise = f"{base} was not asked again: how much asking again changes is unknown."
        return tuple(filter(None, (noise, left, *self.remarks)))

    def tables(self) -> tuple[Table, ...]:
        """Return the arms, the pairs of arms, and the kind's own table."""
        arms = Table("Arms", tuple(map(self._row, self.arms)), ("Δ DE", "Δ DIR", "Δ mean"))
        pairs = Table(
            "Pairs of arms",
            tuple(
                {
                    "arm": each.a,
                    "minus": each.b,
                    "difference": each.change,
                    "p": _known(each.p),
                    "p (Holm)": _known(each.p_holm),
                }
                for each in self.contrasts
            ),
            ("difference",),
        )
        return (arms, *([pairs] if self.contrasts else []), *self.details)

    def figure(self) -> Figure | None:
        """Return the arms' changes or scores, or their |Δ| beside asking again."""
        values = {
            "arms": self.arms,
            "measure": self.measure,
            "metric": self.metric,
            "smallest_effect": self.smallest_effect,
        }
        drawn = [
            each
            for arm in self.arms
            for each in (arm.moved, arm.de, arm.dir, arm.mean)
            if each is not None
        ]
        return (
            Figure("core.features.experiments.plots:draw_arms", values, self.sentence)
            if drawn
            else None
        )

    def _arm_sentences(self) -> list[str]:
        if not any(arm.is_base for arm in self.arms):
            scores = [(arm.name, arm.deciding(self.metric, of="")) for arm in self.arms]
            return [
                f"{name}: {METRICS[score[0]]} {estimate_text(*score[1].ends)}."
                for name, score in scores
                if score is not None
            ]
        tested = [arm for arm in self.arms if not arm.is_base]
        alike = [arm for arm in tested if not math.isnan(arm.p_holm) and not arm.is_shown]
        listed = alike if len(alike) > MOST_ALIKE else []
        sentence_of = _moved_sentence if self.measure == "answers" else self._score_sentence
        sentences = [sentence_of(arm) for arm in tested if arm not in listed]
        if listed:
            least = min(listed, key=lambda arm: arm.p)
            names = ", ".join(arm.name for arm in listed if arm is not least)
            sentences.append(f"{sentence_of(least)} With a larger p: {names}.")
        return sentences

    def _score_sentence(self, arm: ArmResult) -> str:
        deciding = arm.deciding(self.metric)
        if deciding is None:
            return f"{arm.name}: no score can be compared with the base's."
        is_worth = arm.verdict == "confirmed"
        worth = f", by at least the {self.smallest_effect:g} that matters" if is_worth else ""
        metric, change = deciding
        sentence = _compared(arm.name, "the base", change, arm.p_holm, worth, f"{METRICS[metric]} ")
        if arm.rows_needed is not None:
            sentence += f" About {arm.rows_needed:,} rows would decide."
        return sentence

    def _row(self, arm: ArmResult) -> dict[str, Any]:
        own = {"DE": arm.de, "DIR": arm.dir, "mean": arm.mean}
        deltas = {"Δ DE": arm.delta_de, "Δ DIR": arm.delta_dir, "Δ mean": arm.delta_mean}
        moved = (
            {"|Δ|": arm.moved, "|Δ| asked again": arm.floor} if self.measure == "answers" else {}
        )
        p = {"p": _known(arm.p), "p (Holm)": _known(arm.p_holm)}
        return {
            "arm": arm.name,
            "rows": arm.n,
            **moved,
            **own,
            **deltas,
            **p,
            "note": arm.note or None,
        }


def _compared(
    a: str, b: str, change: Estimate, p_holm: float, worth: str = "", metric: str = ""
) -> str:
    """Return what the change of a against b says of the two."""
    text = f"{metric}{estimate_text(*change.ends, '+.3f')}"
    if math.isnan(p_holm):
        return f"{a} and {b} cannot be compared, for want of an interval: {text}."
    if p_holm > LEVEL:
        return f"{a} cannot be distinguished from {b}: {text}."
    return f"{a} scores {'lower' if change.value < 0 else 'higher'} than {b}{worth}: {text}."


def rows_that_decide(change: Estimate, smallest_effect: float) -> int:
    """Return how many rows detect the smallest effect with 80% power, where perturbations and genes
    grow with them. The noise of cuts and seeds, which does not shrink, counts as that of rows."""
    detectable = detectable_difference(change.shown.se, df=max(change.shown.df, 1.0))
    return math.ceil(change.n * (detectable / smallest_effect) ** 2)


def _moved_sentence(arm: ArmResult) -> str:
    if arm.moved is None or arm.floor is None:
        return f"{arm.name}: no row has only readable answers."
    moved, floor = (estimate_text(*each.ends) for each in (arm.moved, arm.floor))
    p = number_text(arm.p_holm, ".4f")
    moves = "moves" if arm.is_shown else "is not shown to move"
    return (
        f"{arm.name} {moves} the answers more than asking again: |Δ| {moved} against {floor}, p"
        f" after Holm {p}."
    )


def _known(p: float) -> float | None:
    return None if math.isnan(p) else p


def judge_arms(
    arms: Sequence[ArmResult], metric: Metric, smallest_effect: float
) -> tuple[ArmResult, ...]:
    """Return arms with their p, their p after Holm over all of them, and the verdict on a change of
    the score.

    An arm whose |Δ| was tested keeps its p. The base is not tested.
    """
    changes = [arm.delta(metric) for arm in arms]
    p = [
        arm.p if arm.is_base or arm.moved is not None or change is None else p_value(change.shown)
        for arm, change in zip(arms, changes, strict=True)
    ]
    judged = []
    for arm, own, after, change in zip(arms, p, holm(p), changes, strict=True):
        verdict = None if change is None else verdict_of(change.shown, smallest_effect)
        is_open = verdict == "undecided" and change is not None and change.shown.se > 0
        rows = rows_that_decide(change, smallest_effect) if is_open and change else None
        judged.append(replace(arm, p=own, p_holm=float(after), verdict=verdict, rows_needed=rows))
    return tuple(judged)


def judge_contrasts(changes: Sequence[tuple[str, str, Estimate]]) -> tuple[Contrast, ...]:
    """Return pairs of arms (a, b, a - b) with their p after Holm over all pairs."""
    p = [
        math.nan if math.isnan(change.value) else p_value(change.shown) for _, _, change in changes
    ]
    return tuple(
        Contrast(a, b, change, own, float(after))
        for (a, b, change), own, after in zip(changes, p, holm(p), strict=True)
    )
