"""More scores of a run: of genes and perturbations, of three classes, by distance; and what a verdict depends on."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.actions.workspace import Workspace
from core.errors import InputError, NotFound
from core.scoring import class_scores, distance_scores, group_scores, sensitivity
from core.scoring.compare_runs import compare_runs
from core.scoring.comparison_words import comparison_sentences
from core.scoring.run_scores import RunRows, count_rows
from core.stats.scores_and_labels import scores_from_probabilities
from core.transfer.similarity import Space
from tests.scoring.test_compare_runs import OTHER, rows_of
from tests.scoring.test_run_scores import loaded


@pytest.fixture(scope="module")
def rows(demo_workspace: Workspace) -> RunRows:
    return loaded(demo_workspace, "simulated debate")


def test_each_gene_has_its_own_auroc_by_name(rows: RunRows) -> None:
    found = group_scores.score_groups(rows, "gene", "de")
    best = found.table.iloc[0]
    inside = (rows.frame["gene"] == best["name"]).to_numpy()
    effect = rows.arrays.outcome.effect[inside]
    assert best["raw"] == pytest.approx(roc_auc_score(effect, rows.scores.p_de[inside]))
    assert (best["positives"], best["negatives"]) == (effect.sum(), (~effect).sum())
    assert found.table["shrunken"].is_monotonic_decreasing
    assert np.ptp(found.table["shrunken"]) < np.ptp(found.table["raw"])
    shape = json.loads(json.dumps(group_scores.group_shape(found)))
    assert len(shape["groups"]) == shape["n"] == len(found.table)
    assert f"{len(found.table):,} genes have both classes" in group_scores.group_sentences(found)[0]


def test_without_both_classes_a_group_has_no_auroc(rows: RunRows) -> None:
    found = group_scores.score_groups(rows.take(rows.arrays.outcome.effect), "pert", "de")
    assert found.table.empty
    assert group_scores.group_shape(found)["mean"] is None
    assert "none has an AUROC" in group_scores.group_sentences(found)[0]


def test_three_classes_have_losses_a_curve_and_hits(rows: RunRows) -> None:
    found = class_scores.score_classes(rows)
    shape = json.loads(json.dumps(class_scores.class_shape(found)))
    assert shape["auroc"]["macro"]["estimate"] == found.aurocs.macro.value
    assert shape["log_loss"]["gain"]["estimate"] == pytest.approx(found.log_loss.of_shares - found.log_loss.loss.value)  # type: ignore[union-attr]
    assert [one["threshold"] for one in shape["decision_curve"]][:2] == [0.05, 0.1]
    hits = {one["validated"]: one for one in shape["hits_per_hundred"]}
    best = np.argsort(-rows.scores.p_de, kind="stable")
    cut = rows.scores.p_de[best[99]]
    sure = rows.scores.p_de > cut  # ties at the cut count in part
    effect = rows.arrays.outcome.effect
    least, most = effect[sure].sum(), effect[rows.scores.p_de >= cut].sum()
    assert least <= hits[100]["effect"]["estimate"] <= most
    text = " ".join(class_scores.class_sentences(found))
    assert "hits per hundred validated" in text
    assert "not only with rows that have an effect" in text


def test_rank_scores_have_no_losses(rows: RunRows) -> None:
    ranked = replace(rows, run=replace(rows.run, method="external_score"))
    assert ranked.run.has_rank_scores
    found = class_scores.score_classes(ranked)
    assert (found.log_loss, found.brier, found.curve) == (None, None, ())
    assert class_scores.RANKS in class_scores.class_sentences(found)
    assert found.aurocs.macro.value == class_scores.score_classes(rows).aurocs.macro.value


def test_distance_slices_hold_all_rows_nearest_first(rows: RunRows) -> None:
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(len(rows.index.symbols), 4))
    columns[rows.gene[0]] = np.nan
    found = distance_scores.score_by_space(rows, Space("s", columns), "gene")
    assert sum(part.n for part in found.slices) == len(rows)
    assert found.slices[-1].name == "not in the space"
    reach = [cosines for cosines in found.cosines if cosines is not None]
    assert all(near[0] >= far[1] for near, far in itertools.pairwise(reach))
    assert found.change is not None
    assert found.change.de.value == pytest.approx(found.slices[3].de.score.value - found.slices[0].de.score.value)
    shape = json.loads(json.dumps(distance_scores.distance_shape(found)))
    assert shape["farthest_less_nearest"]["mean"]["estimate"] == found.change.mean.value
    *_, line, _, sentence = distance_scores.distance_sentences(found)
    assert f"of “farthest quarter” ({found.slices[3].n_labelled:,} rows) " in sentence
    assert f" {found.slices[3].n_de:,} of them up or down " in line


def test_a_space_that_knows_labels_measures_no_distance(rows: RunRows) -> None:
    with pytest.raises(InputError, match="built from the labels of x"):
        distance_scores.score_by_space(rows, Space("s", np.ones((len(rows.index.symbols), 1)), "x"), "gene")


def test_steps_in_a_network_are_slices_too(rows: RunRows) -> None:
    genes = [rows.index.symbols[code] for code in np.unique(rows.gene)]
    edges = [(a, b, 1.0) for a, b in zip(genes[:40:2], genes[1:40:2], strict=True)]
    found = distance_scores.score_by_network(rows, edges, "gene")
    assert [part.name for part in found.slices] == ["1 step", "not in the network"]
    assert found.change is None
    assert "cannot be compared" in distance_scores.distance_sentences(found)[-1]


def test_a_verdict_that_rests_on_the_labels_is_said_to(rows: RunRows) -> None:
    compared = compare_runs(count_rows(rows).under(rows.protocols), rows)
    same = rows.index.labels.copy()
    swapped = np.array([{"up": "none", "down": "none", "none": "up"}.get(label) for label in same], dtype=object)
    found = sensitivity.vary(compared, {"labels of the same": same, "labels of other": swapped})
    by_name = {one.name: one for one in found.variants}
    assert by_name["labels of the same"].result.mean.change.value == pytest.approx(compared.covered.mean.change.value)
    assert (by_name["labels of the same"].agree, by_name["labels of other"].agree) == (1.0, 0.0)
    plain, other = compared.covered.de.change, by_name["labels of other"].result.de.change
    assert other.value == pytest.approx(-plain.value)
    shape = json.loads(json.dumps(sensitivity.sensitivity_shape(found)))
    assert [one["name"] for one in shape["variants"]][:2] == ["as sampled and labelled", "natural base rate"]
    assert ("labels of the same" in found.depends) is False
    with pytest.raises(InputError, match="nowhere: has labels of no shared row"):
        sensitivity.vary(compared, {"nowhere": np.full(len(same), None)})


def test_without_labels_no_verdict_is_varied() -> None:
    a, b = rows_of(labels=[None] * 8), rows_of(labels=[None] * 8, scores=OTHER, name="b")
    with pytest.raises(InputError, match="no row that both runs have has a label"):
        sensitivity.vary(compare_runs(a, b), {})


def test_labels_of_another_dataset_are_matched_by_pair(rows: RunRows, demo_workspace: Workspace) -> None:
    with demo_workspace.store.read() as db:
        found = sensitivity.labels_of_pairs(db, rows.run.dataset, rows.index)
        with pytest.raises(NotFound):
            sensitivity.labels_of_pairs(db, "nowhere", rows.index)
    assert found.tolist() == rows.index.labels.tolist()


def test_two_runs_that_rank_alike_are_equal(rows: RunRows) -> None:
    squared = scores_from_probabilities(rows.scores.p_de**2, rows.scores.p_up**3)
    found = compare_runs(rows, replace(rows, scores=squared))
    assert found.covered.mean.change.shown.se == 0
    said = comparison_sentences(found, "a", "b")[0]
    n = found.covered.n_labelled
    assert (
        said == f"b and a are equal in mean of DE and DIR: each of {n:,} labelled rows has the same rank against the other class."
    )
    assert not math.isnan(found.covered.mean.change.shown.low)
