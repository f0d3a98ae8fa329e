"""external_scores: scores computed elsewhere (in-silico deletion, public screens) compared with row counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.errors import InputError
from core.experiments.ablations.arms import Arm, Trial, describe_changes, mask_scores, one_cut, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.methods.base import Option
from core.scoring.run_scores import RunRows
from core.stats.count_controls import count_only, rarer_gene
from core.stats.scores_and_labels import Scores, scores_from_probabilities
from core.types import EXTERNAL_SCORE

COUNTS = "row counts alone"
MOST = 12


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    runs = material.chosen_runs(options["runs"])
    if not runs:
        here = [run for run in material.runs if run.method == EXTERNAL_SCORE and run.id in material.labelled_runs]
        runs = [material.load_run(run.id) for run in here[:MOST]]
    if len(runs) > MOST:
        raise InputError(f"runs: got {len(runs)}, expected at most {MOST}")
    trial = Trial(material.labels, material.rows, (None,), "all rows")
    scores = [scores_on_labelled_rows(material, run) for run in runs]
    here = np.logical_and.reduce([~np.isnan(each.p_de) | ~np.isnan(each.p_up) for each in scores])
    if not here.any():
        raise InputError("runs: no labelled row is scored by all of them, expected runs on the same rows")
    counts = scores_from_probabilities(count_only(trial.rows.pert, trial.rows.gene), rarer_gene(trial.rows.gene))
    arms: list[Arm] = [one_cut(COUNTS, mask_scores(counts, here), trial, "knows no biology")]
    arms += [one_cut(run.run.name, mask_scores(each, here), trial) for run, each in zip(runs, scores, strict=True)]
    table = score_arms(trial, arms, COUNTS)
    n = int(here.sum())
    remark = f"Scored on the {n:,} of {len(here):,} labelled rows covered by all runs. Their training data are unknown."
    sentence = " ".join(describe_changes(table, COUNTS, metric) for metric in ("DE", "DIR"))
    return Outcome(table, sentence, (remark,))


def scores_on_labelled_rows(material: Material, run: RunRows) -> Scores:
    """Return a run's scores on the labelled rows of the dataset, NaN for missing rows."""
    de, up = np.full((2, len(material.index.pair_ids)), np.nan)
    de[run.positions], up[run.positions] = run.scores.p_de, run.scores.p_up
    known = material.index.known_positions
    return Scores(de[known], up[known])


ABLATION = Ablation(
    name="external_scores",
    title="External scores",
    question="Do scores from elsewhere (in-silico deletion, public screens) say more than how often a gene was measured?",
    needs=("labels", "external"),
    options=(Option("runs", "runs", "", "Runs to compare; by default every external score on labelled rows."),),
    make=_make,
)
