"""The rows of a run that is made from predicted expression: probabilities or ranks, with traces and flagged stand-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from core.cells.predicted_changes import PredictedChanges
from core.cells.probability_map import MapFit, fit_probability_map
from core.stats.arrays import Bools, Floats
from core.stats.ranks import percentiles
from core.stats.scores_and_labels import Outcome, outcome_of, submitted_parts
from core.texts import number_text
from core.types import TRAIN, Flag, Pair, Prediction, RowResult, TraceEvent

Scale = Literal["probabilities", "rank_only"]
_MIDDLE = 0.5  # the base rate if no label is known


@dataclass(frozen=True, slots=True)
class BaseRates:
    """The shares of effects among the labelled training pairs, and of up among those with a direction; .5 without any."""

    p_de: float
    p_up: float
    n: int
    n_directed: int


@dataclass(frozen=True, slots=True, eq=False)
class PredictedRows:
    """One row per pair. scale: "rank_only" if a map is missing or ranks were asked for: the numbers are then percentiles.

    why: of rank_only, "" for probabilities. maps: DE and DIR → the map, None if there is none.
    """

    rows: tuple[RowResult, ...]
    scale: Scale
    why: str
    maps: Mapping[str, MapFit]
    base_rates: BaseRates
    uncovered: int

    def record(self) -> dict[str, Any]:
        """Return the run's record of how its numbers were made, as plain data."""
        maps = {name: None if fit.map is None else asdict(fit.map) for name, fit in self.maps.items()}
        return {
            "scale": self.scale,
            "maps": {name: values if values is not None else self.maps[name].problem for name, values in maps.items()},
            "base_rates": asdict(self.base_rates),
            "uncovered": self.uncovered,
        }


def build_rows(pairs: Sequence[Pair], changes: PredictedChanges, *, rank_only: bool = False) -> PredictedRows:
    """Return the rows of a run, one a pair, in their order.

    Maps are fitted on the labelled pairs of the training split. A pair that the model does not cover gets the base rates of
    that split and Flag.NOT_PREDICTED. Without a map for DE or for DIR, or with rank_only, both numbers are percentiles
    (mid-rank / (n + 1)) among the covered pairs.
    """
    training = np.array([pair.split == TRAIN for pair in pairs], dtype=np.bool_)
    outcome = outcome_of(np.array([pair.label for pair in pairs], dtype=object))
    rates = base_rates_of(outcome, training)
    maps = {
        "DE": fit_probability_map(changes.evidence, outcome.effect, outcome.labelled & training),
        "DIR": fit_probability_map(changes.signed, outcome.up, outcome.directed & training),
    }
    why = "; ".join(f"{name}: {fit.problem}" for name, fit in maps.items() if fit.map is None)
    if rank_only:
        why = "ranks were asked for"
    de, up = _ranks_of(changes) if why else _probabilities_of(changes, maps)
    covered = changes.covered
    p_de, p_up = np.where(covered, de, rates.p_de), np.where(covered, up, rates.p_up)
    rows = _rows_of(pairs, changes, maps if not why else {}, (p_de, p_up))
    return PredictedRows(rows, "rank_only" if why else "probabilities", why, maps, rates, int((~covered).sum()))


def base_rates_of(outcome: Outcome, training: Bools) -> BaseRates:
    """Return the base rates of the labelled training pairs."""
    labelled, directed = outcome.labelled & training, outcome.directed & training
    n, n_directed = int(labelled.sum()), int(directed.sum())
    return BaseRates(
        float(outcome.effect[labelled].mean()) if n else _MIDDLE,
        float(outcome.up[directed].mean()) if n_directed else _MIDDLE,
        n,
        n_directed,
    )


def _ranks_of(changes: PredictedChanges) -> tuple[Floats, Floats]:
    return percentiles(changes.evidence), percentiles(changes.signed)


def _probabilities_of(changes: PredictedChanges, maps: Mapping[str, MapFit]) -> tuple[Floats, Floats]:
    de, direction = maps["DE"].map, maps["DIR"].map
    assert de is not None
    assert direction is not None
    return de.probabilities(changes.evidence), direction.probabilities(changes.signed)


def _rows_of(
    pairs: Sequence[Pair], changes: PredictedChanges, maps: Mapping[str, MapFit], probabilities: tuple[Floats, Floats]
) -> tuple[RowResult, ...]:
    p_de, p_up = probabilities
    up, down = submitted_parts(p_de, p_up)
    texts = _Arithmetic(changes, maps)
    rows = []
    for i, pair in enumerate(pairs):
        covered = bool(changes.covered[i])
        flags = () if covered else (Flag.NOT_PREDICTED,)
        text, meta = texts.describe(i, float(p_de[i]), float(p_up[i]))
        event = TraceEvent("predicted expression", "MODEL", "arithmetic", text, tokens=0, meta=meta)
        numbers = (float(up[i]), float(down[i]), float(p_de[i]), float(p_up[i]))
        rows.append(RowResult(Prediction(pair.pair_id, *numbers, "trace", flags, 0, 0, 0), (event,)))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class _Arithmetic:
    """Describes how a row's numbers came about. maps: empty under rank_only."""

    changes: PredictedChanges
    maps: Mapping[str, MapFit]

    def describe(self, i: int, p_de: float, p_up: float) -> tuple[str, dict[str, Any]]:
        """Return the text and the data of the trace's event for row i."""
        if not self.changes.covered[i]:
            text = f"The model says nothing of this pair: the base rates {p_de:.4f} and {p_up:.4f} stand in."
            return text, {}
        evidence, signed = float(self.changes.evidence[i]), float(self.changes.signed[i])
        meta = {"evidence": evidence, "signed": signed}
        lines = []
        if self.changes.log2_fc is not None and not np.isnan(self.changes.log2_fc[i]):
            meta["log2_fc"] = float(self.changes.log2_fc[i])
            lines.append(f"predicted log2 fold change {number_text(meta['log2_fc'], '+.4g')}")
        measure = "|log2 fold change|" if self.changes.measure == "log2_fc" else self.changes.measure.replace("z", "|z|")
        lines += [
            f"evidence of a change: {measure} = {evidence:.4g}",
            f"P(DE) {p_de:.4f} = {self._formula('DE', evidence)}",
            f"P(up | DE) {p_up:.4f} = {self._formula('DIR', signed)}",
        ]
        return "\n".join(lines), meta

    def _formula(self, name: str, value: float) -> str:
        fit = self.maps.get(name)
        if fit is None or fit.map is None:
            return f"percentile of {value:.4g} among the pairs that the model covers"
        sign = "−" if value < 0 else "+"
        return f"logistic({number_text(fit.map.intercept, '.4g')} {sign} {fit.map.slope:.4g} · log(1 + {abs(value):.4g}))"
