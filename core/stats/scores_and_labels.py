"""A run's two scores for each row, the outcome of each row by its label, and the two tasks: DE and
DIR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.base.types import Label
from core.stats import validate
from core.stats.arrays import Bools, Codes, Floats, count_codes, divide
from core.stats.ranks import round_for_ranks

# Two parts of 1, each rounded to six decimals, may add up to 1 + 1e-6.
SUM_LIMIT = 1 + 1.1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """A run's scores as they are ranked; made by `scores_from_submission` or
    `scores_from_probabilities`.

    p_de of shape (n_rows,): NaN if a run does not rank rows by an effect. p_up of shape (n_rows,):
    the probability of up given an effect, NaN if missing.
    """

    p_de: Floats
    p_up: Floats

    def __len__(self) -> int:
        return len(self.p_de)

    def take(self, rows: Bools | Codes) -> Scores:
        """Return the scores of the chosen rows."""
        return Scores(self.p_de[rows], self.p_up[rows])


def scores_from_submission(
    prediction_up: ArrayLike, prediction_down: ArrayLike, ids: Sequence[str] | None = None
) -> Scores:
    """Return the scores of a submission as the official metric sees them: the file's numbers, p_up
    0 at (0, 0).

    Both of shape (n_rows,), probabilities whose sum is at most 1 (but for rounding to six
    decimals). Raise InputError, which names the other rows, by `ids` if given.
    """
    up = validate.probabilities("prediction_up", prediction_up, ids=ids)
    down = validate.probabilities("prediction_down", prediction_down, ids=ids)
    validate.same_length(prediction_up=up, prediction_down=down)
    total = up + down
    bad = total > SUM_LIMIT
    if bad.any():
        rows = validate.named_rows(bad, ids)
        raise InputError(
            f"prediction_up + prediction_down: {rows}: got {total[bad][0]}; expected at most 1"
        )
    return Scores(total, divide(up, total, 0.0))


def ranked_scores(
    prediction_up: ArrayLike, prediction_down: ArrayLike, ids: Sequence[str] | None = None
) -> Scores:
    """Return the scores for ranking a run everywhere: its submitted numbers, rounded so that equal
    ones tie.

    As `scores_from_submission` otherwise; only the check of a file ranks the numbers unrounded, as
    the organisers do.
    """
    scores = scores_from_submission(prediction_up, prediction_down, ids)
    return Scores(round_for_ranks(scores.p_de), round_for_ranks(scores.p_up))


def submitted_parts(p_de: Floats, p_up: Floats) -> tuple[Floats, Floats]:
    """Return prediction_up and prediction_down from probabilities of shape (n_rows,), both 0 if
    p_de is 0.

    They are never rounded: with six decimals, most probabilities from a model's log-probabilities
    would be equal.
    """
    up: Floats = np.where(p_de > 0, p_de * p_up, 0.0)
    return up, p_de - up


def scores_from_probabilities(p_de: ArrayLike, p_up: ArrayLike) -> Scores:
    """Return scores from numbers on any scale (a control's need not be probabilities), rounded to
    14 decimals.

    Both of shape (n_rows,); p_up is NaN if a run predicts no direction.
    """
    de = validate.numbers("p_de", p_de)
    up = validate.numbers("p_up", p_up, missing=True)
    validate.same_length(p_de=de, p_up=up)
    return Scores(round_for_ranks(de), round_for_ranks(up))


def shared_rows(a: Scores, b: Scores) -> tuple[Scores, Scores]:
    """Return both runs' scores; a score missing in one run is missing in both, so that both rank
    the same rows."""
    no_de, no_up = np.isnan(a.p_de) | np.isnan(b.p_de), np.isnan(a.p_up) | np.isnan(b.p_up)
    first = Scores(np.where(no_de, np.nan, a.p_de), np.where(no_up, np.nan, a.p_up))
    return first, Scores(np.where(no_de, np.nan, b.p_de), np.where(no_up, np.nan, b.p_up))


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The outcome of each row by its label, as flags of shape (n_rows,).

    labelled: the label is known; effect: up, down or de; up: up; directed: up or down.
    """

    labelled: Bools
    effect: Bools
    up: Bools
    directed: Bools

    def take(self, rows: Bools | Codes) -> Outcome:
        """Return the outcome of the chosen rows."""
        return Outcome(self.labelled[rows], self.effect[rows], self.up[rows], self.directed[rows])


def outcome_of(labels: ArrayLike) -> Outcome:
    """Return the outcome of labels of shape (n_rows,): up, down, none, de; None, NaN or "" if
    unknown."""
    codes = validate.labels(labels)
    up, down, none, de = (
        codes == code
        for code in map(list(Label).index, (Label.UP, Label.DOWN, Label.NONE, Label.DE))
    )
    directed = up | down
    effect = directed | de
    return Outcome(effect | none, effect, up, directed)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One ranking task: which rows count, which of them are positive, and their scores; each of
    shape (n_rows,)."""

    rows: Bools
    positive: Bools
    values: Floats


def tasks(outcome: Outcome, scores: Scores) -> tuple[Task, Task]:
    """Return DE (an effect against none, by p_de) and DIR (up against down, by p_up), each over the
    rows that have the score."""
    ranked, directed = (
        outcome.labelled & ~np.isnan(scores.p_de),
        outcome.directed & ~np.isnan(scores.p_up),
    )
    return Task(ranked, outcome.effect, scores.p_de), Task(directed, outcome.up, scores.p_up)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Rows with their outcome and scores, the codes of both axes and, if only pairs inside them
    count, those of cells.

    All of shape (n_rows,); cells is None if all pairs of rows count.
    """

    outcome: Outcome
    scores: Scores
    pert: Codes
    gene: Codes
    cells: Codes | None = None

    def __len__(self) -> int:
        return len(self.pert)

    def take(self, rows: Bools) -> ScoredRows:
        """Return the chosen rows."""
        cells = None if self.cells is None else self.cells[rows]
        return ScoredRows(
            self.outcome.take(rows), self.scores.take(rows), self.pert[rows], self.gene[rows], cells
        )

    def tasks(self) -> tuple[Task, Task]:
        """Return the two ranking tasks, DE and DIR."""
        return tasks(self.outcome, self.scores)

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of rows, of labelled rows and of rows with an effect."""
        return len(self), int(self.outcome.labelled.sum()), int(self.outcome.effect.sum())


def scored_rows(
    labels: ArrayLike,
    scores: Scores,
    pert: ArrayLike,
    gene: ArrayLike,
    cells: ArrayLike | None = None,
) -> ScoredRows:
    """Return rows from arrays of shape (n_rows,); pert, gene, cells: names or codes. Raise
    InputError if lengths differ."""
    outcome = outcome_of(labels)
    perts, genes = validate.axes(pert, gene)
    inside = (
        np.zeros(len(perts), dtype=np.intp) if cells is None else validate.codes("cells", cells)
    )
    validate.same_length(
        labels=outcome.labelled, scores=scores, pert=perts, gene=genes, cells=inside
    )
    return ScoredRows(outcome, scores, perts, genes, None if cells is None else inside)


def combine_codes(*codes: Codes | None) -> Codes | None:
    """Return codes of which two rows are equal if they are equal in each of `codes`; None of these
    are ignored."""
    given = [each for each in codes if each is not None]
    if not given:
        return None
    combined = given[0]
    for each in given[1:]:
        combined = combined * count_codes(each) + each
        combined = np.unique(combined, return_inverse=True)[1].astype(np.intp, copy=False)
    return combined
