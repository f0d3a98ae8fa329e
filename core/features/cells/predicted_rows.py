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
    fitted = {
        name: fit for name, fit in maps.items() if isinstance(fit, ProbabilityMap) and not why
    }
    p_de, p_up = (
        np.where(
            covered,
            fitted[name].probabilities(values) if name in fitted else percentiles(values),
            base_rate,
        )
        for name, values, base_rate in (
            ("DE", changes.evidence, rates.p_de),
            ("DIR", changes.signed, rates.p_up),
        )
    )
    rows = _rows_of(pairs, changes, fitted, (p_de, p_up))
    return PredictedRows(
        rows, "rank_only" if why else "probabilities", why, maps, rates, int((~covered).sum())
    )


def _rows_of(
    pairs: Sequence[Pair],
    changes: PredictedChanges,
    maps: Mapping[str, ProbabilityMap],
    probabilities: tuple[Floats, Floats],
) -> tuple[RowResult, ...]:
    up, down = submitted_parts(*probabilities)
    rows = []
    for i, (pair, covered) in enumerate(zip(pairs, changes.covered.tolist(), strict=True)):
        p_de, p_up = (float(values[i]) for values in probabilities)
        text, meta = (
            (
                f"The model says nothing of this pair: the base rates {p_de:.4f} and {p_up:.4f}"
                " stand in."
            ),
            dict[str, float](),
        )
        if covered:
            text, meta = _describe(changes, maps, i, (p_de, p_up))
        event = TraceEvent("predicted expression", "MODEL", "arithmetic", text, tokens=0, meta=meta)
        flags = () if covered else (Flag.NOT_PREDICTED,)
        prediction = Prediction(
            pair.pair_id, float(up[i]), float(down[i]), p_de, p_up, "trace", flags, 0, 0, 0
        )
        rows.append(RowResult(prediction, (event,)))
    return tuple(rows)


def _describe(
    changes: PredictedChanges,
    maps: Mapping[str, ProbabilityMap],
    i: int,
    probabilities: tuple[float, float],
) -> tuple[str, dict[str, float]]:
    """Return how the numbers of row i came about, as text and as data. maps: empty under
    rank_only."""
    evidence, signed = float(changes.evidence[i]), float(changes.signed[i])
    meta, lines = {"evidence": evidence, "signed": signed}, []
    if changes.log2_fc is not None and not np.isnan(changes.log2_fc[i]):
        meta["log2_fc"] = float(changes.log2_fc[i])
        lines.append(f"predicted log2 fold change {number_text(meta['log2_fc'], '+.4g')}")
    measure = (
        "|log2 fold change|"
        if changes.measure == "log2_fc"
        else changes.measure.replace("z", "|z|")
    )
    lines += [
        f"evidence of a change: {measure} = {evidence:.4g}",
        f"P(DE) {probabilities[0]:.4f} = {_formula(maps.get('DE'), evidence)}",
        f"P(up | DE) {probabilities[1]:.4f} = {_formula(maps.get('DIR'), signed)}",
    ]
    return "\n".join(lines), meta


def _formula(found: ProbabilityMap | None, value: float) -> str:
    if found is None:
        return f"percentile of {value:.4g} among the pairs that the model covers"
    sign = "−" if value < 0 else "+"
    return (
        f"logistic({number_text(found.intercept, '.4g')} {sign} {found.slope:.4g} · log(1 +"
        f" {abs(value):.4g}))"
    )


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
