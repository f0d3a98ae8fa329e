"""Labels of (perturbation, gene) pairs from differential expression: up, down, none, or neither of
these (left out)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import pandas as pd
from annotated_types import Gt, Le

from core.base.errors import InputError
from core.base.fields.record import check_values
from core.base.fields.setting import Positive, setting
from core.features.cells.differential_expression import GeneChanges, GuideExpression
from core.features.cells.gene_names import GeneNames

UP, DOWN, NONE, LEFT_OUT = 1, -1, 0, 2  # codes of labels
MOST_REMAINING = 0.7  # the share of a target's expression that a working guide may leave


_HALF_MORE: Final = math.log2(1.5)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The definition of up, down and none; pairs in between are left out.

    up or down: FDR < fdr and |log2 fold change| ≥ log2_fc. none: FDR ≥ none_fdr and |log2 fold
    change| < none_log2_fc. Source: the BioReasoning challenge, whose fold changes are shrunk; these
    are not.
    """

    fdr: Annotated[
        float, Gt(0), Le(1), setting("Up or down: FDR below this.", title="Up or down: FDR below")
    ] = 0.05
    log2_fc: Annotated[
        Positive,
        setting(
            "Up or down: |log2 fold change| of at least this.",
            title="… and |log2 fold change| from",
        ),
    ] = _HALF_MORE
    none_fdr: Annotated[
        float, Gt(0), Le(1), setting("None: FDR of at least this.", title="None: FDR from")
    ] = 0.05
    none_log2_fc: Annotated[
        Positive,
        setting("None: |log2 fold change| below this.", title="… and |log2 fold change| below"),
    ] = 0.25

    def __post_init__(self) -> None:
        check_values(self)
        if self.none_log2_fc > self.log2_fc:
            raise InputError(
                f"log2 fold changes: got {self.log2_fc:g} for an effect and {self.none_log2_fc:g}"
                " for none, expected the first not below the second"
            )
        if self.none_fdr < self.fdr:
            raise InputError(
                f"FDR of none: got {self.none_fdr:g}, expected at least the FDR of an effect"
                f" ({self.fdr:g})"
            )


def label_pairs(
    changes: GeneChanges, targets: Iterable[str], genes: GeneNames, thresholds: Thresholds
) -> np.ndarray:
    """Return the code of each pair's label (UP, DOWN, NONE, LEFT_OUT), int8 of shape (n_targets,
    n_genes).

    An effect is one of the replicates, too, where they were tested. A perturbation's own target is
    left out, since that it falls says only that the guide works; so are genes without a p.
    """
    size = np.abs(changes.log2_fc)
    effect = (changes.fdr < thresholds.fdr) & (size >= thresholds.log2_fc)
    if changes.replicates is not None:  # NaN where a perturbation has none
        effect &= ~(changes.replicates.fdr >= thresholds.fdr)
    codes = np.full(size.shape, LEFT_OUT, dtype=np.int8)
    codes[(changes.fdr >= thresholds.none_fdr) & (size < thresholds.none_log2_fc)] = NONE
    codes[effect] = np.where(changes.log2_fc[effect] > 0, UP, DOWN)
    position = {gene: i for i, gene in enumerate(genes.names)}
    for i, target in enumerate(targets):
        for own in genes.ambiguous.get(target, (target,)):  # several share its name
            if own in position:
                codes[i, position[own]] = LEFT_OUT
    return codes


def knockdown_table(
    guides: Iterable[GuideExpression], most_remaining: float = MOST_REMAINING
) -> pd.DataFrame:
    """Return a row for each perturbation (guide "") and guide: target, guide, n_cells, mean,
    control_mean, remaining, failed.

    remaining: the target's mean expression over the controls', NaN where these do not express it.
    failed: above `most_remaining`; None if unknown.
    """
    rows = []
    for each in guides:
        remaining = each.mean / each.control_mean if each.control_mean > 0 else math.nan
        failed = None if math.isnan(remaining) else remaining > most_remaining
        rows.append(
            (each.target, each.guide, each.n_cells, each.mean, each.control_mean, remaining, failed)
        )
    columns = ["target", "guide", "n_cells", "mean", "control_mean", "remaining", "failed"]
    return pd.DataFrame(rows, columns=columns).astype({"failed": "boolean", "remaining": float})
