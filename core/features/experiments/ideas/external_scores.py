"""Scores computed elsewhere (in-silico deletion, public screens) compared with row counts."""

from __future__ import annotations

import numpy as np

from core.base.errors import InputError
from core.features.experiments.ideas.arms import Ranking, Trial, mask_scores
from core.features.experiments.ideas.idea import Judged, OfRuns, idea
from core.features.experiments.ideas.material import Material
from core.stats.count_controls import count_only, rarer_gene
from core.stats.scores_and_labels import scores_from_probabilities


def _judge_external(material: Material, chosen: OfRuns) -> Judged:
    runs = material.load_runs(chosen.runs) or [
        material.load_run(run.id) for run in material.external
    ]
    scores = [material.scores_of(run) for run in runs]
    here = np.logical_and.reduce([~np.isnan(each.p_de) | ~np.isnan(each.p_up) for each in scores])
    if not here.any():
        raise InputError(
            "runs: no labelled row is scored by all of them, expected runs on the same rows"
        )
    rows = material.rows
    counts = scores_from_probabilities(count_only(rows.pert, rows.gene), rarer_gene(rows.gene))
    arms = [Ranking("row counts alone", (mask_scores(counts, here),), "knows no biology")]
    arms += [
        Ranking(run.run.name, (mask_scores(each, here),), run=run.run.id)
        for run, each in zip(runs, scores, strict=True)
    ]
    remark = (
        f"Scored on the {int(here.sum()):,} of {len(here):,} labelled rows covered by all runs."
        " Their training data are unknown."
    )
    return Judged(Trial(material.labels, rows, (None,), "all rows"), arms, (remark,))


EXTERNAL_SCORES = idea(
    "external_scores",
    "External scores",
    "Do scores from elsewhere (in-silico deletion, public screens) say more than how often a gene"
    " was measured?",
    ("labels", "external"),
    OfRuns,
    _judge_external,
)
