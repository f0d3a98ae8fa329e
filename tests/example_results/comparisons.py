"""Comparisons of runs: of 300 rows, within a margin, by genes, of fusions, without labels, and several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from core.base.result import LabelMarks, Result
from core.base.types import HeadlineKind
from core.scoring.compare_runs import CountedComparison, SeveralComparisons, compare_runs
from core.scoring.run_scores import NO_CUTS, RunRows
from core.stats.scores_and_labels import scores_from_probabilities
from core.transfer.row_index import RowIndex
from tests.scoring.test_run_scores import run_of

N = 300
MARKS = LabelMarks(0.4, 0.1, 3)


def rows(
    name: str,
    noise: float,
    *,
    labelled: bool = True,
    headline: HeadlineKind = "mean",
    method: str = "debate",
) -> RunRows:
    """Rows of a run whose scores follow the labels but for noise; a tenth is not covered."""
    rng = np.random.default_rng([7, round(100 * noise)])
    of_rows = np.random.default_rng(3)
    pert = [f"P{i}" for i in of_rows.integers(0, 20, N)]
    ids, gene = (
        [f"{p}_G{i}" for i, p in enumerate(pert)],
        [f"G{i}" for i in of_rows.integers(0, 30, N)],
    )
    labels = of_rows.choice(np.array(["up", "down", "none"], dtype=object), N)
    p_de = np.clip(np.where(labels == "none", 0.4, 0.6) + rng.normal(0, noise, N), 0.01, 0.99)
    p_up = np.clip(np.where(labels == "up", 0.6, 0.4) + rng.normal(0, noise, N), 0.01, 0.99)
    shown = labels if labelled else np.full(N, None, dtype=object)
    index = RowIndex.build(ids, pert, gene, shown)
    frame = pd.DataFrame({"pair_id": ids, "pert": pert, "gene": gene, "label": shown})
    frame = frame.assign(
        p_de=p_de,
        p_up_given_de=p_up,
        support=np.nan,
        split="train",
        gene_rows=rng.integers(1, 9, N),
    )
    frame = frame.assign(
        count_only=rng.random(N), rarer_gene=rng.random(N), flags=[[] for _ in range(N)]
    )
    run = run_of(
        name,
        method=method,
        spec={"options": {"reference": "population"}} if method == "fusion" else {},
    )
    scores, covered = scores_from_probabilities(p_de, p_up), np.arange(N) % 10 > 0
    return RunRows(
        run,
        frame,
        scores,
        index,
        np.arange(N),
        (),
        None,
        NO_CUTS,
        headline,
        covered,
        ~covered,
        MARKS,
    )


def examples() -> Sequence[Result]:
    good, bad, fused = rows("good", 0.1), rows("bad", 2.0), rows("fused", 0.3, method="fusion")
    by_gene = [rows(name, noise, headline="macro") for name, noise in (("good", 0.1), ("bad", 0.5))]
    unlabelled = [
        rows(name, noise, labelled=False) for name, noise in (("good", 0.1), ("bad", 0.5))
    ]
    counted = CountedComparison(4, 0.012, 0.048)
    return (
        replace(compare_runs(bad, good), margin=0.02, looked_at=counted),
        compare_runs(bad, fused),
        compare_runs(good, good),
        compare_runs(*by_gene),
        compare_runs(*unlabelled),
        SeveralComparisons.of([compare_runs(bad, good), compare_runs(fused, good)]),
    )
