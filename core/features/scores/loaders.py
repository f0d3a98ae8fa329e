"""Scores, comparisons and controls of runs, cached until their rows change."""

from __future__ import annotations

from core.features.scores.space_controls import control_spaces, space_to_scramble
from core.runs.component_loader import control_expression_of, kept_vectors
from core.scoring import run_scores
from core.scoring.baselines import add_expression
from core.scoring.compare_runs import RunComparison, compare_runs
from core.scoring.controls import Control, RunControls, control_run
from core.scoring.other_scores import OtherScores, other_scores_of_run
from core.scoring.score_result import ScoreResult
from core.scoring.score_result import score_result as score_result_of
from core.ui.loaders.cache import cache_by, reading
from core.ui.loaders.records import dataset_rows
from core.ui.loaders.scores import count_score, run_score, scored_rows
from core.ui.server_workspace import read_workspace


@cache_by("run:{0}", "run:{1}", "datasets", entries=12, shared=True)
def comparison(baseline: str, run: str) -> RunComparison:
    """Return the comparison of a run with a baseline on their shared rows."""
    return compare_runs(scored_rows(baseline), scored_rows(run))


@cache_by("run:{0}", "runs", "datasets", entries=50)
def score_result(run: str) -> ScoreResult:
    """Return a run's score with its caveats."""
    rows, score = scored_rows(run), run_score(run)
    with reading() as db:
        return score_result_of(db, rows, score)


@cache_by("run:{0}", "datasets", entries=12)
def other_scores(run: str) -> tuple[OtherScores, OtherScores]:
    """Return other scores of a run's rows, and those of row counts alone on the same rows."""
    rows = scored_rows(run)
    counts = run_scores.count_rows(rows).under(rows.protocols)
    return other_scores_of_run(rows, run_score(run)), other_scores_of_run(counts, count_score(run))


@cache_by("run:{0}", "datasets", "spaces", entries=8)
def run_controls(run: str) -> RunControls:
    """Return the controls without biology of a run; permuted vectors only if they were computed
    before."""
    rows = scored_rows(run)
    vectors = kept_vectors(read_workspace(), rows.run, rows.frame["pair_id"].tolist())
    splits = dataset_rows(rows.run.dataset)["split"].to_numpy(dtype=object)
    return add_expression(
        control_run(rows, splits, vectors),
        rows,
        control_expression_of(read_workspace(), rows.run.dataset),
    )


@cache_by("run:{0}", "datasets", "spaces", entries=8)
def space_controls(run: str) -> tuple[Control, ...]:
    """Return the kNN without biology beside a run, over one of the workspace's spaces if it has
    any."""
    rows = scored_rows(run)
    return control_spaces(rows, space_to_scramble(read_workspace(), rows.run, rows.index))
