"""Scores of runs, slices, and the numbers of a kNN and its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.base.result import Result
from core.features.neighbours.result import KnnResult, NeighboursResult
from core.features.scores.calibration import CalibrationResult
from core.features.scores.slices import MeansResult, SlicesResult
from core.scoring.controls import control_run
from core.scoring.other_scores import other_scores_of_run
from core.scoring.run_scores import RunRows, count_rows, resample_mean, score_counts, score_run
from core.scoring.score_result import ScoreResult
from core.transfer.prior_provenance import Provenance
from tests.example_results.comparisons import MARKS, N, rows
from tests.features.neighbours.test_knn_result import FOLDS, LOO, NULL, numbers

SPLITS = np.full(N, "train", dtype=object)


def score(run: RunRows, same: tuple[str, ...] = (), constant: tuple[str, ...] = ()) -> ScoreResult:
    result = ScoreResult(same, constant, run.marks, run.run, score_run(run))
    return replace(result, others=other_scores_of_run(run, result.score))


def neighbours(n: int) -> NeighboursResult:
    share = np.full(n, 1 / n)
    why = Provenance(np.arange(n), share, share, share, share, share, 0.4137, 0.5216)
    return NeighboursResult.of("P1_G1", "a kNN", why, [f"P{i}_G2" for i in range(n)], ["up"] * n)


def examples() -> Sequence[Result]:
    run, fused = rows("good", 0.1), rows("fused", 0.3, method="fusion")
    by_gene = rows("by gene", 0.3, headline="macro")
    controls = control_run(fused, SPLITS, n=3)
    counts = other_scores_of_run(count_rows(run), score_counts(run))
    own = other_scores_of_run(run, score_run(run))
    return (
        replace(score(run, ("the same",)), product=resample_mean(run, 0)),
        score(fused, constant=("The run x changes no order.",)),
        score(by_gene),
        score(rows("unlabelled", 0.1, labelled=False)),
        SlicesResult.of(run, "gene's rows", "mean", score_run(run), score_counts(run)),
        SlicesResult.of(run, "perturbation"),
        KnnResult.of(numbers(FOLDS, NULL), "a kNN", 0.5, MARKS),
        replace(
            KnnResult.of(numbers(LOO), "a kNN", 0.5, MARKS), run="saved", remarks=("A remark.",)
        ),
        neighbours(30),
        MeansResult.of(run, "DE", own, counts),
        MeansResult.of(run, "DIR", own),
        controls,
        CalibrationResult.of(run, "P(DE)", recalibrated=True),
        CalibrationResult.of(rows("unlabelled", 0.1, labelled=False), "P(up | DE)"),
        replace(controls, axis="de"),
        replace(control_run(by_gene, SPLITS, n=3), axis="dir"),
    )
