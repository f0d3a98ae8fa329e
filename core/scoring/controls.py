"""Controls of a run's score: baselines without biology on the same rows, inside the same cells.

Each sees the labels allowed by the run's label view. Under folds, and for training rows, these
exclude the row's gene and perturbation, so means over them equal the base rate. Means that see more
labels are a fingerprint of the sampling of rows. They are listed separately, with their reversed
value, and no run must beat them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.base.result import UNMARKED, Figure, LabelMarks, Table, hidden
from core.base.texts import NO_BIOLOGY
from core.scoring.compare_runs import compare_runs
from core.scoring.label_means import means_outside_part, training_means
from core.scoring.run_scores import MACRO_HEADLINE, RunRows, count_rows, score_run
from core.scoring.sentences import TWO_WAY, axes_text, fusion_caveats, interval_text, scored_text
from core.stats.arrays import Floats
from core.stats.comparison import side_of
from core.stats.delong import Estimate
from core.stats.intervals import Interval, Unit
from core.stats.official_score import score_of_rows
from core.stats.permutations import scores_of_permuted_labels
from core.stats.scores_and_labels import Scores
from core.stats.within_axis import score_within
from core.store.runs import Run
from core.transfer.protocols import EvaluationProtocol
from core.transfer.run_cells import folds_among

PERMUTATIONS = 99
SEED = 0
COUNT_ONLY, RARER_GENE, BASE_RATE = "count-only", "rarer gene", "base rate"
GENE_MEAN, PERMUTED_VECTORS = "gene mean", "permuted vectors"
OWN = "this run"
NO_SKILL = "base rate per gene, no skill"
# for runs that were not made under folds of their own
FINGERPRINT_CUT = EvaluationProtocol("folds", 5, 0)


Protocols = tuple[EvaluationProtocol, ...]


@dataclass(frozen=True, slots=True)
class Control:
    """The score of a control without biology.

    de, dir, mean: None if it does not answer the question, or without labels; macro AUROCs by gene
    on a dataset that is judged by them, whose pooled AUROCs are separate with a note on how to read
    them. about: what it uses. permuted: the run's own score with permuted labels or vectors, as
    mean and 95% range; it is not a rival of the run.
    """

    name: str
    about: str
    de: Interval | None
    dir: Interval | None
    mean: Interval | None
    permuted: bool = False
    pooled_de: Interval | None = None
    pooled_dir: Interval | None = None
    note: str | None = None

    @property
    def json_value(self) -> dict[str, Any]:
        """The control as the command prints it: numbers, their intervals, the pooled ones, and
        those of its reversed order."""
        intervals = {"de": self.de, "dir": self.dir, "mean": self.mean}
        is_pooled = self.pooled_de is not None or self.pooled_dir is not None
        return {
            "name": self.name,
            **{
                axis: None if value is None else value.estimate for axis, value in intervals.items()
            },
            "intervals": intervals,
            "reversed": {axis: reverse_value(value) for axis, value in intervals.items()},
            "pooled": (
                {"de": self.pooled_de, "dir": self.pooled_dir, "note": self.note}
                if is_pooled
                else None
            ),
            "about": self.about,
        }

    @property
    def row(self) -> dict[str, Any]:
        """The control in a table."""
        pooled = {
            "DE, pooled": self.pooled_de,
            "DIR, pooled": self.pooled_dir,
            "how to read the pooled ones": self.note,
        }
        return {"name": self.name, "DE": self.de, "DIR": self.dir, "mean": self.mean, **pooled}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A run less the control that was fixed for the axis beforehand, paired, by the interval
    shown."""

    control: str
    change: Interval
    json_properties = ("verdict", "clusters")

    @property
    def clusters(self) -> int | None:
        """The number of perturbations or genes behind the interval."""
        return self.change.clusters

    @property
    def beats(self) -> bool | None:
        """Whether the interval is above 0; None without labels or with one class."""
        return None if math.isnan(self.change.estimate) else side_of(self.change) == "above"

    @property
    def verdict(self) -> str | None:
        """Whether the run is above the control: yes, no or cannot tell; None if undefined."""
        return (
            None
            if self.beats is None
            else {"above": "yes", "below": "no"}.get(side_of(self.change), "cannot tell")
        )

    def describe(self, axis: str) -> str:
        """Return the verdict on an axis ("DE" or "DIR") in words."""
        change = f"{interval_text(self.change, signed=True)}, {axes_text(self.change)}"
        baseline = f"the {NO_BIOLOGY} ({self.control})"
        if self.verdict is None:
            return f"{axis}: no labels of both classes, so no verdict."
        if self.verdict == "cannot tell":
            return f"{axis} and {baseline} cannot be distinguished: {change}."
        return f"{axis} {'beats' if self.beats else 'is below'} {baseline}: {change}."


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Whether a run beats the baselines without biology, on each axis."""

    de: Verdict
    dir: Verdict


@dataclass(frozen=True, slots=True)
class RunControls:
    """The result "does the run beat what knows no biology?".

    fingerprint: of the sampling, which no run must beat. own: the run's score. scored: a
    description of the scoring; unit: the kind of score, such as "macro AUROC by gene"; n_labelled:
    of the run's rows. axis: the only question that sentence and figure are about; None: both.
    """

    controls: tuple[Control, ...]
    fingerprint: tuple[Control, ...]
    own: Control
    verdicts: Verdicts
    scored: str
    unit: str
    n_labelled: int
    run: Run = hidden()
    label_marks: LabelMarks = UNMARKED
    axis: Literal["de", "dir"] | None = hidden(default=None)
    json_properties = ("best", "beats_no_biology")

    @property
    def best(self) -> dict[str, str | None]:
        """The control that scores highest on each axis, the first of equal ones; permuted ones are
        no rivals."""
        return {axis: self._best(axis) for axis in ("de", "dir")}

    def _best(self, axis: str) -> str | None:
        rivals = {each.name: getattr(each, axis) for each in self.controls if not each.permuted}
        estimates = {name: value.estimate for name, value in rivals.items() if value is not None}
        return max(estimates, key=estimates.__getitem__) if estimates else None

    @property
    def beats_no_biology(self) -> dict[str, bool | None]:
        """Whether the run beats the control of each axis."""
        return {"de": self.verdicts.de.beats, "dir": self.verdicts.dir.beats}

    @property
    def title(self) -> str:
        """The question."""
        return (
            f"{self.axis.upper() if self.axis else 'DE and DIR'} beside the baselines without"
            " biology"
        )

    @property
    def sentence(self) -> str:
        """The verdicts."""
        axes = ("de", "dir") if self.axis is None else (self.axis,)
        return " ".join(getattr(self.verdicts, axis).describe(axis.upper()) for axis in axes)

    @property
    def scope(self) -> str:
        """Which rows count, and what the intervals are."""
        rows = (
            f"{self.run.name} · {self.n_labelled:,} labelled rows · {self.unit},"
            f" {scored_text(self.scored)}"
        )
        permuted = "of permuted labels and vectors the range of 95% of the permutations"
        return f"{rows} · 95% intervals {TWO_WAY}; {permuted}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before trusting the verdicts."""
        return tuple(filter(None, (self.label_marks.sentence, *fusion_caveats(self.run))))

    def tables(self) -> tuple[Table, ...]:
        """Return the run above its controls, and the fingerprint of the sampling with the scores of
        its reversed order."""
        fingerprint = (
            {
                **each.row,
                "DE reversed": reverse_value(each.de),
                "DIR reversed": reverse_value(each.dir),
            }
            for each in self.fingerprint
        )
        return (
            Table("Controls", tuple(each.row for each in (self.own, *self.controls))),
            Table(
                "Scores that the sampling alone gives away; a run need not beat them",
                tuple(fingerprint),
            ),
        )

    def figure(self) -> Figure | None:
        """Return the run and every control that says something on the axis; None for both axes, or
        without a score."""
        if self.axis is None or getattr(self.own, self.axis) is None:
            return None
        scores = [(each, getattr(each, self.axis)) for each in (self.own, *self.controls)]
        table = pd.DataFrame(
            {
                "name": each.name,
                "about": each.about,
                **value.columns,
                "n": value.n,
                "chosen": each is self.own,
            }
            for each, value in scores
            if value is not None
        )
        values = {"table": table, "title": f"{self.unit}, {self.axis.upper()}"}
        return Figure("core.plots.forest_plot:figure", values, self.sentence)


def judge_run(rows: RunRows) -> Verdicts:
    """Return whether a run beats count-only on DE and the rarer gene on DIR; the base rate on a
    dataset that is judged by genes.

    There the macro AUROC by gene counts, in which the base rate has exactly 0.5: pooled, a mean by
    gene would pass for skill. A run without finished rows has no verdict.
    """
    if not len(rows):
        nothing = Interval(math.nan, math.nan, math.nan, math.nan, 0, "row", "no row")
        return Verdicts(Verdict(COUNT_ONLY, nothing), Verdict(RARER_GENE, nothing))
    if rows.headline == "mean":
        comparison = compare_runs(count_rows(rows), rows).covered
        return Verdicts(
            Verdict(COUNT_ONLY, comparison.de.change.shown),
            Verdict(RARER_GENE, comparison.dir.change.shown),
        )
    within = score_within(rows.arrays, "gene")
    verdicts = []
    for part in (within.de, within.dir):
        value = part.macro.shown
        above = replace(
            value, estimate=value.estimate - 0.5, low=value.low - 0.5, high=value.high - 0.5
        )
        verdicts.append(Verdict(BASE_RATE, above))
    return Verdicts(*verdicts)


def control_run(
    rows: RunRows,
    splits: NDArray[np.object_],
    vectors: Floats | None = None,
    n: int = PERMUTATIONS,
    seed: int = SEED,
) -> RunControls:
    """Return all controls of a run. splits: of every row of its dataset; n, seed: of the
    permutations of labels.

    vectors: DE and DIR of a kNN's space with permuted vectors, of shape (n_permutations, 2); None
    if not computed.
    """
    counts = count_rows(rows).scores
    # Under a protocol no row sees the labels of its own gene or perturbation.
    controls = [
        score_control(rows, BASE_RATE, "one number for every row", constant(len(rows))),
        *(
            score_control(
                rows,
                f"{word} mean",
                _SEEN_MEAN.format(word),
                (
                    constant(len(rows))
                    if rows.protocols
                    else training_means(rows.index, splits, rows.positions, axis)
                ),
            )
            for axis, word in AXES
        ),
        _only(
            score_control(
                rows, COUNT_ONLY, "how often each gene was measured; uses no labels", counts
            ),
            "de",
        ),
        _only(
            score_control(
                rows,
                RARER_GENE,
                "rarely measured genes are more likely to go up; uses no labels",
                counts,
            ),
            "dir",
        ),
        *(
            _permuted_labels(rows, axis, word, n, np.random.default_rng(seed))
            for axis, word in AXES
        ),
    ]
    own_score = _score_own(rows)
    unit = "AUROC" if rows.headline == "mean" else MACRO_HEADLINE
    if rows.run.method == "knn":
        controls.append(_permuted_vectors(vectors, len(rows)))
    n = int(rows.arrays.outcome.labelled.sum())
    cut = (folds_among(rows.protocols) or [FINGERPRINT_CUT])[0]
    of_parts = (
        f"the mean label of the {{}}'s rows in other parts than the row, {cut.k}×{cut.k} cells, cut"
        f" {cut.seed}"
    )
    ways = (
        ("outside its part", of_parts, cut),
        ("leave-one-out", "the mean label of the {}'s other rows", EvaluationProtocol("loo")),
    )
    means = ((*way, axis, word) for way in ways for axis, word in AXES)
    fingerprint = tuple(
        score_control(
            rows,
            f"{word} mean, {name}",
            about.format(word),
            means_outside_part(rows.index, splits, rows.positions, axis, of),
        )
        for name, about, of, axis, word in means
    )
    verdicts = judge_run(rows)
    return RunControls(
        tuple(controls),
        fingerprint,
        own_score,
        verdicts,
        rows.scored,
        unit,
        n,
        rows.run,
        rows.marks,
    )


AXES: tuple[tuple[Literal["gene", "pert"], str], ...] = (("gene", "gene"), ("pert", "perturbation"))
_SEEN_MEAN = (
    "the mean label of the training rows of the {} that the run may see; the base rate if there is"
    " none"
)


def constant(n: int) -> Scores:
    """Return `n` equal scores."""
    return Scores(np.full(n, 0.5), np.full(n, 0.5))


def score_control(
    rows: RunRows, name: str, about: str, scores: Scores, protocols: Protocols | None = None
) -> Control:
    """Return the score of other numbers on a run's rows, inside the cells of these protocols; None:
    as the run is scored."""
    arrays = (
        rows.with_scores(scores).under(rows.protocols if protocols is None else protocols).arrays
    )
    pooled = score_of_rows(arrays)
    if rows.headline == "mean":
        de, direction, mean = map(_interval_of, (pooled.de, pooled.dir, pooled.mean))
        return Control(name, about, de, direction, mean)
    within = score_within(arrays, "gene")
    de, direction, mean = map(_interval_of, (within.de.macro, within.dir.macro, within.mean))
    part = Control(name, about, de, direction, mean, note=NO_SKILL if name == GENE_MEAN else None)
    return replace(part, pooled_de=_interval_of(pooled.de), pooled_dir=_interval_of(pooled.dir))


def _score_own(rows: RunRows) -> Control:
    """Return the run's own score, as the controls are scored."""
    score = score_run(rows)
    whole, headline, name = score.whole, score.headline, rows.run.name
    de, direction = _none_if_nan(headline.de), _none_if_nan(headline.dir)
    if rows.headline == "mean":
        return Control(name, OWN, de, direction, _none_if_nan(headline.value))
    mean = _none_if_nan(headline.value) if de and direction else None
    return Control(
        name,
        OWN,
        de,
        direction,
        mean,
        pooled_de=_interval_of(whole.de),
        pooled_dir=_interval_of(whole.dir),
    )


def _interval_of(value: Estimate) -> Interval | None:
    return _none_if_nan(value.shown)


def _none_if_nan(value: Interval) -> Interval | None:
    return None if math.isnan(value.estimate) else value


def reverse_value(value: Interval | None) -> float | None:
    """Return the AUROC of the numbers with reversed sign, or None."""
    return None if value is None else 1 - value.estimate


def _only(control: Control, axis: Literal["de", "dir"]) -> Control:
    """Return the control of a score without the other axis."""
    if axis == "de":
        return replace(control, dir=None, mean=None, pooled_dir=None)
    return replace(control, de=None, mean=None, pooled_de=None)


def _permuted_labels(
    rows: RunRows, axis: Unit, word: str, n: int, rng: np.random.Generator
) -> Control:
    """Return the run's score against labels permuted among the rows of each gene (perturbation)."""
    group = rows.gene if axis == "gene" else rows.pert
    macro = rows.gene if rows.headline == "macro" else None
    values = scores_of_permuted_labels(rows.arrays, group, n, rng, macro)
    about = f"the run against labels permuted within each {word}: mean and 95% range of {n}"
    return control_of_values(f"labels permuted within {word}s", about, values, len(rows), axis)


def _permuted_vectors(values: Floats | None, n_rows: int) -> Control:
    about = (
        "the same space with its vectors exchanged among the genes that it covers, mean of ten cuts"
    )
    if values is None:
        return Control(PERMUTED_VECTORS, f"{about}: not computed", None, None, None, permuted=True)
    return control_of_values(
        PERMUTED_VECTORS, f"{about}: mean and 95% range of {len(values)}", values, n_rows, "gene"
    )


def control_of_values(name: str, about: str, values: Floats, n_rows: int, unit: Unit) -> Control:
    """Return a control that was drawn n times, values of shape (n, 2): each axis' mean and the
    range of 95% of them."""

    def summary(column: Floats) -> Interval | None:
        if np.isnan(column).any():
            return None
        low, high = map(float, np.quantile(column, (0.025, 0.975)))
        return Interval(
            float(column.mean()),
            low,
            high,
            float(column.std(ddof=1)),
            n_rows,
            unit,
            "95% range of permutations",
        )

    return Control(
        name,
        about,
        summary(values[:, 0]),
        summary(values[:, 1]),
        summary(values.mean(axis=1)),
        permuted=True,
    )
