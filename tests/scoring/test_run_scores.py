"""From a run's rows to its numbers."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from core.actions.imports import import_upload
from core.actions.workspace import Workspace
from core.errors import InputError
from core.scoring import json_shapes, run_scores, sentences
from core.stats.official_score import official_score, score_with_intervals
from core.stats.scores_and_labels import scores_from_probabilities
from core.stats.slices import by_slice
from core.store import pairs, predictions, runs
from core.store.predictions import GENE_ROWS, RowFilter
from core.store.runs import Run
from core.transfer.labelled_rows import rows_of as codes_of
from core.transfer.protocols import EvaluationProtocol
from tests import cases


def rows_of(workspace: Workspace, name: str) -> tuple[Run, pd.DataFrame]:
    with workspace.store.read() as db:
        run = runs.find(db, name)
        return run, run_scores.add_count_controls(predictions.frame(db, run.id), pairs.frame(db, run.dataset))


def test_counts_are_over_the_whole_split_and_not_over_the_run(small_workspace: Workspace) -> None:
    _, rows = rows_of(small_workspace, "debate")
    # in train.csv Ga and Gb have two rows each; in test.csv Gc has one
    assert dict(zip(rows["pair_id"], rows["gene_rows"], strict=True)) == {"Pa_Ga": 2, "Pa_Gb": 2, "Pb_Ga": 2, "Pc_Gc": 1}
    assert rows.set_index("pair_id")["count_only"]["Pc_Gc"] == 0


def test_the_score_is_the_official_one(demo_workspace: Workspace) -> None:
    _, rows = rows_of(demo_workspace, "simulated debate")
    found = run_scores.score_rows(rows, run_scores.submitted_scores(rows))
    official = official_score(run_scores.label_array(rows), rows["prediction_up"], rows["prediction_down"])
    assert (found.de.value, found.dir.value, found.mean.value) == pytest.approx(
        (official.de, official.dir, official.mean), abs=1e-12
    )


def test_without_labels_there_are_nulls_and_words(demo_workspace: Workspace) -> None:
    run, rows = rows_of(demo_workspace, "simulated debate test")
    found = run_scores.score_rows(rows, run_scores.submitted_scores(rows))
    shape = json_shapes.score(found, None)
    assert (shape["n_labelled"], shape["de"], shape["dir"], shape["mean"]) == (0, None, None, None)
    pair = run_scores.pair_runs(run, rows, run, rows)
    result = run_scores.compare_rows(pair.rows, pair.a, pair.b)
    [sentence] = sentences.comparison_sentences(result, "a", "b")
    assert "No labels here" in sentence
    assert json_shapes.comparison(result, [sentence])["delta_mean"] is None


FIELDS = {  # a slice's filter in Debates; slices by neighbours have none
    "gene's rows": "gene_rows",
    "gene's symbol": "naming",
    "P(DE)": "p_de",
    "P(up | DE)": "p_up",
    "split": "split",
    "perturbation": "pert",
    "target gene": "gene",
}


@pytest.mark.parametrize("by", FIELDS)
def test_slices_add_up_and_each_filter_finds_its_rows(demo_workspace: Workspace, by: str) -> None:
    run, rows = rows_of(demo_workspace, "simulated debate")
    assert by in run_scores.available_slices(rows)
    pert, gene = run_scores.name_codes(rows["pert"]), run_scores.name_codes(rows["gene"])
    found = by_slice(run_scores.label_array(rows), run_scores.submitted_scores(rows), run_scores.SLICES[by](rows), pert, gene)
    assert sum(part.n for part in found) == len(rows)
    assert sum(part.mean.cost for part in found) == pytest.approx(0, abs=1e-12)
    with demo_workspace.store.read() as db:
        for part in found[:8]:
            assert len(predictions.find_pair_ids(db, run.id, filter_of(by, part.name))) == part.n, part.name


def filter_of(by: str, name: str) -> RowFilter:
    value: object = tuple(map(float, name.split("–"))) if by.startswith("P(") else name
    return dataclasses.replace(RowFilter(), **{FIELDS[by]: value})


def test_slices_by_neighbours_are_for_runs_that_have_some(demo_workspace: Workspace) -> None:
    _, debate = rows_of(demo_workspace, "simulated debate")
    assert set(run_scores.SLICES) - set(run_scores.available_slices(debate)) == {
        "coverage by neighbours",
        "support of neighbours",
    }
    rows = pd.DataFrame({"support": [3.0, 1.0, 0.0, 2.0, 4.0], "flags": [[], [], ["uncovered"], ["partly_covered"], ["x"]]})
    assert set(run_scores.SLICES) == set(run_scores.available_slices(rows))
    quarters = ["third quarter", "least quarter", "none", "second quarter", "most quarter"]
    assert run_scores.SLICES["support of neighbours"](rows).tolist() == quarters
    covered = run_scores.SLICES["coverage by neighbours"](rows).tolist()
    assert covered == ["with neighbours", "with neighbours", "without a neighbour", "without a neighbour", "with neighbours"]


def test_the_ranges_of_gene_rows_leave_no_gap() -> None:
    bounds = list(GENE_ROWS.values())
    assert bounds[0][0] == 1
    assert all(high + 1 == low for (_, high), (low, _) in pairwise(bounds))


def test_runs_on_different_datasets_are_not_compared(small_workspace: Workspace) -> None:
    run, rows = rows_of(small_workspace, "debate")
    with pytest.raises(InputError, match="different labels"):
        run_scores.pair_runs(run, rows, dataclasses.replace(run, dataset="other", name="b"), rows)


def test_runs_without_a_row_in_common_are_not_compared(small_workspace: Workspace) -> None:
    import_upload(small_workspace, cases.submission([("Pc_Gm12", 0.1, 0.1, "none")]), "second.csv")
    first, rows = rows_of(small_workspace, "debate")
    second, others = rows_of(small_workspace, "second")
    with pytest.raises(InputError, match="no row in common"):
        run_scores.pair_runs(first, rows, second, others)


def test_the_verdict_follows_the_interval(demo_workspace: Workspace) -> None:
    (good, rows_good), (bad, rows_bad) = (
        rows_of(demo_workspace, "simulated debate"),
        rows_of(demo_workspace, "simulated collapsed debate"),
    )
    pair = run_scores.pair_runs(bad, rows_bad, good, rows_good)
    result = run_scores.compare_rows(pair.rows, pair.a, pair.b)
    assert result.mean.change.shown.low > 0
    assert "is better than" in sentences.comparison_sentences(result, bad.name, good.name)[0]
    back = run_scores.compare_rows(pair.rows, pair.b, pair.a)
    assert "is worse than" in sentences.comparison_sentences(back, good.name, bad.name)[0]
    itself = run_scores.compare_rows(pair.rows, pair.a, pair.a)
    words = sentences.comparison_sentences(itself, "a", "a")
    assert "do not tell" in words[0]
    assert "not evidence that they are equal" in words[1]


def test_one_class_is_said_and_not_scored() -> None:
    rows = pd.DataFrame({"label": ["none"] * 3, "pert": list("abc"), "gene": list("abc")})
    scores = run_scores.scores_from_probabilities(np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3]))
    result = run_scores.compare_rows(rows, scores, scores)
    assert "only one class" in sentences.comparison_sentences(result, "a", "b")[0]
    assert math.isnan(result.mean.change.shown.estimate)


def test_leakage_needs_labels(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        frame = pairs.frame(db, runs.find(db, "debate").dataset)
    assert run_scores.audit_leakage(frame).shared_genes == 0
    with pytest.raises(InputError, match="no labelled rows"):
        run_scores.audit_leakage(frame[frame["split"] == "test"])


# Two cells of two perturbations and two genes; P(DE) is higher throughout in the second, where more rows change.
LABELS = np.array(["up", "none", "none", "none", "up", "up", "down", "none"])
ROWS = codes_of([0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3])
CELLS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
SCORES = scores_from_probabilities([0.3, 0.1, 0.2, 0.4, 0.9, 0.8, 0.6, 0.7], [0.9, np.nan, np.nan, np.nan, 0.6, 0.4, 0.5, np.nan])


def test_a_run_without_folds_is_scored_over_all_rows() -> None:
    # 4 changed rows against 4 unchanged: .3 beats two, .9 and .8 beat four each, .6 beats three: 13 of 16 pairs
    found = run_scores.score_of(LABELS, SCORES, ROWS)
    assert (found.de.value, found.scored) == (13 / 16, "all rows")
    assert found.de == score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene).de
    left_out = run_scores.score_of(LABELS, SCORES, ROWS, None, EvaluationProtocol("loo"))
    assert (left_out.de.value, left_out.scored) == (13 / 16, "leave-one-out")
    assert run_scores.score_of(LABELS, SCORES, ROWS, None, EvaluationProtocol("test")).scored == "all rows"


def test_a_run_made_under_folds_is_scored_inside_their_cells() -> None:
    # first cell: .3 beats two of three; second: .9 and .8 beat the one unchanged row, .6 does not: 4 of 6 pairs
    found = run_scores.score_of(LABELS, SCORES, ROWS, CELLS, EvaluationProtocol("folds", 2, 7))
    assert found.de.value == pytest.approx(4 / 6, abs=1e-15)
    assert found.scored == "inside 2×2 cells, cut 7"
    # direction: only the second cell holds both, .6 beats .5 and .4 does not
    assert found.dir.value == 0.5


@pytest.mark.parametrize(
    ("cells", "protocol", "message"),
    [
        (None, EvaluationProtocol("folds"), "cells: got none; expected the cells of its folds"),
        (CELLS, EvaluationProtocol("loo"), "cells: got some; expected no cells"),
        (CELLS, None, "cells: got some; expected no cells"),
    ],
)
def test_folds_and_cells_go_together(cells: np.ndarray | None, protocol: EvaluationProtocol | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_scores.score_of(LABELS, SCORES, ROWS, cells, protocol)


def test_a_frame_of_rows_is_scored_like_its_arrays() -> None:
    frame = pd.DataFrame({"label": LABELS, "pert": list("aabbccdd"), "gene": list("mnmnopop")})
    protocol = EvaluationProtocol("folds", 2, 0)
    found = run_scores.score_rows(frame, SCORES, CELLS, protocol)
    assert found.de == run_scores.score_of(LABELS, SCORES, ROWS, CELLS, protocol).de
    assert found.scored == "inside 2×2 cells, cut 0"
