"""Means over genes and perturbations, the top of the list, and their JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core.base.result import fields_of
from core.runs.workspace import Workspace
from core.scoring.other_scores import other_scores, other_scores_of_run
from core.scoring.run_scores import count_rows, load_scored_rows, score_run
from core.stats.official_score import score_of_rows
from core.stats.scores_and_labels import scored_rows, scores_from_probabilities
from core.stats.within_axis import score_within
from tests.stats.oracles import some_rows

RNG = np.random.default_rng(131)
N = 300
LABELS, DE, UP = some_rows(RNG, N)
PERT, GENE, CELLS = RNG.integers(0, 20, N), RNG.integers(0, 40, N), RNG.integers(0, 2, N)
SCORES = scores_from_probabilities(DE, UP)


@pytest.mark.parametrize("cells", [None, CELLS])
def test_every_mean_counts_what_it_says(cells: np.ndarray | None) -> None:
    rows = scored_rows(LABELS, SCORES, PERT, GENE, cells)
    whole = score_of_rows(rows)
    found = other_scores(whole, rows)
    every, genes, perts = ((mean["AUROC"], mean["counted"]) for mean in found.means("DE"))
    assert every == (whole.de, "300 labelled rows")
    gene, pert = score_within(rows, "gene"), score_within(rows, "pert")
    assert genes == (gene.de.macro, f"{gene.de.groups} genes")
    assert perts == (pert.de.macro, f"{pert.de.groups} perturbations")


def test_json_has_every_number_once_with_its_interval() -> None:
    rows = scored_rows(LABELS, SCORES, PERT, GENE)
    found = other_scores(score_of_rows(rows), rows, top=(10, 1000))
    shape = json.loads(json.dumps(fields_of(found)))
    assert set(shape) == {"macro", "at_k"}
    macro = shape["macro"]["gene"]["de"]
    assert macro["estimate"] == found.macro["gene"].de.macro.value
    assert (macro["groups"], macro["one_class"]) == (
        found.macro["gene"].de.groups,
        found.macro["gene"].de.one_class,
    )
    assert {"estimate", "low", "high", "se", "clusters"} <= set(macro)
    assert shape["macro"]["pert"]["mean"]["estimate"] == found.macro["pert"].mean.value
    first, more_than_there_are = shape["at_k"]["de"]
    assert (first["k"], first["precision"]["estimate"]) == (10, found.at_k["de"][0].precision.value)
    assert (more_than_there_are["k"], more_than_there_are["precision"]) == (1000, None)


def test_without_labels_there_are_nulls() -> None:
    rows = scored_rows([None] * N, SCORES, PERT, GENE)
    shape = fields_of(other_scores(score_of_rows(rows), rows))
    assert shape["macro"]["gene"]["de"] is None
    assert shape["at_k"]["de"][0]["precision"] is None
    json.dumps(shape, allow_nan=False)


def test_the_rows_of_a_run_are_asked_as_they_are_scored(demo_workspace: Workspace) -> None:
    with demo_workspace.store.read() as db:
        rows = load_scored_rows(db, "simulated debate")
    score = score_run(rows)
    found, counts = (
        other_scores_of_run(rows, score),
        other_scores_of_run(count_rows(rows), score_run(count_rows(rows))),
    )
    assert found.whole == score.whole
    assert found.macro["gene"].de.groups == counts.macro["gene"].de.groups
    # every row of a gene has the same number of rows, which is all that the control knows of a direction
    assert counts.macro["gene"].dir.macro.value == pytest.approx(0.5)
    means, _ = found.tables()
    assert f"{found.macro['gene'].de.groups:,} genes" in [row["counted"] for row in means.rows]
    assert {row["over"] for row in means.rows} == {
        "all rows",
        "mean over genes",
        "mean over perturbations",
    }
