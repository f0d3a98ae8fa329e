"""Controls beside a run's score, and whether the run beats them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.base.result import fields_of
from core.runs.workspace import Workspace
from core.scoring.compare_runs import compare_runs
from core.scoring.controls import NO_SKILL, Control, RunControls, Verdict, control_run, judge_run
from core.scoring.run_scores import RunRows, count_rows, score_run
from core.stats.intervals import Interval
from core.stats.within_axis import score_within
from core.store import pairs
from tests.scoring.test_run_scores import CELLS, FOLDS, LABELS, P_DE, loaded, rows_of, run_of

TRAIN = np.array(["train"] * 8, dtype=object)
NAMES = [
    "base rate",
    "gene mean",
    "perturbation mean",
    "count-only",
    "rarer gene",
    "labels permuted within genes",
    "labels permuted within perturbations",
]


def controls_of(workspace: Workspace, name: str, **options: Any) -> tuple[RunRows, RunControls]:
    rows = loaded(workspace, name)
    with workspace.store.read() as db:
        splits = pairs.frame(db, rows.run.dataset)["split"].to_numpy(dtype=object)
    return rows, control_run(rows, splits, **options)


def named(found: RunControls) -> dict[str, Control]:
    return {each.name: each for each in (*found.controls, *found.fingerprint)}


def change_of(low: float, high: float) -> Interval:
    return Interval((low + high) / 2, low, high, 0.01, 9, "two-way", "m")


def test_controls_are_scored_on_the_rows_of_the_run(demo_workspace: Workspace) -> None:
    rows, found = controls_of(demo_workspace, "simulated debate", n=5)
    assert [each.name for each in found.controls] == NAMES
    changed = np.array([label != "none" for label in rows.labels])
    directed = changed & np.array([label is not None for label in rows.labels])
    up = np.array([label == "up" for label in rows.labels])
    by_name = named(found)
    count_only, rarer = by_name["count-only"], by_name["rarer gene"]
    assert count_only.de.estimate == pytest.approx(
        roc_auc_score(changed, rows.frame["count_only"]), abs=1e-12
    )
    assert rarer.dir.estimate == pytest.approx(
        roc_auc_score(up[directed], rows.frame["rarer_gene"][directed]), abs=1e-12
    )
    assert (count_only.dir, count_only.mean, rarer.de, rarer.mean) == (None, None, None, None)
    # a training row's label view holds no row that shares its gene or its perturbation
    for name in NAMES[:3]:
        assert by_name[name].mean == replace(by_name["base rate"].mean, estimate=0.5)  # type: ignore[type-var]
    assert found.own.mean == score_run(rows).whole.mean.shown
    assert found.best["de"] in ("base rate", "count-only")


def test_controls_of_a_run_under_folds_are_scored_inside_its_cells() -> None:
    rows = rows_of(protocols=(FOLDS,), cells=CELLS)
    rows = replace(rows, frame=rows.frame.assign(count_only=P_DE, rarer_gene=0.0))
    cells = rows.under((FOLDS,)).cells
    found = control_run(rows, TRAIN, n=2)
    assert found.scored == "inside 2×2 cells, cut 7"
    expected = score_run(count_rows(rows).under((FOLDS,))).whole
    count_only = named(found)["count-only"].de
    assert cells is not None
    assert (count_only is None) == np.isnan(expected.de.value)
    if count_only is not None:
        assert count_only.estimate == expected.de.value


def test_the_same_seed_permutes_alike(demo_workspace: Workspace) -> None:
    first, again, other = (
        fields_of(controls_of(demo_workspace, "simulated debate", n=4, seed=seed)[1])
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_the_verdict_of_each_axis_is_the_paired_interval_against_its_control(
    demo_workspace: Workspace,
) -> None:
    rows = loaded(demo_workspace, "simulated debate")
    found, paired = judge_run(rows), compare_runs(count_rows(rows), rows).covered
    assert (found.de.control, found.dir.control) == ("count-only", "rarer gene")
    assert (found.de.change, found.dir.change) == (paired.de.change.shown, paired.dir.change.shown)


@pytest.mark.parametrize(
    ("low", "high", "beats", "word", "says"),
    [
        (0.01, 0.03, True, "yes", "DE beats the no-biology baseline (x): +0.0"),
        (
            -0.01,
            0.03,
            False,
            "cannot tell",
            "DE and the no-biology baseline (x) cannot be distinguished",
        ),
        (-0.03, -0.01, False, "no", "DE is below the no-biology baseline (x)"),
        (np.nan, np.nan, None, None, "DE: no labels of both classes"),
    ],
)
def test_a_run_beats_a_control_if_the_interval_lies_above_0(
    low: float, high: float, beats: bool | None, word: str | None, says: str
) -> None:
    verdict = Verdict("x", change_of(low, high))
    assert verdict.beats is beats
    assert verdict.verdict == word
    assert verdict.describe("DE").startswith(says)


def test_without_labels_nothing_is_judged(demo_workspace: Workspace) -> None:
    _, found = controls_of(demo_workspace, "simulated debate test", n=2)
    shape = fields_of(found)
    assert shape["beats_no_biology"] == {"de": None, "dir": None}
    assert shape["best"] == {"de": None, "dir": None}
    assert all(each[axis] is None for each in shape["controls"] for axis in ("de", "dir", "mean"))


def test_nothing_is_judged_of_a_run_whose_first_row_is_not_finished(
    demo_workspace: Workspace,
) -> None:
    found = judge_run(loaded(demo_workspace, "simulated debate").take(np.array([], dtype=int)))
    assert (found.de.beats, found.dir.beats) == (None, None)


def test_a_benchmark_of_one_question_is_judged_by_the_average_over_genes() -> None:
    labels = ["de" if label != "none" else "none" for label in LABELS]
    rows = rows_of(labels=labels, headline="macro")
    rows = replace(rows, frame=rows.frame.assign(count_only=P_DE, rarer_gene=0.0))
    found = control_run(rows, np.array(["train"] * 4 + ["test"] * 4, dtype=object), n=3)
    macro = score_within(rows.arrays, "gene").de
    assert found.unit == "macro AUROC by gene"
    assert (found.verdicts.de.control, found.verdicts.dir.beats) == ("base rate", None)
    assert found.verdicts.de.change.estimate == pytest.approx(macro.macro.value - 0.5)
    headline = score_run(rows).headline
    assert (headline.name, headline.genes) == ("macro AUROC by gene, DE", (macro.groups, 0))
    assert headline.value.estimate == macro.macro.value
    of_gene = named(found)["gene mean"]
    assert of_gene.de.estimate == 0.5
    assert of_gene.note == NO_SKILL
    shape = fields_of(found)["controls"][1]
    assert (shape["de"], shape["pooled"]["note"]) == (0.5, NO_SKILL)


def test_the_headline_of_a_challenge_is_the_mean(demo_workspace: Workspace) -> None:
    found = score_run(loaded(demo_workspace, "simulated debate"))
    assert (found.headline.name, found.headline.genes) == ("mean of DE and DIR", None)
    assert found.headline.value == found.whole.mean.shown
    shape = fields_of(found)
    assert {key: shape["headline"][key] for key in ("estimate", "low", "high")} == {
        key: shape["mean"][key] for key in ("estimate", "low", "high")
    }


def test_permuted_vectors_stand_beside_a_knn_only() -> None:
    rows = rows_of()
    rows = replace(rows, frame=rows.frame.assign(count_only=P_DE, rarer_gene=0.0))
    assert "permuted vectors" not in named(control_run(rows, TRAIN, n=2))
    rows = replace(rows, run=run_of(method="knn"))
    assert named(control_run(rows, TRAIN, n=2))["permuted vectors"].de is None
    vectors = np.array([[0.4, 0.5], [0.6, 0.7], [0.5, 0.6]])
    found = named(control_run(rows, TRAIN, vectors, n=2))["permuted vectors"]
    assert found.permuted
    assert (found.de.estimate, found.mean.estimate) == (pytest.approx(0.5), pytest.approx(0.55))
    assert (found.de.low, found.de.high) == tuple(np.quantile([0.4, 0.5, 0.6], (0.025, 0.975)))


def test_the_fingerprint_stands_apart_with_its_reversed_value(demo_workspace: Workspace) -> None:
    _, found = controls_of(demo_workspace, "simulated debate", n=2)
    shape = fields_of(found)
    assert len(shape["fingerprint"]) == 4
    assert not {each["name"] for each in shape["fingerprint"]} & {
        each["name"] for each in shape["controls"]
    }
    for each in shape["fingerprint"]:
        assert each["reversed"]["de"] == 1 - each["de"]
