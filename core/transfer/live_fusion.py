"""A fusion whose weights change on a page. Everything that does not depend on the weights is
computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from core.base.result import hidden
from core.stats import validate
from core.stats.arrays import Codes
from core.stats.cell_auroc import influence_within_cells
from core.stats.comparison import paired_estimates
from core.stats.delong import Estimate
from core.stats.official_score import Metrics, row_counts
from core.stats.scores_and_labels import Outcome, Scores, outcome_of, shared_rows, tasks
from core.transfer.fusion import (
    Component,
    FusionResult,
    Percentiles,
    Reference,
    Weights,
    fuse,
    percentiles_of,
    weights_of,
)
from core.transfer.row_index import Rows


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One metric of the baseline (before) and of the fusion (after), with the paired change, each
    with all intervals."""

    before: Estimate
    after: Estimate
    change: Estimate


@dataclass(frozen=True, slots=True)
class FusionComparison(Metrics[MetricChange]):
    """A fusion at some weights against the baseline, in DE, DIR and their mean; NaN without
    labels."""

    fused: FusionResult = hidden()


@dataclass(frozen=True, slots=True, eq=False)
class LiveFusion:
    """A fusion whose weights can change; made by `live_fusion`. cells: pairs are scored inside
    them, None: all pairs."""

    rows: Rows
    outcome: Outcome
    percentiles: Percentiles
    reference: Reference
    baseline: Scores
    cells: Codes | None

    def score_at(self, weights: Weights) -> FusionComparison:
        """Return the fusion at these weights: its scores, all metrics with intervals, and the
        changes against the baseline."""
        fused = fuse(self.percentiles, weights)
        before, after = shared_rows(self.baseline, fused.scores())
        influence = influence_within_cells(
            [*tasks(self.outcome, before), *tasks(self.outcome, after)], self.cells
        )
        differences = paired_estimates(influence, self.rows.pert, self.rows.gene)
        de, direction, mean = (
            MetricChange(difference.a, difference.b, difference.change)
            for difference in differences
        )
        return FusionComparison(
            *row_counts(self.outcome, len(self.rows)), de, direction, mean, fused
        )


def live_fusion(
    labels: ArrayLike,
    rows: Rows,
    components: Sequence[Component],
    reference: Reference = "population",
    baseline: Scores | None = None,
    cells: Codes | None = None,
) -> LiveFusion:
    """Prepare a fusion of components, the base first, on rows of shape (n_rows,); baseline: None
    for the base alone."""
    outcome = outcome_of(labels)
    validate.same_length(labels=outcome.labelled, rows=rows, base=components[0].p_de)
    percentiles = percentiles_of(components, reference)
    base = (
        fuse(Percentiles(percentiles.de[:1], percentiles.up[:1]), weights_of([], [])).scores()
        if baseline is None
        else baseline
    )
    return LiveFusion(rows, outcome, percentiles, reference, base, cells)
