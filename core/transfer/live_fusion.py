"""Turn a knob, see the scores: what can be prepared is, so that a weight or a power changes everything at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Codes
from core.stats.delong import Estimate, estimates
from core.stats.official_score import DE, DIR, MEAN, row_counts
from core.stats.scores_and_labels import Outcome, Scores, outcome_of, shared_rows, tasks
from core.transfer.cell_auroc import influence_within_cells
from core.transfer.fusion import Component, FusionResult, Percentiles, Reference, Weights, fuse, percentiles_of, weights_of
from core.transfer.labelled_rows import Rows


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One metric before and after, and the paired change, each with intervals by row, perturbation, gene and both."""

    before: Estimate
    after: Estimate
    change: Estimate


@dataclass(frozen=True, slots=True)
class FusionComparison:
    """The fused run at some weights against the baseline; n: rows; n_labelled, n_de: of them; NaN without labels."""

    fused: FusionResult
    n: int
    n_labelled: int
    n_de: int
    de: MetricChange
    dir: MetricChange
    mean: MetricChange


@dataclass(frozen=True, slots=True, eq=False)
class LiveFusion:
    """A fusion whose weights are to be changed; make it with `live`. cells: scored within, None: overall."""

    rows: Rows
    outcome: Outcome
    percentiles: Percentiles
    reference: Reference
    baseline: Scores
    cells: Codes | None

    def score_at(self, weights: Weights) -> FusionComparison:
        """Fused scores, all metrics with their intervals, and the change against the baseline."""
        fused = fuse(self.percentiles, weights)
        before, after = shared_rows(self.baseline, fused.scores())
        influence = influence_within_cells([*tasks(self.outcome, before), *tasks(self.outcome, after)], self.cells)
        none = np.zeros(2)
        alone = [np.concatenate(sides) for metric in (DE, DIR, MEAN) for sides in ((metric, none), (none, metric))]
        paired = [np.concatenate((-metric, metric)) for metric in (DE, DIR, MEAN)]
        scores = [found[0] for found in estimates(influence, self.rows.pert, self.rows.gene, alone)]
        moved = [found[0] for found in estimates(influence, self.rows.pert, self.rows.gene, paired, (-1.0, 1.0))]
        changes = map(MetricChange, scores[::2], scores[1::2], moved)
        return FusionComparison(fused, *row_counts(self.outcome, len(self.rows)), *changes)

    def with_component(self, position: int, component: Component) -> LiveFusion:
        """The same with one component exchanged, as after a change of its power; the baseline stays."""
        found = percentiles_of([component], self.reference)
        de, up = self.percentiles.de.copy(), self.percentiles.up.copy()
        de[position], up[position] = found.de[0], found.up[0]
        return replace(self, percentiles=Percentiles(de, up))


def live_fusion(
    labels: ArrayLike,
    rows: Rows,
    components: Sequence[Component],
    reference: Reference = "population",
    baseline: Scores | None = None,
    cells: Codes | None = None,
) -> LiveFusion:
    """Prepares a fusion of components, the base first, on rows of shape (n_rows,); baseline: None for the base alone."""
    outcome = outcome_of(labels)
    validate.same_length(labels=outcome.labelled, rows=rows, base=components[0].p_de)
    found = percentiles_of(components, reference)
    base = fuse(Percentiles(found.de[:1], found.up[:1]), weights_of([], [])).scores() if baseline is None else baseline
    return LiveFusion(rows, outcome, found, reference, base, cells)
