"""From a run's rows to its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from core.base.result import fields_of
from core.base.types import Flag, HeadlineKind
from core.runs.workspace import Workspace
from core.scoring import run_scores
from core.scoring.run_scores import NO_CUTS, RunRows
from core.stats.official_score import official_score
from core.stats.scores_and_labels import Scores, scores_from_probabilities
from core.store import datasets, pairs, predictions, runs
from core.store.runs import Run
from core.transfer.protocols import EvaluationProtocol
from core.transfer.row_index import RowIndex

FOLDS = EvaluationProtocol("folds", 2, 7)
# Two cells of two perturbations and two genes; P(DE) is higher throughout in the second, where more rows change.
LABELS = ["up", "none", "none", "none", "up", "up", "down", "none"]
PERT, GENE = list("aabbccdd"), list("mnmnopop")
CELLS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
P_DE = np.array([0.3, 0.1, 0.2, 0.4, 0.9, 0.8, 0.6, 0.7])
P_UP = np.array([0.9, 0.5, 0.5, 0.5, 0.6, 0.4, 0.5, 0.5])


def run_of(name: str = "r", **values: Any) -> Run:
    plain = dict.fromkeys(("track", "model"), None) | dict.fromkeys(
        ("total", "done", "failed", "fallbacks", "collapsed", "tokens_unknown"), 0
    )
    plain |= {
        "method": "debate",
        "origin": "imported",
        "spec": {},
        "parents": (),
        "status": "done",
        "tokens": None,
        "code_version": "0",
    }
    return Run(**{**plain, "id": name, "name": name, "dataset": "d", **values})


def rows_of(
    *,
    labels: list[str] = LABELS,
    scores: Scores | None = None,
    flags: Mapping[int, Flag] | None = None,
    protocols: tuple[EvaluationProtocol, ...] = (),
    cells: NDArray[np.intp] | None = None,
    cuts: NDArray[np.float64] = NO_CUTS,
    name: str = "r",
    headline: HeadlineKind = "mean",
) -> RunRows:
    """The eight rows above, as they are scored."""
    ids = [f"{pert}_{gene}" for pert, gene in zip(PERT, GENE, strict=True)]
    index = RowIndex.build(ids, PERT, GENE, np.array(labels, dtype=object))
    flag_lists = [[(flags or {})[i]] if i in (flags or {}) else [] for i in range(len(ids))]
    frame = pd.DataFrame(
        {"pair_id": ids, "pert": PERT, "gene": GENE, "label": labels, "flags": flag_lists}
    )
    found = scores_from_probabilities(P_DE, P_UP) if scores is None else scores
    covered = np.array([not {Flag.UNCOVERED, Flag.NOT_PREDICTED} & set(row) for row in flag_lists])
    undirected = np.array([Flag.UNCOVERED_DIR in row for row in flag_lists])
    positions = np.arange(len(ids))
    return RunRows(
        run_of(name),
        frame,
        found,
        index,
        positions,
        protocols,
        cells,
        cuts,
        headline,
        covered,
        undirected,
    )


def loaded(workspace: Workspace, name: str) -> RunRows:
    with workspace.store.read() as db:
        return run_scores.load_scored_rows(db, name)


def test_counts_are_over_the_whole_split_and_not_over_the_run(small_workspace: Workspace) -> None:
    rows = loaded(small_workspace, "debate").frame
    # in train.csv Ga and Gb have two rows each; in test.csv Gc has one
    assert dict(zip(rows["pair_id"], rows["gene_rows"], strict=True)) == {
        "Pa_Ga": 2,
        "Pa_Gb": 2,
        "Pb_Ga": 2,
        "Pc_Gc": 1,
    }
    assert rows.set_index("pair_id")["count_only"]["Pc_Gc"] == 0


def test_rows_that_finished_in_another_order_are_loaded_in_that_of_the_file(
    small_workspace: Workspace,
) -> None:
    with small_workspace.store.write() as db:
        run = runs.find(db, "debate")
        before = run_scores.load_scored_rows(db, run.id)
        db.execute("CREATE TEMP TABLE kept AS SELECT * FROM prediction WHERE run = ?", [run.id])
        db.execute("DELETE FROM prediction WHERE run = ?", [run.id])
        db.execute("INSERT INTO prediction SELECT * FROM kept ORDER BY pair_id DESC")
        found, rows = predictions.scored_columns(db, run.id), predictions.frame(db, run.id)
        after = run_scores.load_scored_rows(db, run.id)
    assert (
        found["pair_id"].tolist()
        == sorted(rows["pair_id"], reverse=True)
        != rows["pair_id"].tolist()
    )
    assert after.frame["pair_id"].tolist() == rows["pair_id"].tolist()
    shared = [name for name in after.frame if name in rows]
    pd.testing.assert_frame_equal(after.frame[shared], rows[shared])
    pd.testing.assert_frame_equal(after.frame, before.frame)


def test_the_score_is_the_official_one_of_numbers_that_tie_where_they_are_equal(
    demo_workspace: Workspace,
) -> None:
    rows = loaded(demo_workspace, "simulated debate")
    found = run_scores.score_run(rows).whole
    assert found.scored == "all rows"
    up, down = (rows.frame[name].to_numpy() for name in ("prediction_up", "prediction_down"))
    effect = np.array([label != "none" for label in rows.labels])
    goes_up = np.array([label == "up" for label in rows.labels])[effect]
    de = roc_auc_score(effect, np.round(up + down, 14))
    direction = roc_auc_score(goes_up, np.round(up / (up + down), 14)[effect])
    assert (found.de.value, found.dir.value, found.mean.value) == pytest.approx(
        (de, direction, (de + direction) / 2), abs=1e-12
    )
    # a file of six decimals has sums that differ in their last digits: the organisers' ranks, which `check` uses, break ties
    official = official_score(rows.labels, up, down)
    assert abs(official.mean - found.mean.value) < 1e-3


def test_log_probabilities_near_0_and_1_stay_apart(demo_workspace: Workspace) -> None:
    with demo_workspace.store.read() as db:
        run = runs.find(db, "simulated debate")
        frame, dataset = predictions.frame(db, run.id), pairs.frame(db, run.dataset)
        of_run = datasets.find(db, run.dataset)
    spread = np.linspace(1e-12, 9e-12, len(frame))  # nine decimals would make them all equal
    frame = frame.assign(prediction_up=spread / 2, prediction_down=spread / 2)
    rows = run_scores.scored_rows(
        run,
        {}.get,
        run_scores.add_count_controls(frame, dataset),
        RowIndex.of_frame(dataset),
        of_run,
    )
    assert len(np.unique(rows.scores.p_de)) == 801  # 1.00e-12, 1.01e-12 … 9.00e-12
    assert len(np.unique(rows.scores.p_up)) == 1


def test_without_labels_there_are_nulls_and_words(demo_workspace: Workspace) -> None:
    found = run_scores.score_run(loaded(demo_workspace, "simulated debate test"))
    shape = fields_of(found)
    assert (shape["n_labelled"], shape["de"], shape["dir"], shape["mean"]) == (0, None, None, None)
    assert found.sentence.endswith("no labels here, so no score.")
    assert found.caveats == ()


def test_a_run_without_folds_is_scored_over_all_rows() -> None:
    # 4 changed rows against 4 unchanged: .3 beats two, .9 and .8 beat four each, .6 beats three: 13 of 16 pairs
    found = run_scores.score_run(rows_of()).whole
    assert (found.de.value, found.scored) == (13 / 16, "all rows")
    left_out = run_scores.score_run(rows_of(protocols=(EvaluationProtocol("loo"),))).whole
    assert (left_out.de.value, left_out.scored) == (13 / 16, "leave-one-out")


def test_a_run_made_under_folds_is_scored_inside_their_cells() -> None:
    # first cell: .3 beats two of three; second: .9 and .8 beat the one unchanged row, .6 does not: 4 of 6 pairs
    found = run_scores.score_run(rows_of(protocols=(FOLDS,), cells=CELLS)).whole
    assert found.de.value == pytest.approx(4 / 6, abs=1e-15)
    assert found.scored == "inside 2×2 cells, cut 7"
    # direction: only the second cell holds both, .6 beats .5 and .4 does not
    assert found.dir.value == 0.5


def test_the_noise_of_the_cut_is_in_the_interval_that_is_shown() -> None:
    cuts = np.array(
        [[0.5, 0.6], [0.54, 0.7], [0.52, 0.5]]
    )  # variances .0004 and .01, of the means .0021
    plain = run_scores.score_run(rows_of(protocols=(FOLDS,), cells=CELLS)).whole
    found = run_scores.score_run(rows_of(protocols=(FOLDS,), cells=CELLS, cuts=cuts)).whole
    for name, variance in (("de", 0.0004), ("dir", 0.01), ("mean", 0.0021)):
        before, after = getattr(plain, name), getattr(found, name)
        assert after.shown.se**2 == pytest.approx(before.shown.se**2 + variance, nan_ok=True)
        assert after.row.se**2 == pytest.approx(before.row.se**2 + variance, nan_ok=True)
        assert after.value == before.value


def test_stand_ins_count_in_the_score_and_not_in_the_second_one() -> None:
    flags = {0: Flag.UNCOVERED, 4: Flag.UNCOVERED_DIR}
    found = run_scores.score_run(rows_of(flags=flags))
    assert found.whole.n == 8
    assert found.n_uncovered == 1
    kept = np.arange(1, 8)
    changed = np.array([label != "none" for label in LABELS])
    assert found.covered.de.value == pytest.approx(roc_auc_score(changed[kept], P_DE[kept]))
    directed = [5, 6]  # row 0 is a stand-in, row 4 has no direction of its own
    assert found.covered.dir.value == roc_auc_score(
        [LABELS[i] == "up" for i in directed], P_UP[directed]
    )
    assert "1 of 8 rows have the base rate" in found.caveats[1]


def test_row_counts_are_scored_like_the_run(demo_workspace: Workspace) -> None:
    rows = loaded(demo_workspace, "simulated debate")
    counts = run_scores.count_rows(rows)
    assert counts.scored == "all rows"
    changed = np.array([label != "none" for label in rows.labels])
    found = run_scores.score_run(counts.under(rows.protocols)).whole
    assert found.de.value == pytest.approx(
        roc_auc_score(changed, rows.frame["count_only"]), abs=1e-12
    )
    inside = run_scores.score_run(counts.under((EvaluationProtocol("folds", 3, 1),))).whole
    assert inside.scored == "inside 3×3 cells, cut 1"
    assert inside.de.value != found.de.value


def test_a_chosen_row_keeps_all_that_is_known_of_it() -> None:
    rows = rows_of(protocols=(FOLDS,), cells=CELLS)
    some = rows.take(np.array([5, 2]))
    assert some.frame["pair_id"].tolist() == ["c_p", "b_m"]
    assert (some.labels.tolist(), some.scores.p_de.tolist()) == (["up", "none"], [0.8, 0.2])
    assert some.cells.tolist() == [1, 0]
    assert replace(some).take(np.array([False, True])).frame["pair_id"].tolist() == ["b_m"]
