"""The rows of a run that is made from predicted expression: probabilities or ranks, with traces and
flagged stand-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from core.base.texts import number_text
from core.base.types import TRAIN, Flag, Pair, Prediction, RowResult, TraceEvent
from core.features.cells.predicted_table import PredictedChanges
from core.stats.arrays import Bools, Floats
from core.stats.ranks import percentiles
from core.stats.scores_and_labels import outcome_of, submitted_parts

Scale = Literal["probabilities", "rank_only"]
_MIDDLE = 0.5  # the base rate if no label is known


@dataclass(frozen=True, slots=True)
class BaseRates:
    """The shares of effects among the labelled training pairs, and of up among those with a
    direction; .5 without any."""

    p_de: float
    p_up: float
    n: int
    n_directed: int


@dataclass(frozen=True, slots=True, eq=False)
class PredictedRows:
    """One row per pair. scale: "rank_only" if a map is missing or ranks were asked for: the numbers
    are then percentiles.

    why: of rank_only, "" for probabilities. maps: DE and DIR → the map, or why there is none.
    """

    rows: tuple[RowResult, ...]
    scale: Scale
    why: str
    maps: Mapping[str, ProbabilityMap | str]
    base_rates: BaseRates
    uncovered: int

    def record(self) -> dict[str, Any]:
        """Return the run's record of how its numbers were made, as plain data."""
        return {
            "scale": self.scale,
            "maps": {
                name: fit if isinstance(fit, str) else asdict(fit)
                for name, fit in self.maps.items()
            },
            "base_rates": asdict(self.base_rates),
            "uncovered": self.uncovered,
        }


def build_rows(
    pairs: Sequence[Pair], changes: PredictedChanges, *, rank_only: bool = False
) -> PredictedRows:
    """Return the rows of a run, one a pair, in their order.

    Maps are fitted on the labelled pairs of the training split. A pair that the model does not
    cover gets the base rates of that split and Flag.NOT_PREDICTED. Without a map for DE or for DIR,
    or with rank_only, both numbers are percentiles (mid-rank / (n + 1)) among the covered pairs.
    """
    training = np.array([pair.split == TRAIN for pair in pairs], dtype=np.bool_)
    outcome = outcome_of(np.array([pair.label for pair in pairs], dtype=object))
    labelled, directed, covered = (
        outcome.labelled & training,
        outcome.directed & training,
        changes.covered,
    )
    n, n_directed = int(labelled.sum()), int(directed.sum())
    p_effect = float(outcome.effect[labelled].mean()) if n else _MIDDLE
    rates = BaseRates(
        p_effect, float(outcome.up[directed].mean()) if n_directed else _MIDDLE, n, n_directed
    )
    maps = {
        "DE": fit_probability_map(changes.evidence, outcome.effect, labelled),
        "DIR": fit_probability_map(changes.signed, outcome.up, directed),
    }
    why = "; ".join(f"{name}: {fit}" for name, fit in maps.items() if isinstance(fit, str))
    if rank_only:
        why = "ranks were asked for"
    p_de, p_up = (
        np.where(
            covered,
            fit.probabilities(values)
            if isinstance(fit, ProbabilityMap) and not why
            else percentiles(values),
            base_rate,
        )
        for fit, values, base_rate in (
            (maps["DE"], changes.evidence, rates.p_de),
            (maps["DIR"], changes.signed, rates.p_up),
        )
    )
    rows = _rows_of(pairs, changes, p_de, p_up)
    return PredictedRows(
        rows, "rank_only" if why else "probabilities", why, maps, rates, int((~covered).sum())
    )


def _rows_of(
    pairs: Sequence[Pair], changes: PredictedChanges, p_de: Floats, p_up: Floats
) -> tuple[RowResult, ...]:
    up, down = submitted_parts(p_de, p_up)
    measure = {"z": "|z|", "log2_fc": "|log2 fold change|"}.get(changes.measure, changes.measure)
    numbers = {"evidence": changes.evidence, "signed": changes.signed}
    if changes.log2_fc is not None:
        numbers["log2_fc"] = changes.log2_fc
    rows = []
    for i, (pair, covered) in enumerate(zip(pairs, changes.covered.tolist(), strict=True)):
        meta, text = dict[str, float](), ""
        if covered:
            meta = {name: float(of[i]) for name, of in numbers.items() if not np.isnan(of[i])}
            if "log2_fc" in meta:
                text = f"predicted log2 fold change {number_text(meta['log2_fc'], '+.4g')}\n"
            text += f"evidence of a change: {measure} = {meta['evidence']:.4g}"
        else:
            text = (
                f"The model says nothing of this pair: the base rates {p_de[i]:.4f} and"
                f" {p_up[i]:.4f} stand in."
            )
        event = TraceEvent("predicted expression", "MODEL", "arithmetic", text, tokens=0, meta=meta)
        prediction = Prediction(
            pair.pair_id,
            float(up[i]),
            float(down[i]),
            float(p_de[i]),
            float(p_up[i]),
            "trace",
            () if covered else (Flag.NOT_PREDICTED,),
            0,
            0,
            0,
        )
        rows.append(RowResult(prediction, (event,)))
    return tuple(rows)


# of the slope in standard deviations of s; without it labels that are separated perfectly have no
# fit
PRIOR_PRECISION = 0.01
# beyond these the 14 decimals that runs are ranked by cannot tell probabilities apart
LARGEST_LOG_ODDS = 20.0


@dataclass(frozen=True, slots=True)
class ProbabilityMap:
    """A logistic map; slope > 0. n, positives: of the training pairs that it was fitted on."""

    intercept: float
    slope: float
    n: int
    positives: int

    def probabilities(self, values: Floats) -> Floats:
        """Return the probabilities of values of shape (n,), in (0, 1); NaN stays NaN."""
        return np.asarray(expit(self.intercept + self.slope * signed_log(values)))


def signed_log(values: Floats) -> Floats:
    """sign(x) log(1 + |x|), which is strictly increasing; NaN stays NaN."""
    return np.sign(values) * np.log1p(np.abs(values))


def fit_probability_map(values: Floats, positive: Bools, used: Bools) -> ProbabilityMap | str:
    """Return a map fitted on the pairs that `used` marks, or why there is none; all arrays of shape
    (n_pairs,).

    values: finite, or NaN for pairs that the model does not cover, which are not used. Where the
    log odds of a value would be beyond LARGEST_LOG_ODDS, both coefficients are made smaller in
    proportion. There is no map without both classes, without two different values, or with a slope
    of 0 or below: the evidence then does not rise with the labels.
    """
    from sklearn.linear_model import LogisticRegression  # slow to import

    used = used & ~np.isnan(values)
    known, n_positive = positive[used], int(positive[used].sum())
    if n_positive in (0, len(known)):
        return (
            f"{len(known):,} covered training pairs with a label, {n_positive:,} of them positive"
        )
    x = signed_log(values)
    mean, sd = float(x[used].mean()), float(x[used].std())
    if np.ptp(x[used]) == 0:
        return f"the same value for all of its {len(known):,} labelled training pairs"
    model = LogisticRegression(C=1 / PRIOR_PRECISION, tol=1e-8, max_iter=1_000).fit(
        ((x[used] - mean) / sd)[:, None], known
    )
    slope = float(model.coef_[0, 0]) / sd
    if slope <= 0:
        return f"a slope of {slope:.3g} on {len(known):,} labelled training pairs, expected above 0"
    intercept = float(model.intercept_[0]) - slope * mean
    largest = float(np.nanmax(np.abs(intercept + slope * x)))
    shrink = min(1.0, LARGEST_LOG_ODDS / largest)
    return ProbabilityMap(intercept * shrink, slope * shrink, len(known), n_positive)
