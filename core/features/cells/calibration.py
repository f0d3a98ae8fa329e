"""Count the effects that the thresholds of labels find among mock perturbations, which have
none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.base.result import LabelMarks
from core.features.cells.comparisons import MockChanges
from core.features.cells.labels import Thresholds
from core.stats.multiplicity import benjamini_hochberg


@dataclass(frozen=True, slots=True)
class Calibration:
    """How many effects are found if there are none.

    mocks, cells, guides, genes: how many were drawn, of how many genes. false_effects: a mock's
    mean number of labels up or down, for all genes. real_effects: a perturbation's mean number.
    false_share: the mean share of a perturbation's effects that mocks have too: of one effect where
    a perturbation has fewer, of all at most. nominal: what the FDR allows. p_below: the share of
    the mocks' p (of cells) below 5%.
    """

    mocks: int
    cells: int
    guides: int
    genes: int
    of_genes: int
    false_effects: float
    real_effects: float
    false_share: float
    nominal: float
    p_below: float

    @property
    def marked(self) -> bool:
        """Whether the rate of false effects exceeds twice the nominal rate."""
        return LabelMarks(self.false_share, self.nominal).marked

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self) | {"marked": self.marked}


def calibrate(
    changes: MockChanges, thresholds: Thresholds, real_effects: float, n_genes: int
) -> Calibration:
    """Return how often the same thresholds call effects in mocks. real_effects: a perturbation's
    mean number."""
    mocks = changes.mocks
    fdr, replicate_fdr = (
        np.apply_along_axis(benjamini_hochberg, 1, p) for p in (changes.p, changes.replicate_p)
    )
    found = (
        (fdr < thresholds.fdr)
        & (np.abs(changes.log2_fc) >= thresholds.log2_fc)
        & ~(replicate_fdr >= thresholds.fdr)
    )
    effects = found.sum(axis=1)
    scaled = effects * n_genes / len(mocks.genes)
    known = changes.p[np.isfinite(changes.p)]
    return Calibration(
        mocks=len(effects),
        cells=int(np.median([len(each.cells) for each in mocks.groups])),
        guides=mocks.n_guides,
        genes=len(mocks.genes),
        of_genes=n_genes,
        false_effects=float(scaled.mean()),
        real_effects=real_effects,
        false_share=float(np.minimum(scaled / max(1.0, real_effects), 1).mean()),
        nominal=thresholds.fdr,
        p_below=float((known < 0.05).mean()) if len(known) else 0.0,
    )
