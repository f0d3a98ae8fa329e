"""The probe for leaks: whether what an input holds predicts labels better than is possible, or than
anything honest did, without having seen them.

An input holds values of genes and perturbations (vectors, words, counts, memberships, presence,
places in lists) and scores of rows (a run's predictions, the product of two vectors, shared
entries, the labels of rows near it in the file).

**Values** are asked for the label shares of units, target genes or perturbations. A share is the
unit's true rate and the noise of few rows, here less what units of as many rows have, so that
counts explain nothing. Knowledge of the unit can predict the rate, never the noise. So the share of
a unit that was held out is predicted from its values, and what is explained is compared with the
variance of the true rates: the mean product of the shares in two halves of the other axis. Where
sampling fixed the shares, the halves disagree and there is no rate to know; there a prediction is
suspect by itself. Vectors are asked, too, which rows of a unit have the label, each row held out.

**Scores** are compared among rows whose genes, or perturbations, have equal rates of labels in
their other rows, which no mean of labels can order; over all rows, and on a part of the rows that
is found on one half of them and judged on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from core.stats.arrays import Bools, Codes, Floats, count_codes, divide, sum_by_group
from core.stats.cell_auroc import auroc_within_cells
from core.stats.ranks import equal_groups, midranks, round_for_ranks
from core.stats.scores_and_labels import Task, outcome_of
from core.stats.within_axis import Axis
from core.transfer.row_index import RowIndex

Question = Literal["DE", "DIR"]
Tail = Literal["", "labels", "inverted labels"]
AXES: tuple[Axis, ...] = ("gene", "pert")
QUESTIONS: tuple[Question, ...] = ("DE", "DIR")
UNITS: dict[Axis, str] = {"gene": "target genes", "pert": "perturbations"}

# of units: drawn from more, which keeps a probe below half a second; PerturbQA has 20 gene sets
MOST_UNITS, LEAST_UNITS = 700, 15
HALVES = 12  # random cuts of the other axis
LEAST_EXCESS = 4.0  # standard errors above the ceiling, by units
# correlation (true rates reach .59), and that times √units, for shares fixed by sampling
LEAST_OF_FIXED, LEAST_FISHER = 0.65, 5.0
FOLDS, TOP_COLUMNS = 5, 10
_PENALTIES = (1e-8, 1e-5, 1e-2, 0.1, 1.0, 10.0, 100.0)  # of the mean eigenvalue
_ROWS_ALIKE = 30  # units that are compared with others of about as many rows

# Within units, vectors that saw no label reach .72 and .79 by similarity, .63 and .68 by a column
# (text and STRING on K562 and HepG2), the labels of another line .71 and .84; what is true of
# simulated genes .75 (DE). Matrices of labels reach .84 to 1.
LIMITS_WITHIN: dict[tuple[Question, str], float] = {
    ("DE", "similarity"): 0.78,
    ("DIR", "similarity"): 0.85,
    ("DE", "column"): 0.68,
    ("DIR", "column"): 0.75,
}
LEAST_SCORED, LEAST_GROUP = 60, 8  # rows with a score; rows of a group whose columns are compared
MOST_ROWS, MOST_VALUES = 10_000, 4_000_000  # drawn group by group from more; values: rows × columns
_LARGEST = 6.0  # standard deviations that a cubed value counts at most

# A score: of the AUROC, of its end nearer to chance, and among rows of equal rates; no published
# run has .75.
LIMIT, LIMIT_LOW, SAME_RATE = 0.75, 0.70, 0.70
MEAN_OF_LABELS = 0.8  # of the variance explained by rates: a run is a mean over labels
MANY, FEW = 10, 4  # groups of about the same rate
LEAST_PAIRS, LEAST_ROWS = 200, 20
EDGES, LEAST_EDGE = (0.02, 0.05), 150  # shares of the rows at either end, and their number
PART_LIMIT = 0.95  # of the rows at the ends
UNITS_LIMIT = 0.90  # of the units that half of the rows chose
BANDS, LEAST_BAND, BAND_GAP = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4), 200, 0.15
LAGS = 64  # places in the file after which labels may come back
_NEAR = (1, 3, 10)  # rows on each side


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """The rows of one question with a label, of shape (n_rows,).

    at: positions among all rows; unit, other: codes of the axis that is asked, and of the other.
    """

    positive: Bools
    unit: Codes
    other: Codes
    at: Codes

    def __len__(self) -> int:
        return len(self.positive)

    def take(self, rows: Bools | Codes) -> LabelledRows:
        """Return the chosen rows."""
        return LabelledRows(self.positive[rows], self.unit[rows], self.other[rows], self.at[rows])

    def renumber(self) -> LabelledRows:
        """Return the rows with consecutive codes, all of them used."""
        unit, other = (
            np.unique(codes, return_inverse=True)[1] for codes in (self.unit, self.other)
        )
        return LabelledRows(self.positive, unit, other, self.at)

    def some_of_other(self, n_rows: int, rng: np.random.Generator) -> LabelledRows:
        """Return all rows of random codes of the other axis, up to `n_rows`, of at least one."""
        if len(self) <= n_rows:
            return self
        sizes = sum_by_group(self.other, count_codes(self.other))
        drawn = rng.permutation(len(sizes))
        last = max(1, int(np.searchsorted(np.cumsum(sizes[drawn]), n_rows)))
        return self.take(np.isin(self.other, drawn[:last]))

    def shares(self, n_units: int, chosen: Bools | None = None) -> tuple[Floats, Floats]:
        """Return each unit's share of positives among the chosen rows, 0 without one, and its
        number of rows."""
        unit = self.unit if chosen is None else self.unit[chosen]
        counts = sum_by_group(unit, n_units)
        hits = self.positive if chosen is None else self.positive[chosen]
        return divide(sum_by_group(unit, n_units, hits), counts, 0.0), counts


def labelled_rows(index: RowIndex, question: Question, axis: Axis = "gene") -> LabelledRows:
    """Return the rows of a question; units are codes of the index's symbols."""
    outcome = outcome_of(index.labels)
    rows, positive = (
        (outcome.labelled, outcome.effect) if question == "DE" else (outcome.directed, outcome.up)
    )
    at = np.flatnonzero(rows)
    codes = (index.rows.gene[at], index.rows.pert[at])
    return LabelledRows(positive[at], *(codes if axis == "gene" else codes[::-1]), at)


@dataclass(frozen=True, slots=True)
class ShareProbe:
    """How well values predict the shares of one question.

    units: 0 if they were too few to probe. correlation: of the predictions with shares that were
    held out. ceiling: what it cannot exceed without the labels. excess: its distance above, in
    standard errors over units. fixed: the shares are fixed by sampling, so that there is no
    ceiling; excess is then correlation × √units.
    """

    units: int
    correlation: float = float("nan")
    ceiling: float = float("nan")
    excess: float = float("nan")
    fixed: bool = False

    @property
    def has_seen_labels(self) -> bool:
        """Whether the values contain information from these labels."""
        if self.fixed:
            return self.correlation >= LEAST_OF_FIXED and self.excess >= LEAST_FISHER
        return self.excess >= LEAST_EXCESS


NOT_PROBED = ShareProbe(0)


def probe_shares(rows: LabelledRows, values: Floats, rng: np.random.Generator) -> ShareProbe:
    """Ask values of one axis for its label shares; values: of shape (n_symbols, n_columns), NaN for
    a symbol without."""
    usable = np.flatnonzero((sum_by_group(rows.unit, len(values)) > 1) & has_values(values))
    if len(usable) > MOST_UNITS:
        usable = np.sort(rng.choice(usable, MOST_UNITS, replace=False))
    if len(usable) < LEAST_UNITS:
        return NOT_PROBED
    table = values[usable]
    columns = standardise(np.column_stack([table, np.linalg.norm(table, axis=1)]))
    if not columns.shape[1]:
        return NOT_PROBED
    place = np.full(len(values), -1)
    place[usable] = np.arange(len(usable))
    kept = rows.take(place[rows.unit] >= 0)
    known, n = LabelledRows(kept.positive, place[kept.unit], kept.other, kept.at), len(usable)
    share, counts = known.shares(n)
    expected = _mean_of_others(share, equal_groups(counts, max(1, n // _ROWS_ALIKE)))
    rest = share - expected - (share - expected).mean()
    products, cuts = np.zeros((2, n))
    for _ in range(HALVES):
        first = (rng.permutation(count_codes(known.other)) % 2 == 0)[known.other]
        (a, count_a), (b, count_b) = known.shares(n, first), known.shares(n, ~first)
        both = (count_a > 0) & (count_b > 0)
        if both.any():
            left = [half - expected - (half - expected)[both].mean() for half in (a, b)]
            products += np.where(both, left[0] * left[1], 0.0)
            cuts += both
    used = cuts > 0
    if not used.any() or rest.std() <= 0:
        return NOT_PROBED
    rate = products[used] / cuts[used]
    results = []
    for predicted in _predict_held_out(columns, rest, rng):
        fit = predicted - predicted.mean()
        scale = np.sqrt((fit**2).sum() * (rest**2).sum())
        correlation = float(fit @ rest / scale) if scale > 0 else 0.0
        if rate.mean() <= 0:
            results.append(
                ShareProbe(n, correlation, excess=float(correlation * np.sqrt(n)), fixed=True)
            )
            continue
        # By Cauchy and Schwarz, what a prediction without the noise explains is at most the
        # variance of the true rates; the influence of a unit on the difference gives its error.
        slope = np.clip(fit @ rest / max(fit @ fit, 1e-12), 0.0, 1.5)
        influence = (2 * slope * fit * rest - (slope * fit) ** 2)[used] - rate
        error = influence.std(ddof=1) / np.sqrt(len(influence))
        ceiling = float(np.sqrt(min(1.0, rate.mean() / (rest[used] ** 2).mean())))
        excess = float(influence.mean() / error) if error > 0 else 0.0
        results.append(ShareProbe(n, correlation, ceiling, excess))
    return max(results, key=lambda probe: probe.excess)


def _predict_held_out(
    columns: Floats, target: Floats, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield predictions of units of which each was held out: by a ridge over all columns, and by
    the column that fits best, and by a tree of the ten best, which follows bent and joint leaks."""
    from sklearn.tree import DecisionTreeRegressor  # takes a second to import

    yield _ridge(columns, target)
    lines, bent = np.zeros((2, len(target)))
    fold = rng.permutation(len(target)) % FOLDS
    for k in range(FOLDS):
        known = fold != k
        centred = target[known] - target[known].mean()
        fits = np.abs(centred @ columns[known])
        bends = np.abs(centred @ (columns[known] ** 2 - 1)) / np.maximum(
            (columns[known] ** 2).std(axis=0), 1e-9
        )
        top = np.argsort(-np.maximum(fits, bends))[:TOP_COLUMNS]
        best = columns[:, [int(fits.argmax())]]
        lines[~known] = best[~known] @ np.linalg.lstsq(best[known], centred, rcond=None)[0]
        tree = DecisionTreeRegressor(min_samples_leaf=4, random_state=0)
        bent[~known] = tree.fit(columns[known][:, top], centred).predict(columns[~known][:, top])
    yield lines
    yield bent


def _ridge(columns: Floats, target: Floats) -> Floats:
    """Return leave-one-out predictions, less the mean target, by ridge regression with the best
    penalty."""
    from sklearn.linear_model import RidgeCV  # as above

    penalties = np.array(_PENALTIES) * (columns**2).sum() / len(target)
    # only with a named score are the predictions kept, and not their errors
    ridge = RidgeCV(penalties, scoring="neg_mean_squared_error", store_cv_results=True)
    best = ridge.fit(columns, target).alpha_ == penalties
    return np.asarray(ridge.cv_results_[:, best].ravel() - target.mean())


def _mean_of_others(values: Floats, groups: Floats) -> Floats:
    """Return the mean over the other members of each one's group, and over all where it is alone: a
    mean with the unit would reveal its value."""
    codes = np.unique(groups, return_inverse=True)[1]
    n = count_codes(codes)
    others = sum_by_group(codes, n)[codes] - 1
    return np.where(
        others > 0,
        divide(sum_by_group(codes, n, values)[codes] - values, others, 0.0),
        values.mean(),
    )


def has_values(values: Floats) -> Bools:
    """Return flags of the rows with a value, of a table whose other rows are NaN."""
    return np.asarray(~np.isnan(values).all(axis=1))


def standardise(values: Floats) -> Floats:
    """Return the columns that vary, with mean 0 and standard deviation 1; a single NaN is the
    mean."""
    values = values[:, ~np.isnan(values).all(axis=0)]
    filled = np.where(np.isnan(values), np.nanmean(values, axis=0, keepdims=True), values)
    spread = filled.std(axis=0)
    varies = spread > 1e-12 * np.abs(filled).max(axis=0, initial=0.0)
    return np.asarray((filled[:, varies] - filled[:, varies].mean(axis=0)) / spread[varies])


@dataclass(frozen=True, slots=True)
class ScoreProbe:
    """One score of the rows of one question.

    what: a description; auroc: over all rows, or inside the part named; same: the AUROC nearest to
    chance among pairs that rates cannot order; part: "" for all rows.
    """

    what: str
    auroc: float
    n: int
    same: float = float("nan")
    tail: Tail = ""
    part: str = ""


def probe_within(
    question: Question, rows: LabelledRows, vectors: Floats, rng: np.random.Generator
) -> list[ScoreProbe]:
    """Ask vectors of one axis which rows of a unit have the label.

    A group is the rows that share the other axis. Each row is scored from the vectors and the
    labels of the group's other rows: by the mean cosine to those that have the label minus that to
    those that have not (of the vectors, of standardised columns, and of their cubes, which bring
    out few large values among much noise), or by the column that fits the others best, as in a
    matrix of labels. A score has to reach its limit inside groups and inside units: what is known
    of a unit as a whole, its rate, says nothing inside it.
    """
    covered = rows.take(has_values(vectors)[rows.unit])
    if not len(covered):
        return []
    some = covered.some_of_other(MOST_ROWS, rng)
    values = vectors[np.unique(some.unit)].astype(np.float64)
    some, columns = some.renumber(), standardise(values)
    turned = (np.nan_to_num(values), columns, np.clip(columns, -_LARGEST, _LARGEST) ** 3)
    similar = [
        _judge_within(question, "similarity", some, _contrasts(some, _of_length_1(each)))
        for each in turned
    ]
    fewer = some.some_of_other(max(1, MOST_VALUES // max(1, columns.shape[1])), rng)
    by_column = column_scores(fewer.positive, fewer.other, fewer.unit, columns)
    return [
        max(similar, key=lambda probe: np.nan_to_num(probe.same)),
        _judge_within(question, "column", fewer, by_column),
    ]


def _judge_within(question: Question, kind: str, rows: LabelledRows, scores: Floats) -> ScoreProbe:
    task = Task(~np.isnan(scores), rows.positive, round_for_ranks(scores))
    inside = [auroc_within_cells(task, cells) for cells in (rows.other, rows.unit)]
    n, lower = int(task.rows.sum()), float(np.min(inside))
    error = _error(rows.positive[task.rows])
    is_leak = (
        n >= LEAST_SCORED and lower >= LIMITS_WITHIN[question, kind] and lower - 0.5 >= 5 * error
    )
    return ScoreProbe(kind, inside[0], n, lower, "labels" if is_leak else "")


def _error(positive: Bools) -> float:
    """Return the standard deviation of the AUROC of a score without information."""
    n, hits = len(positive), int(positive.sum())
    return float(np.sqrt((n + 1) / (12 * hits * (n - hits)))) if 0 < hits < n else float("inf")


def _contrasts(rows: LabelledRows, vectors: Floats) -> Floats:
    """Return each row's mean cosine to the other positive rows of its group minus that to its other
    negative rows; NaN where one is missing. vectors: of length 1."""
    return _mean_cosine(rows.positive, rows, vectors) - _mean_cosine(~rows.positive, rows, vectors)


def _mean_cosine(members: Bools, rows: LabelledRows, vectors: Floats) -> Floats:
    """A sum of cosines with vectors of length 1 is the product with their sum, so one sum a group
    serves its rows. A vector of length 0 has no cosine with itself to leave out."""
    group, vector, n_groups = rows.other, rows.unit, count_codes(rows.other)
    others = sum_by_group(group, n_groups, members)[group] - members
    choice = csr_array((members.astype(np.float64), (group, vector)), (n_groups, len(vectors)))
    sums = choice @ vectors
    total = np.einsum("ij,ij->i", sums[group], vectors[vector])
    return divide(total - members * (vectors**2).sum(axis=1)[vector], others)


def _of_length_1(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0))


def column_scores(positive: Bools, group: Codes, vector: Codes, columns: Floats) -> Floats:
    """Return each row's value in the column that correlates most with the labels of its group's
    other rows, in their direction.

    The values are standardised by these rows, and have mean 0 in each group. NaN in groups of fewer
    than `LEAST_GROUP` rows, or with fewer than two of either class.
    """
    scores = np.full(len(positive), np.nan)
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        hits = int(positive[rows].sum())
        if columns.shape[1] and len(rows) >= LEAST_GROUP and 2 <= hits <= len(rows) - 2:
            label = positive[rows].astype(np.float64)
            values = columns[vector[rows]]
            others = len(label) - 1
            values, label = values - values.mean(axis=0), label - label.mean()
            # of the other rows, around their own mean
            squares = (values**2).sum(axis=0) - values**2 - values**2 / others
            products = label @ values - values * label[:, None] * (1 + 1 / others)
            label_squares = (label**2).sum() - label**2 * (1 + 1 / others)
            scale = np.sqrt(np.maximum(squares, 0.0) * label_squares[:, None])
            correlation = np.divide(
                products, scale, out=np.zeros_like(products), where=scale > 1e-9
            )
            best, each = np.abs(correlation).argmax(axis=1), np.arange(len(label))
            spread = np.sqrt(np.maximum(squares[each, best] / others, 1e-9))
            of_rows = (
                np.sign(correlation[each, best]) * values[each, best] * (1 + 1 / others) / spread
            )
            scores[rows] = of_rows - of_rows.mean()
    return scores


def probe_score(
    what: str, rows: LabelledRows, values: Floats, *, in_part: bool = True
) -> ScoreProbe:
    """Ask a score of rows, of shape (n_rows,), NaN where there is none, for their labels: on all of
    them, else (`in_part`) on a part. The labels may be inverted."""
    kept = np.flatnonzero(~np.isnan(values))
    rows, values = rows.take(kept), values[kept]
    positive, n = rows.positive, len(rows)
    rates = [_Rates.of(positive, codes) for codes in (rows.unit, rows.other)]
    both = rates[0].cells * MANY + rates[1].about(MANY)
    same = np.array(
        [_auroc(positive, values, cells) for cells in (rates[0].cells, rates[1].cells, both)]
    )
    whole = _auroc(positive, values, np.zeros(n, dtype=np.intp))
    is_sure = n >= LEAST_ROWS and abs(whole - 0.5) - 2 * _error(positive) >= LIMIT_LOW - 0.5
    coarse = rates[0].about(FEW) * FEW + rates[1].about(FEW)
    # a mean over the labels of other rows is upside down inside a gene, and honest
    is_mean = _explained(values, *(rate.rate for rate in rates)) >= MEAN_OF_LABELS
    tails: tuple[tuple[int, Tail], ...] = ((1, "labels"), (-1, "inverted labels"))
    for sign, tail in tails:
        inside = 0.5 + sign * (same - 0.5)
        lowest = float(0.5 + sign * (inside.min() - 0.5))
        is_far = is_sure and sign * (whole - 0.5) >= LIMIT - 0.5 and (inside >= SAME_RATE).all()
        if is_far and not (sign < 0 and is_mean):
            return ScoreProbe(what, whole, n, lowest, tail)
        if in_part and not is_mean:
            for part, value, size in _parts(rows, sign * values, coarse, rates):
                return ScoreProbe(what, 0.5 + sign * (value - 0.5), size, lowest, tail, part)
    return ScoreProbe(what, whole, n, float(same[np.abs(same - 0.5).argmin()]) if n else np.nan)


def _parts(
    rows: LabelledRows, values: Floats, coarse: Codes, rates: list[_Rates]
) -> Iterator[tuple[str, float, int]]:
    """Yield the parts of the rows on which a score is right: those at both ends of the ranking,
    a band in its middle that is better than what lies further out, as no honest score has, and the
    genes or perturbations that one half of their rows chose, on the other half."""
    positive, n = rows.positive, len(rows)
    place = midranks(values) / max(1, n) - 0.5
    outer = np.abs(place - 0.5 / max(1, n))

    def inside(chosen: Bools) -> float:
        return _auroc(positive[chosen], values[chosen], coarse[chosen])

    for share in EDGES:
        edge = (place <= share - 0.5) | (place > 0.5 - share)
        if edge.sum() >= LEAST_EDGE and (value := inside(edge)) >= PART_LIMIT:
            yield "at both ends of the ranking", value, int(edge.sum())
    for i, low in enumerate(BANDS):
        for high in BANDS[i + 1 :]:
            band, beyond = (outer >= low) & (outer < high), outer >= high
            if min(band.sum(), beyond.sum()) >= LEAST_BAND:
                value, outside = inside(band), inside(beyond)
                if value >= SAME_RATE and outside <= value - BAND_GAP:
                    yield "in the middle of the ranking", value, int(band.sum())
    order = np.random.default_rng(0).permutation(n) % 2 == 0
    for name, unit, rate in (
        ("genes", rows.unit, rates[1]),
        ("perturbations", rows.other, rates[0]),
    ):
        judged = np.zeros(n, dtype=np.bool_)
        for half in (order, ~order):
            good = _perfect_units(unit[half], positive[half], values[half], count_codes(unit))
            judged |= ~half & good[unit]
        cells = unit * FEW + rate.about(FEW)
        value = _auroc(positive[judged], values[judged], cells[judged])
        if value >= UNITS_LIMIT:
            yield f"of some {name}", value, int(judged.sum())


def _perfect_units(unit: Codes, positive: Bools, values: Floats, n_units: int) -> Bools:
    """Return the units whose positive rows all lie above their others, of at least two each."""
    hits = sum_by_group(unit, n_units, positive)
    lowest, highest = np.full(n_units, np.inf), np.full(n_units, -np.inf)
    np.minimum.at(lowest, unit[positive], values[positive])
    np.maximum.at(highest, unit[~positive], values[~positive])
    enough = (hits >= 2) & (sum_by_group(unit, n_units) - hits >= 2)
    return np.asarray(enough & (lowest > highest))


@dataclass(frozen=True, slots=True, eq=False)
class _Rates:
    """Of each row's group without the row: cells of equal numbers of rows and of positives, and the
    rate, of shape (n_rows,)."""

    cells: Codes
    rate: Floats

    @staticmethod
    def of(positive: Bools, group: Codes) -> _Rates:
        codes = np.unique(group, return_inverse=True)[1]
        n_groups = int(codes.max(initial=-1)) + 1
        others = sum_by_group(codes, n_groups)[codes] - 1
        hits = sum_by_group(codes, n_groups, positive)[codes] - positive
        cells = np.unique(np.stack([others, hits]), axis=1, return_inverse=True)[1].ravel()
        return _Rates(cells.astype(np.intp), divide(hits, others, -1.0))

    def about(self, n: int) -> Codes:
        """Return codes of n groups of about the same rate."""
        return equal_groups(self.rate, n).astype(np.intp) - 1


def _explained(values: Floats, first: Floats, second: Floats) -> float:
    """Return the share of the values' variance explained by both rates and their product, among
    rows with both rates."""
    from sklearn.linear_model import LinearRegression  # as above

    both = (first >= 0) & (second >= 0)
    if not both.any() or np.ptp(values[both]) <= 0:
        return 0.0
    rates = np.column_stack([first, second, first * second])[both]
    return float(LinearRegression().fit(rates, values[both]).score(rates, values[both]))


def _auroc(positive: Bools, values: Floats, cells: Codes) -> float:
    """Return the AUROC from pairs inside cells, NaN from fewer than `LEAST_PAIRS` of them."""
    if not len(positive):
        return float("nan")
    n_cells = count_codes(cells)
    hits = sum_by_group(cells, n_cells, positive)
    if (hits * (sum_by_group(cells, n_cells) - hits)).sum() < LEAST_PAIRS:
        return float("nan")
    task = Task(np.ones(len(positive), dtype=np.bool_), positive, round_for_ranks(values))
    return auroc_within_cells(task, cells)


def place_scores(rows: LabelledRows) -> dict[str, Floats]:
    """Return what the place of rows in the file says of them: the share of positives among the rows
    beside each, and among those that stand a fixed number of places away."""
    n, hits = len(rows), rows.positive.astype(np.float64)
    if n < 2 * LAGS:
        return {}
    scores = {}
    for near in _NEAR:
        window = np.ones(2 * near + 1)
        beside, rows_beside = (
            np.convolve(each, window, "same") - each for each in (hits, np.ones(n))
        )
        scores[f"the labels of {near} rows before and after"] = beside / rows_beside
    centred = hits - hits.mean()
    alike = [float(centred[lag:] @ centred[:-lag]) for lag in range(2, LAGS + 1)]
    lag = 2 + int(np.argmax(alike))
    padded = np.pad(centred, 3 * lag)
    steps = [padded[(3 + k) * lag :][:n] for k in (-3, -2, -1, 1, 2, 3)]
    scores[f"the labels of rows {lag} places away"] = np.mean(steps, axis=0)
    return scores


def describe_power(index: RowIndex) -> Iterator[str]:
    """Yield how weak a leak is still found, for each probe on the labelled rows of a dataset, where
    weaker and weaker ones are planted; nothing without labels."""
    for question in QUESTIONS:
        for axis in AXES:
            rows = labelled_rows(index, question, axis).renumber()
            if not rows.positive.any() or rows.positive.all():
                continue
            units = f"{question} of {UNITS[axis]}"
            noise = (0.0, 0.25, 0.5, 0.75, 1.0)
            shares = _weakest(partial(_finds_shares, rows), noise)
            matrix = _weakest(partial(_finds_matrix, question, rows), noise)
            yield f"{units}: label shares among 16 columns of noise, {shares} SD of noise"
            yield f"{units}: a matrix of labels, {matrix} SD of noise"
            if axis == "gene":
                shares_known = (0.7, 0.5, 0.4, 0.3, 0.2, 0.1)
                known = _weakest(partial(_finds_score, rows), shares_known)
                yield f"{question}: a run that knows some labels and guesses, {known} of the rows"


def _finds_shares(rows: LabelledRows, noise: float, rng: np.random.Generator) -> bool:
    share, n = rows.shares(count_codes(rows.unit))[0], count_codes(rows.unit)
    values = rng.normal(size=(n, 17))
    values[:, 0] = (share - share.mean()) / max(share.std(), 1e-12) + noise * values[:, 0]
    return probe_shares(rows, values, rng).has_seen_labels


def _finds_matrix(
    question: Question, rows: LabelledRows, noise: float, rng: np.random.Generator
) -> bool:
    some = rows.some_of_other(3_000, rng).renumber()
    values = noise * rng.normal(size=(count_codes(some.unit), count_codes(some.other)))
    values[some.unit, some.other] += np.where(some.positive, 1.0, -1.0)
    return any(probe.tail for probe in probe_within(question, some, values, rng))


def _finds_score(rows: LabelledRows, share: float, rng: np.random.Generator) -> bool:
    values = rng.random(len(rows))
    known = rng.random(len(rows)) < share
    values[known] = np.where(rows.positive, 0.6, 0.3)[known] + 0.1 * rng.random(known.sum())
    return probe_score("run", rows, values).tail == "labels"


def _weakest(
    is_found: Callable[[float, np.random.Generator], bool], levels: Sequence[float]
) -> str:
    """Return the last of the levels, the strongest leak first, up to which both of two tries are
    found."""
    weakest = "not found even with"
    for level in levels:
        if not all(is_found(level, np.random.default_rng([0, k])) for k in range(2)):
            return weakest if weakest.startswith("found") else f"{weakest} {level:g}"
        weakest = f"found with {level:g}"
    return weakest
