"""Measure the noise of a judge: the variance of answers when asked again, between rows and between methods, and the value of
seeds.

The variance of one answer has three parts: between seeds of one row (within rows), between the rows' mean answers, and between
the mean answers of methods about one row. From each part, the contribution of the earlier parts is subtracted. A part below 0
is set to 0. A score's squared error is the variance of its interval, for one asking. Averaging k seeds divides only the part
between seeds by k. The gain from averaging the answers themselves is measured by scoring their mean for every choice of k
askings, averaged over the choices.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from core.experiments.benchmark_report import ArmLoader
from core.experiments.paired_replicates import PairedReplicates, compare_replicates
from core.methods.base import WithoutModel, methods
from core.scoring.run_scores import RunRows
from core.stats.arrays import Floats
from core.stats.comparison import Comparison
from core.stats.official_score import point_values, score_of_rows
from core.stats.scores_and_labels import outcome_of, scores_from_probabilities
from core.store import runs as stored_runs
from core.store.runs import Run
from core.transfer.cuts import variances_between
from core.types import RANK_METHODS, Flag

SEEDS = (1, 2, 3, 5, 8)
ENOUGH = 1.05  # relative to the limit of the standard error for many seeds
METRICS = ("DE", "DIR", "mean")
QUESTIONS = {"P(DE)": "p_de", "P(up | DE)": "p_up_given_de"}
_UNREAD_DE = (Flag.DE_FALLBACK, Flag.UNIFORM, Flag.UNCOVERED, Flag.NOT_PREDICTED)
UNREAD = {"p_de": _UNREAD_DE, "p_up_given_de": (*_UNREAD_DE, Flag.DIR_FALLBACK, Flag.UNCOVERED_DIR)}
_MOST_GROUPS = 12
_MOST_CHOICES = 30  # most choices of k askings to score
_CHOICE_SEED = 0
_OF_A_SEED = ("seed", "repeat", "rows", "rows_sha256", "parents")  # keys of a specification that may differ between two askings


@dataclass(frozen=True, slots=True)
class AnswerVariance:
    """The variance of one answer, by source. methods: NaN with one method."""

    within_rows: float
    between_rows: float
    between_methods: float


@dataclass(frozen=True, slots=True)
class ScoreNoise:
    """The squared error of one asking's score, and its part from asking again; NaN without both classes."""

    variance: float
    of_seeds: float

    @property
    def share(self) -> float:
        """The share of the squared error that more seeds could remove, at most all of it."""
        return min(self.of_seeds / self.variance, 1.0) if self.variance > 0 else math.nan

    def se(self, seeds: float) -> float:
        """Return the expected standard error of a mean over this many seeds; for infinitely many, only the rows' error."""
        return math.sqrt(self.variance * (1 - self.share * (1 - 1 / seeds)))

    @property
    def enough(self) -> int | None:
        """The smallest of SEEDS with a standard error within 5% of the limit for many seeds; None if there is none, or if
        unknown.
        """
        return next((k for k in SEEDS if self.se(k) <= ENOUGH * self.se(math.inf)), None)


@dataclass(frozen=True, slots=True, eq=False)
class SeedNoise:
    """The result of asking again. asks: number of times that every row was asked. answers: P(DE) and P(up | DE) → their
    variance by source. scores: DE, DIR, mean → noise. tokens: of one asking of all rows, None if unknown. others: the other
    methods. averaged: k, from 1 → DE, DIR, mean of the mean answers of k askings. gain: the scores of the mean answers of all
    askings minus those of one asking; None with one.
    """

    rows: int
    asks: int
    answers: Mapping[str, AnswerVariance]
    scores: Mapping[str, ScoreNoise]
    tokens: float | None
    others: tuple[str, ...]
    averaged: Mapping[int, Mapping[str, float]]
    gain: Comparison | None

    @property
    def tokens_per_point(self) -> float:
        """The tokens per point (0.01) of the mean score gained by averaging all askings instead of one; NaN without a gain."""
        points = math.nan if self.gain is None else 100 * self.gain.mean.change.value
        return (self.asks - 1) * self.tokens / points if self.tokens is not None and points > 0 else math.nan


def describe_seeds(asks: Sequence[RunRows], others: Sequence[Sequence[RunRows]] = ()) -> SeedNoise:
    """Return the noise from askings of the same rows in the same order.

    others: askings of other methods, which call no model or were asked at least twice. Tokens are those of these rows. An
    unreadable answer counts in scores, not in variances.
    """
    answers = {
        name: answer_variance(
            [[read_answers(rows, column) for rows in asks], *([_values(rows, column) for rows in group] for group in others)]
        )
        for name, column in QUESTIONS.items()
    }
    names = tuple(group[0].run.name for group in others)
    gain = _gain(asks) if len(asks) > 1 else None
    return SeedNoise(len(asks[0]), len(asks), answers, score_noise(asks), _mean_tokens(asks), names, averaged_scores(asks), gain)


def _mean_tokens(asks: Sequence[RunRows]) -> float | None:
    """Return the tokens of one asking of all rows, the mean over askings; None if a row's tokens are unknown."""
    counts = np.concatenate([rows.frame["tokens"].to_numpy(dtype=np.float64, na_value=np.nan) for rows in asks])
    return None if np.isnan(counts).any() else float(counts.sum()) / len(asks)


def read_answers(rows: RunRows, column: str) -> Floats:
    """Return the answers of a run, NaN for an unreadable answer that another number replaces."""
    unread = [any(flag in flags for flag in UNREAD[column]) for flags in rows.frame["flags"]]
    return np.where(np.array(unread, dtype=np.bool_), np.nan, _values(rows, column))


def _values(rows: RunRows, column: str) -> Floats:
    return rows.frame[column].to_numpy(dtype=np.float64, na_value=np.nan)


def answer_variance(groups: Sequence[Sequence[Floats]]) -> AnswerVariance:
    """Return the components of the variance of one answer.

    groups: the askings of each method, arrays of shape (n_rows,); the first method is the one to measure. A method asked only
    once is assumed to answer the same again. Rows with a missing answer are left out. NaN if there are too few.
    """
    stacked = [np.stack(group) for group in groups]
    there = ~np.isnan(np.concatenate(stacked)).any(axis=0)
    stacked = [group[:, there] for group in stacked]
    if there.sum() < 2 or len(stacked[0]) < 2:
        return AnswerVariance(math.nan, math.nan, math.nan)
    means = np.stack([group.mean(axis=0) for group in stacked])
    left = np.array([_within(group) / len(group) for group in stacked])  # variance of asking in the mean of a row's answers
    rows = max(float(means[0].var(ddof=1)) - left[0], 0.0)
    between = max(float(means.var(axis=0, ddof=1).mean()) - float(left.mean()), 0.0) if len(means) > 1 else math.nan
    return AnswerVariance(_within(stacked[0]), rows, between)


def _within(group: Floats) -> float:
    return float(group.var(axis=0, ddof=1).mean()) if len(group) > 1 else 0.0


def score_noise(asks: Sequence[RunRows]) -> dict[str, ScoreNoise]:
    """Return the noise of DE, DIR and their mean. asks: on the same rows."""
    outcome = outcome_of(asks[0].labels)
    values = np.array([point_values(outcome, rows.scores, rows.cells) for rows in asks])
    of_seeds = variances_between(values) if len(asks) > 1 else np.full(3, math.nan)
    found = [score_of_rows(rows.arrays).parts for rows in asks]
    variances = [float(np.mean([parts[name].shown.se ** 2 for parts in found])) for name in METRICS]
    return {name: ScoreNoise(each, float(part)) for name, each, part in zip(METRICS, variances, of_seeds, strict=True)}


def averaged_scores(asks: Sequence[RunRows]) -> dict[int, dict[str, float]]:
    """Return k → DE, DIR and mean of the mean answers of k askings, averaged over the choices of k; asks: on the same rows.

    If there are more than 30 choices, 30 random ones are used.
    """
    outcome, rng = outcome_of(asks[0].labels), np.random.default_rng(_CHOICE_SEED)
    found = {}
    for k in range(1, len(asks) + 1):
        means = [average_answers([asks[i] for i in chosen]) for chosen in _choices(len(asks), k, rng)]
        de, up = np.mean([point_values(outcome, rows.scores, rows.cells) for rows in means], axis=0)
        found[k] = dict(zip(METRICS, map(float, (de, up, (de + up) / 2)), strict=True))
    return found


def _choices(n: int, k: int, rng: np.random.Generator) -> list[Sequence[int]]:
    """Return the choices of k out of n, or random ones if there are more than _MOST_CHOICES."""
    if comb(n, k) <= _MOST_CHOICES:
        return list(combinations(range(n), k))
    return [rng.choice(n, k, replace=False).tolist() for _ in range(_MOST_CHOICES)]


def average_answers(asks: Sequence[RunRows]) -> RunRows:
    """Return one asking with the mean answers of several; a single asking is returned unchanged."""
    if len(asks) == 1:
        return asks[0]
    means = {column: np.mean([_values(rows, column) for rows in asks], axis=0) for column in QUESTIONS.values()}
    return replace(asks[0], frame=asks[0].frame.assign(**means), scores=scores_from_probabilities(*means.values()))


def _gain(asks: Sequence[RunRows]) -> Comparison:
    together = average_answers(asks)
    replicates = tuple((0, i) for i in range(len(asks)))
    return compare_replicates(PairedReplicates(replicates, tuple(asks), (together,) * len(asks), 0, 0)).comparison


def other_methods(loader: ArmLoader, rows: Sequence[str], left_out: Collection[str]) -> list[list[RunRows]]:
    """Return runs of other methods that answered all of these rows, grouped if they differ only in their seeds.

    left_out: ids of runs. Also left out: runs made from other runs, rank scores (they are not probabilities), and methods that
    call a model but were asked only once, because their noise is unknown.
    """
    groups: dict[str, list[Run]] = {}
    for run in stored_runs.list_with_rows(loader.db, loader.dataset.id, rows):
        if run.id not in left_out and not run.parents and run.method not in RANK_METHODS:
            groups.setdefault(seedless_key(run) if is_known_to_ask(run) else run.id, []).append(run)
    of_this = {seedless_key(loader.rows_of(run).run) for run in left_out}
    known = [group for key, group in groups.items() if key not in of_this and (len(group) > 1 or not _calls_model(group[0]))]
    return [[take_ids(loader.rows_of(run.id), rows) for run in group] for group in known[:_MOST_GROUPS]]


def is_known_to_ask(run: Run) -> bool:
    """Return whether a run's questions are known: the specification of an imported run does not contain them."""
    return "options" in run.spec


def seedless_key(run: Run) -> str:
    """Return a key of a run's questions, apart from its seeds and rows: equal for two askings of the same."""
    spec = {name: value for name, value in run.spec.items() if name not in _OF_A_SEED}
    options = spec.get("options")
    if isinstance(options, Mapping):
        spec["options"] = {name: value for name, value in options.items() if name != "seeds"}
    return json.dumps([run.method, run.model, spec], sort_keys=True, default=str)


def _calls_model(run: Run) -> bool:
    return not isinstance(methods().get(run.method), WithoutModel)


def take_ids(rows: RunRows, ids: Sequence[str]) -> RunRows:
    """Return the rows of these ids, in this order."""
    position = {pair_id: i for i, pair_id in enumerate(rows.frame["pair_id"])}
    return rows.take(np.array([position[pair_id] for pair_id in ids], dtype=np.intp))
