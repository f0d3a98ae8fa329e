"""Scores of runs, their controls, and the protocols of runs that saw labels."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from core.scoring import run_scores
from core.scoring.debate_audit import DebateAudit
from core.scoring.kept_scores import KeptScore, compute_score, find_kept
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.standing import Standing
from core.store import pairs, predictions, runs
from core.transfer.row_index import RowIndex
from core.ui.loaders.cache import cache_by, reading
from core.ui.loaders.components import row_index
from core.ui.loaders.records import all_datasets, all_runs
from core.ui.server_workspace import read_workspace


@cache_by("run:{0}", "datasets", entries=12, shared=True)
def run_rows(run: str) -> pd.DataFrame:
    """Return a run's rows in file order, with the count-only controls of each (see
    `run_scores.add_count_controls`)."""
    with reading() as db:
        found = runs.find(db, run)
        rows, dataset = (
            predictions.frame(db, run),
            pairs.frame(db, found.dataset, asked=found.is_asked),
        )
    return run_scores.add_count_controls(rows, dataset)


@cache_by("run:{0}", "datasets", entries=12, shared=True)
def scored_rows(run: str) -> RunRows:
    """Return a run's rows in the form used for scoring."""
    known = {each.id: each for each in all_runs()}
    dataset = known[run].dataset
    found = next(each for each in all_datasets() if each.id == dataset)
    index = row_index(dataset)
    if known[run].is_asked:  # it predicts a row that somebody typed
        with reading() as db:
            index = RowIndex.of_frame(pairs.frame(db, dataset, asked=True))
    return run_scores.scored_rows(known[run], known.get, run_rows(run), index, found)


@cache_by("runs", "datasets", entries=4, shared=True)
def _kept_scores(dataset: str) -> dict[str, KeptScore]:
    """Return what the store keeps of the scores of a dataset's (id) runs, by run."""
    with reading() as db:
        return find_kept(db, dataset)


@cache_by("run:{0}", "datasets", entries=200, shared=True)
def _score_of(run: str) -> KeptScore:
    [dataset] = [each.dataset for each in all_runs() if each.id == run]
    if kept := _kept_scores(dataset).get(run):
        return kept
    return compute_score(read_workspace().store, run)  # of a run that works, say


def standing(run: str) -> Standing:
    """Return the standing of a run, without permutations, so that a list of runs shows at once."""
    return _score_of(run).standing


def run_score(run: str) -> RunScore:
    """Return a run's score."""
    return standing(run).score


def count_score(run: str) -> RunScore:
    """Return the score of row counts alone on a run's rows, scored as the run is."""
    return standing(run).counts


def flag_counts(run: str) -> Mapping[str, int]:
    """Return how many of a run's rows have each flag."""
    return _score_of(run).flags


def debate_audit(run: str) -> DebateAudit:
    """Return a run's audit."""
    return _score_of(run).debate
