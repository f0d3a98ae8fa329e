"""Measure the noise of a judge: the variance of answers when asked again, between rows and between methods.

The variance of one answer has three parts: between seeds of one row (within rows), between the rows' mean answers, and between
the mean answers of methods about one row. From each part, the contribution of the earlier parts is subtracted. Each is a mean
over rows, with an interval that allows for shared perturbations and genes. What averaging the answers gains is measured by
scoring their mean.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.experiments.benchmark_report import ArmLoader
from core.experiments.paired_replicates import PairedReplicates, compare_replicates
from core.methods.base import WithoutModel, methods
from core.scoring.run_scores import RunRows
from core.stats.arrays import Codes, Floats
from core.stats.clustered_mean import means_within
from core.stats.comparison import Comparison
from core.stats.delong import Estimate
from core.stats.scores_and_labels import scores_from_probabilities
from core.store import runs as stored_runs
from core.store.runs import Run
from core.types import RANK_METHODS, Flag

QUESTIONS = {"P(DE)": "p_de", "P(up | DE)": "p_up_given_de"}
_UNREAD_DE = (Flag.DE_FALLBACK, Flag.UNIFORM, Flag.UNCOVERED, Flag.NOT_PREDICTED)
UNREAD = {"p_de": _UNREAD_DE, "p_up_given_de": (*_UNREAD_DE, Flag.DIR_FALLBACK, Flag.UNCOVERED_DIR)}
_MOST_GROUPS = 12
_OF_A_SEED = ("seed", "repeat", "rows", "rows_sha256", "parents")  # keys of a specification that may differ between two askings


@dataclass(frozen=True, slots=True)
class AnswerVariance:
    """The variance of one answer, by source; an estimate below 0 stands for 0. between_methods: None with one method."""

    within_rows: Estimate
    between_rows: Estimate
    between_methods: Estimate | None


@dataclass(frozen=True, slots=True, eq=False)
class SeedNoise:
    """The result of asking again.

    asks: how often every row was asked. answers: P(DE) and P(up | DE) → their variance by source, None with too few answers.
    others: the other methods. gain: the scores of the mean answers of all askings less those of one asking; None with one.
    """

    rows: int
    asks: int
    answers: Mapping[str, AnswerVariance | None]
    others: tuple[str, ...]
    gain: Comparison | None


def describe_seeds(asks: Sequence[RunRows], others: Sequence[Sequence[RunRows]] = ()) -> SeedNoise:
    """Return the noise from askings of the same rows in the same order.

    others: askings of other methods, which call no model or were asked at least twice. An unreadable answer counts in scores,
    not in variances.
    """
    answers = {
        name: answer_variance(
            [[read_answers(rows, column) for rows in asks], *([_values(rows, column) for rows in group] for group in others)],
            asks[0].pert,
            asks[0].gene,
        )
        for name, column in QUESTIONS.items()
    }
    names = tuple(group[0].run.name for group in others)
    return SeedNoise(len(asks[0]), len(asks), answers, names, _gain(asks) if len(asks) > 1 else None)


def read_answers(rows: RunRows, column: str) -> Floats:
    """Return the answers of a run, NaN for an unreadable answer that another number replaces."""
    unread = [any(flag in flags for flag in UNREAD[column]) for flags in rows.frame["flags"]]
    return np.where(np.array(unread, dtype=np.bool_), np.nan, _values(rows, column))


def _values(rows: RunRows, column: str) -> Floats:
    return rows.frame[column].to_numpy(dtype=np.float64, na_value=np.nan)


def answer_variance(groups: Sequence[Sequence[Floats]], pert: Codes, gene: Codes) -> AnswerVariance | None:
    """Return the components of the variance of one answer, each the mean over rows of what the row adds to it.

    groups: the askings of each method, arrays of shape (n_rows,); the first method is the one to measure. A method asked only
    once is assumed to answer the same again. Rows with a missing answer are left out. None if there are too few.
    """
    stacked = [np.stack(group) for group in groups]
    there = ~np.isnan(np.concatenate(stacked)).any(axis=0)
    stacked = [group[:, there] for group in stacked]
    n = int(there.sum())
    if n < 2 or len(stacked[0]) < 2:
        return None

    def mean_of(terms: Floats) -> Estimate:
        one = np.zeros(n, dtype=np.intp)
        return means_within(terms, one, pert[there], gene[there], (-math.inf, math.inf))[0]

    means = np.stack([group.mean(axis=0) for group in stacked])
    left = np.stack([_within(group) / len(group) for group in stacked])  # variance of asking in the mean of a row's answers
    of_rows = (means[0] - means[0].mean()) ** 2 * n / (n - 1) - left[0]
    of_methods = None if len(means) < 2 else mean_of(means.var(axis=0, ddof=1) - left.mean(axis=0))
    return AnswerVariance(mean_of(_within(stacked[0])), mean_of(of_rows), of_methods)


def _within(group: Floats) -> Floats:
    """Return the variance of each row's answers, 0 if it was asked once. group: of shape (n_askings, n_rows)."""
    return np.asarray(group.var(axis=0, ddof=1)) if len(group) > 1 else np.zeros(group.shape[1])


def _gain(asks: Sequence[RunRows]) -> Comparison:
    """Return the scores of the mean answers of all askings less the mean scores of one asking."""
    means = {column: np.mean([_values(rows, column) for rows in asks], axis=0) for column in QUESTIONS.values()}
    together = replace(asks[0], frame=asks[0].frame.assign(**means), scores=scores_from_probabilities(*means.values()))
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
