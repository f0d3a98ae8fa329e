"""Measure the noise of a judge: the variance of answers when asked again, and between rows.

The variance of one answer has two parts: between seeds of one row (within rows), and between the rows' mean answers, from which
the contribution of the first is subtracted. Each is a mean over rows, with an interval that allows for shared perturbations and
genes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.scoring.run_scores import RunRows
from core.stats.arrays import Codes, Floats
from core.stats.clustered_mean import means_within
from core.stats.delong import Estimate
from core.store.runs import Run
from core.types import Flag

QUESTIONS = {"P(DE)": "p_de", "P(up | DE)": "p_up_given_de"}
_UNREAD_DE = (Flag.DE_FALLBACK, Flag.UNIFORM, Flag.UNCOVERED, Flag.NOT_PREDICTED)
UNREAD = {"p_de": _UNREAD_DE, "p_up_given_de": (*_UNREAD_DE, Flag.DIR_FALLBACK, Flag.UNCOVERED_DIR)}
_OF_A_SEED = ("seed", "repeat", "rows", "rows_sha256", "parents")  # keys of a specification that may differ between two askings


@dataclass(frozen=True, slots=True)
class AnswerVariance:
    """The variance of one answer, by source; an estimate below 0 stands for 0."""

    within_rows: Estimate
    between_rows: Estimate


@dataclass(frozen=True, slots=True, eq=False)
class SeedNoise:
    """The result of asking again.

    asks: how often every row was asked. answers: P(DE) and P(up | DE) → their variance by source, None with too few answers.
    """

    rows: int
    asks: int
    answers: Mapping[str, AnswerVariance | None]


def describe_seeds(asks: Sequence[RunRows]) -> SeedNoise:
    """Return the noise from askings of the same rows in the same order; an unreadable answer does not count."""
    answers = {
        name: answer_variance([read_answers(rows, column) for rows in asks], asks[0].pert, asks[0].gene)
        for name, column in QUESTIONS.items()
    }
    return SeedNoise(len(asks[0]), len(asks), answers)


def read_answers(rows: RunRows, column: str) -> Floats:
    """Return the answers of a run, NaN for an unreadable answer that another number replaces."""
    unread = [any(flag in flags for flag in UNREAD[column]) for flags in rows.frame["flags"]]
    values = rows.frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.array(unread, dtype=np.bool_), np.nan, values)


def answer_variance(asks: Sequence[Floats], pert: Codes, gene: Codes) -> AnswerVariance | None:
    """Return the components of the variance of one answer, each the mean over rows of what the row adds to it.

    asks: the askings, arrays of shape (n_rows,). Rows with a missing answer are left out. None if there are too few.
    """
    stacked = np.stack(asks)
    there = ~np.isnan(stacked).any(axis=0)
    n = int(there.sum())
    if n < 2 or len(asks) < 2:
        return None

    def mean_of(terms: Floats) -> Estimate:
        one = np.zeros(n, dtype=np.intp)
        return means_within(terms, one, pert[there], gene[there], (-math.inf, math.inf))[0]

    means, within = stacked[:, there].mean(axis=0), stacked[:, there].var(axis=0, ddof=1)
    of_rows = (means - means.mean()) ** 2 * n / (n - 1) - within / len(asks)  # less what asking leaves in a row's mean
    return AnswerVariance(mean_of(within), mean_of(of_rows))


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


def take_ids(rows: RunRows, ids: Sequence[str]) -> RunRows:
    """Return the rows of these ids, in this order."""
    position = {pair_id: i for i, pair_id in enumerate(rows.frame["pair_id"])}
    return rows.take(np.array([position[pair_id] for pair_id in ids], dtype=np.intp))
