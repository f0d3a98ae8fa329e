"""A table of predicted changes, in any format, of which only the requested pairs are kept; and the
rows of a run that is made from predicted expression: probabilities or ranks, with traces and
flagged stand-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from core.base.texts import number_text
from core.base.types import TRAIN, Flag, Pair, Prediction, Rejected, RowResult, TraceEvent
from core.features.cells.change_rows import KEYS, ask_about_repeats, read_changes
from core.features.importing.perturbations import read_perturbations
from core.features.importing.roles import AS_GUESSED, TableOptions, is_often
from core.stats.arrays import Bools, Codes, Floats
from core.stats.ranks import percentiles
from core.stats.scores_and_labels import outcome_of, submitted_parts

FORMATS = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".xlsm", ".json", ".jsonl")
# replaces a p-value of 0, which has no logarithm
_SMALLEST_P: Final = float(np.finfo(np.float64).tiny)


def read_predicted_table(
    path: Path, wanted: WantedPairs, options: TableOptions = AS_GUESSED
) -> PredictedChanges:
    """Return a table's predictions of the wanted pairs.

    Evidence of a change is |z|, from a column z or the change / standard_error, else -log10 p, else
    |log2_fc|; the signed one has the sign of the change. Rows of other pairs are counted, not kept.
    A row that repeats a pair, has an empty cell or no number, or one that its column cannot hold,
    is rejected. Raise InputError as `read_changes`, and for repeats that another column explains.
    """
    known, values = set(wanted.perts), set[str]()

    def places_of(perts: np.ndarray, genes: np.ndarray) -> Codes:
        meanings = read_perturbations(perts, known).of_value
        return wanted.places_of(
            np.array([meanings[pert].name for pert in perts], dtype=object), genes
        )

    def keep(perts: np.ndarray, genes: np.ndarray) -> Bools:
        values.update(perts)
        return places_of(perts, genes) >= 0

    table = read_changes(path, options, keep)
    rows = table.rows
    places = pd.Series(places_of(rows["pert"].to_numpy(), rows["gene"].to_numpy()), rows.index)
    again = places.duplicated()
    if is_often(int(again.sum()), len(rows)):
        ask_about_repeats(path, options, places[places.duplicated(keep=False)])
    rejected = [
        Rejected(
            path.name,
            line,
            "duplicate",
            f"{wanted.pairs[place].pair_id!r} stands in an earlier row already",
        )
        for line, place in zip(places.index[again].tolist(), places[again].tolist(), strict=True)
    ]
    numbers = rows[~again].drop(columns=[*KEYS]).set_axis(places[~again])
    of_pairs = numbers.reindex(range(len(wanted.pairs)))
    evidence, signed, measure = _evidence_of(
        {str(role): column.to_numpy() for role, column in of_pairs.items()}
    )
    return PredictedChanges(
        evidence=evidence,
        signed=signed,
        log2_fc=of_pairs["log2_fc"].to_numpy() if "log2_fc" in of_pairs else None,
        measure=measure,
        read_as=table.columns,
        rejected=tuple(sorted((*table.rejected, *rejected), key=lambda row: row.line)),
        other_pairs=table.n_rows - table.n_chosen,
        values=tuple(sorted(values)[:SHOWN_VALUES]),
        notes=table.notes,
    )


def _evidence_of(numbers: Mapping[str, Floats]) -> tuple[Floats, Floats, str]:
    """Return evidence, signed evidence and the measure; see `read_predicted_table`."""
    change = numbers.get("log2_fc")
    if "z" in numbers:
        return np.abs(numbers["z"]), numbers["z"], "z"
    assert change is not None  # or there is z
    if "standard_error" in numbers:
        z = change / numbers["standard_error"]
        return np.abs(z), z, "z"
    p = numbers.get("p", numbers.get("adjusted_p"))
    if p is None:
        return np.abs(change), change, "log2_fc"
    evidence = -np.log10(np.maximum(p, _SMALLEST_P))
    return evidence, np.sign(change) * evidence, "-log10 p"


SHOWN_VALUES = 3


@dataclass(frozen=True, eq=False)
class WantedPairs:
    """The pairs of a dataset, in its order, each once."""

    pairs: Sequence[Pair]

    @cached_property
    def perts(self) -> tuple[str, ...]:
        return tuple(pair.pert for pair in self.pairs)

    @cached_property
    def genes(self) -> tuple[str, ...]:
        return tuple(pair.gene for pair in self.pairs)

    @cached_property
    def _index(self) -> pd.MultiIndex:
        return pd.MultiIndex.from_arrays([self.perts, self.genes])

    def places_of(self, perts: np.ndarray, genes: np.ndarray) -> Codes:
        """Return the place of each (perturbation, gene) among the pairs, of shape (n,); -1 for
        others."""
        return self._index.get_indexer(pd.MultiIndex.from_arrays([perts, genes]))


@dataclass(frozen=True, slots=True, eq=False)
class PredictedChanges:
    """A file's predictions of n_pairs pairs, of shape (n_pairs,), NaN for a pair that it does not
    cover.

    evidence: of a change, from 0. signed: the same with the direction of the change. log2_fc: None
    if the file has none. measure: what evidence is, "z", "-log10 p" or "log2_fc". read_as: choice →
    the column or value of the file. other_pairs: how many rows, or perturbations, of the file are
    not in the dataset. values: some of its perturbations. notes: how a table was read, in words.
    """

    evidence: Floats
    signed: Floats
    log2_fc: Floats | None
    measure: str
    read_as: Mapping[str, str]
    rejected: tuple[Rejected, ...] = ()
    other_pairs: int = 0
    values: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def covered(self) -> Bools:
        """Flags of the pairs covered by the file."""
        return ~np.isnan(self.signed)


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
