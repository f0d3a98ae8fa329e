"""The JSON that commands print for numbers: an interval is {estimate, low, high, se}, or null without labels.

The interval shown of an estimate also has the number of clusters behind its limits.
"""

from __future__ import annotations

import math
from typing import Any

from core.scoring.other_scores import OtherScores
from core.scoring.run_scores import Headline, RunScore
from core.stats.arrays import Floats
from core.stats.comparison import Comparison, Difference
from core.stats.delong import Estimate
from core.stats.intervals import Interval
from core.stats.official_score import Metrics, ScoreIntervals
from core.stats.slices import Slice
from core.stats.top_k import TopK
from core.stats.within_axis import WithinAxis, WithinTask
from core.transfer.cuts import MeanOfCuts
from core.transfer.permutation_null import KnnNumbers
from core.transfer.prior_provenance import Provenance

UNITS = ("row", "pert", "gene", "two_way")


def interval(value: Interval) -> dict[str, float] | None:
    """Return an interval, or null if it has no estimate."""
    if math.isnan(value.estimate):
        return None
    return {**value.columns, "se": value.se}


def shape_shown(value: Estimate) -> dict[str, float | int | None] | None:
    """Return the interval shown and the number of clusters behind its limits (null with one perturbation and one gene)."""
    found = interval(value.shown)
    return None if found is None else {**found, "clusters": value.shown.clusters}


def score(found: RunScore, product: Interval | None) -> dict[str, Any]:
    """Return `score`: the intervals shown first, every unit in `units`. product: the mean's conservative bootstrap, or None."""
    result = found.whole
    parts = {"de": result.de, "dir": result.dir, "mean": result.mean}
    units: dict[str, Any] = {unit: {name: interval(getattr(part, unit)) for name, part in parts.items()} for unit in UNITS}
    units["product"] = {"mean": interval(product) if product else None}
    return {
        **_three(result),
        "unit": "perturbations and genes: largest of the two-way (V_pert + V_gene - V_row), perturbation, gene and row "
        "standard errors, Student's t with Satterthwaite's degrees of freedom, logit limits",
        "scored": result.scored,
        "cuts": cuts(found.cuts),
        "headline": _headline(found.headline),
        "n_uncovered": found.n_uncovered,
        "covered": None if found.covered is None else _three(found.covered),
        "units": units,
    }


def _headline(found: Headline) -> dict[str, Any] | None:
    value = interval(found.value)
    if value is None:
        return None
    genes = {"de": None, "dir": None} if found.genes is None else dict(zip(("de", "dir"), found.genes, strict=True))
    parts = {axis: interval(part) for axis, part in (("de", found.de), ("dir", found.dir))}
    return {
        "name": found.name,
        **value,
        **{axis: None if part is None else {**part, "genes": genes[axis]} for axis, part in parts.items()},
    }


def _three(result: ScoreIntervals) -> dict[str, Any]:
    """Return row counts, and DE, DIR and their mean."""
    return {**_counts(result), **{name.lower(): shape_shown(part) for name, part in result.parts.items()}}


def cuts(values: Floats) -> dict[str, Any] | None:
    """Return how DE, DIR and their mean vary over cuts of the folds; values: of shape (n_cuts, 2); null if none is known."""
    if not len(values):
        return None
    columns = {"de": values[:, 0], "dir": values[:, 1], "mean": values.mean(axis=1)}
    ranges = {f"{name}_range": [float(column.min()), float(column.max())] for name, column in columns.items()}
    return {"n": len(values), **{f"{name}_sd": float(column.std(ddof=1)) for name, column in columns.items()}, **ranges}


def _counts(result: Metrics[Any]) -> dict[str, int]:
    return {"n": result.n, "n_labelled": result.n_labelled, "n_de": result.n_de}


def costliest_first(by_slice: tuple[Slice, ...]) -> list[Slice]:
    """Return slices by what they cost the mean, those without a cost last."""
    return sorted(by_slice, key=lambda part: (math.isnan(part.mean.cost), -part.mean.cost))


def slices(by_slice: tuple[Slice, ...], scored: str) -> dict[str, Any]:
    """Return `score --by`: how they are scored, and the slices, the costliest first."""
    return {
        "scored": scored,
        "slices": [
            {
                "name": part.name,
                **_counts(part),
                **{name: shape_shown(getattr(part, name).score) for name in ("de", "dir", "mean")},
                "cost": part.mean.cost,
            }
            for part in costliest_first(by_slice)
        ],
    }


def other_scores(found: OtherScores) -> dict[str, Any]:
    """Return more of `score`: macro averages, precision at k."""
    return {
        "macro": {"gene": macro(found.within_gene), "pert": macro(found.within_pert)},
        "at_k": {metric: [_at_k(one) for one in each] for metric, each in found.top.items()},
    }


def macro(found: WithinAxis) -> dict[str, Any]:
    """Return the means of the AUROCs of genes, or of perturbations."""
    return {"de": _within_task(found.de), "dir": _within_task(found.dir), "mean": shape_shown(found.mean)}


def _within_task(found: WithinTask) -> dict[str, Any] | None:
    mean = shape_shown(found.macro)
    return None if mean is None else {**mean, "groups": found.groups, "one_class": found.one_class}


def _at_k(found: TopK) -> dict[str, Any]:
    base_rate = None if math.isnan(found.base_rate) else found.base_rate
    return {"k": found.k, "precision": shape_shown(found.precision), "base_rate": base_rate}


def changes(result: Comparison) -> dict[str, Any]:
    """Return row counts and the changes of DE, DIR and their mean, each with the interval of every unit."""
    parts = {"delta_de": result.de, "delta_dir": result.dir, "delta_mean": result.mean}
    return {**_counts(result), **{name: _change(part) for name, part in parts.items()}}


def _change(part: Difference) -> dict[str, Any] | None:
    top = shape_shown(part.change)
    return None if top is None else {**top, **{unit: interval(getattr(part.change, unit)) for unit in UNITS}}


def knn(numbers: KnnNumbers, seconds: float) -> dict[str, Any]:
    """Return `knn` in the contract's form: numbers and their intervals; null without labels.

    de, dir: the number of the space, under folds the mean of ten cuts; saved: the scores of a run with this seed.
    """
    evaluation, folds = numbers.evaluation, numbers.protocol.kind == "folds"
    parts = {
        "de": numbers.score.de,
        "dir": numbers.score.dir,
        "de_covered": numbers.covered.de,
        "dir_covered": numbers.covered.dir,
        "null_de": evaluation.null.de,
        "null_dir": evaluation.null.dir,
    }
    saved = {"de": evaluation.score.de.value, "dir": evaluation.score.dir.value, "seed": numbers.protocol.seed if folds else None}
    three = {"de": numbers.score.de, "dir": numbers.score.dir, "mean": numbers.score.mean}
    return {
        "coverage": evaluation.coverage,
        **{name: part.value for name, part in parts.items()},
        "scored": numbers.score.scored,
        "cuts": None if numbers.cuts is None else _cuts(numbers.cuts),
        "saved": saved,
        "permuted": _permutation_null(numbers),
        "seconds": seconds,
        "n": evaluation.null.n,
        "n_covered": evaluation.covered.n,
        "intervals": {name: shape_shown(part) for name, part in {**parts, "mean": numbers.score.mean}.items()},
        "units": {unit: {name: interval(getattr(part, unit)) for name, part in three.items()} for unit in UNITS},
    }


def _cuts(cuts: MeanOfCuts) -> dict[str, Any]:
    values = {"de": cuts.all_rows.values[:, 0], "dir": cuts.all_rows.values[:, 1]}
    sd = dict(zip(("de_sd", "dir_sd", "mean_sd"), cuts.all_rows.sd.tolist(), strict=True))
    ranges = {f"{name}_{end}": float(of(column)) for name, column in values.items() for end, of in (("low", min), ("high", max))}
    every = {name: column.tolist() for name, column in values.items()}
    return {"n": len(cuts.seeds), "k": cuts.k, "seeds": list(cuts.seeds), **every, **sd, **ranges}


def _permutation_null(numbers: KnnNumbers) -> dict[str, Any] | None:
    tests = numbers.test_against_null()
    if tests is None or numbers.null is None:
        return None
    found: dict[str, Any] = {"n": len(numbers.null.values), "seed": numbers.null.seed}
    for name, test in zip(("de", "dir", "mean"), tests, strict=True):
        found |= {f"{name}_mean": test.mean, f"{name}_sd": test.sd, f"{name}_p": test.p}
    return found


def neighbours(why: Provenance, pair_ids: list[str], labels: list[str]) -> dict[str, Any]:
    """Return `neighbours`: each one's weight and share in prior_de and in prior_up, heaviest first."""
    columns = (why.similarity, why.weight, why.share, why.weight_up, why.share_up)
    names = ("pair_id", "label", "similarity", "weight", "share", "weight_up", "share_up")
    rows = zip(pair_ids, labels, *(column.tolist() for column in columns), strict=True)
    return {
        "prior_de": why.prior_de,
        "prior_up": why.prior_up,
        "neighbours": [dict(zip(names, row, strict=True)) for row in rows],
    }
