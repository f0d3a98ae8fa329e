"""What a row of a run that calls no model is made from."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from core.base.types import Call
from core.features.neighbours.page.neighbour_controls import link_parameters, parameters_of
from core.features.reading.rows.sources import call_table, thinking_of
from core.methods.fusion_settings import FusionSettings
from core.runs import actions as run_actions
from core.runs import component_loader
from core.runs.component_loader import default_dataset
from core.runs.workspace import Workspace
from core.store import predictions
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.knn import Weighting
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings
from tests.derived import save_fusion, save_recovered
from tests.ui.conftest import KNN, LABELLED, Visit
from tests.ui.test_apptest import text_of as escaped_text_of
from tests.ui.test_apptest import the_run

FOLDS = KnnSettings(("simulated",), EvaluationProtocol("folds", 5, 2))  # of the kNN of `fused_demo`


@pytest.fixture
def dataset(fused_copy: Workspace) -> Dataset:
    return default_dataset(fused_copy, None)


def text_of(app: object) -> str:
    return escaped_text_of(app).replace("\\", "")  # type: ignore[arg-type]


def covered_row(workspace: Workspace, run: Run) -> str:
    """A row of a run that has no flag."""
    with workspace.store.read() as db:
        rows = predictions.frame(db, run.id)
    return str(rows[rows["flags"].map(len) == 0]["pair_id"].iloc[0])


@pytest.mark.soak
def test_a_row_of_a_knn_shows_its_neighbours(
    visit: Visit, fused_copy: Workspace, dataset: Dataset
) -> None:
    run = the_run(fused_copy, KNN)
    pair_id = covered_row(fused_copy, run)
    app = visit(fused_copy, "rows", run=run.id, row=pair_id)
    [table] = [each.value for each in app.dataframe if "similarity" in each.value]
    why = component_loader.neighbours_of(fused_copy, dataset, pair_id, FOLDS).why
    assert f"{len(why.neighbours):,} labelled rows have a weight" in text_of(app)
    assert table["similarity"].max() == pytest.approx(why.similarity.max())
    assert table["share"].is_monotonic_decreasing
    assert table["share"].sum() <= 100 + 1e-6
    assert "has no dossier" not in text_of(app)
    assert "have changed since" not in text_of(app)


@pytest.mark.soak
def test_a_link_to_neighbours_leaves_defaults_out(
    visit: Visit, fused_copy: Workspace, dataset: Dataset
) -> None:
    visit(fused_copy, "neighbours")  # whose spaces are read from here on
    assert link_parameters(dataset, KnnSettings(("simulated",), EvaluationProtocol("folds"))) == {}
    others = KnnSettings(
        ("simulated",), EvaluationProtocol("loo"), SimilaritySettings(Weighting(2.5))
    )
    assert link_parameters(dataset, others) == {"power": "2.5", "protocol": "leave-one-out"}


@pytest.mark.soak
def test_a_row_of_a_fusion_shows_what_it_is_summed_from(
    visit: Visit, fused_copy: Workspace
) -> None:
    base, knn = (the_run(fused_copy, name) for name in (LABELLED, KNN))
    fused = save_fusion(fused_copy, FusionSettings(base.id, (knn.id,), (0.25,), (0.5,)), "fused")
    pair_id = covered_row(fused_copy, fused)
    app = visit(fused_copy, "rows", run=fused.id, row=pair_id)
    [table] = [each.value for each in app.dataframe if "component" in each.value]
    with fused_copy.store.read() as db:
        row = predictions.row(db, fused.id, pair_id)
    assert table["component"].tolist() == [LABELLED, KNN]
    assert f"DE rank score {row['p_de']:.6f} = 0.75" in text_of(app)
    assert [
        f"run={run.id}&row={pair_id}" in address
        for run, address in zip((base, knn), table["row"], strict=True)
    ] == [
        True,
        True,
    ]
    assert "has no dossier" not in text_of(app)
    recovered = save_recovered(fused_copy, base.id, fused.id, (0.25, 0.5), "recovered")
    again = visit(fused_copy, "rows", run=recovered.id, row=pair_id)
    [parents] = [each.value for each in again.dataframe if "component" in each.value]
    assert parents["P(DE)"].tolist() == [table["P(DE)"][0], row["p_de"]]
    run_actions.delete(fused_copy, knn.id)
    without = visit(fused_copy, "rows", run=fused.id, row=pair_id)
    assert "cannot be shown" in text_of(without)
    assert next(
        each for each in without.expander if each.label == "As the run recorded it"
    ).proto.expanded


@pytest.mark.soak
def test_a_row_of_a_knn_that_failed_is_made_from_nothing(
    visit: Visit, fused_copy: Workspace
) -> None:
    run = the_run(fused_copy, KNN)
    pair_id = covered_row(fused_copy, run)
    with fused_copy.store.write() as db:
        db.execute(
            "UPDATE prediction SET error = 'Timeout', p_de = NULL WHERE run = ? AND pair_id = ?",
            [run.id, pair_id],
        )
    app = visit(fused_copy, "rows", run=run.id, row=pair_id)
    assert not [each for each in app.dataframe if "similarity" in each.value]


def test_settings_are_written_as_the_widgets_of_neighbours_read_them() -> None:
    settings = KnnSettings(
        ("a", "b"),
        EvaluationProtocol("loo"),
        SimilaritySettings(Weighting(2.5, None, 50, "pert"), centre=True, strength=0.3),
    )
    assert parameters_of(settings) == {
        **{
            "space": ["a", "b"],
            "power": "2.5",
            "axis": "perturbation",
            "centre": "true",
            "strength": "0.3",
        },
        **{"nearest": "50", "protocol": "leave-one-out"},
    }
    cut = parameters_of(KnnSettings(("a",), EvaluationProtocol("folds", 3, 1_234_567)))
    assert (cut["folds"], cut["fold_seed"]) == ("3", "1234567")
    plain = parameters_of(KnnSettings(("a",), EvaluationProtocol("test")))
    assert "protocol" not in plain  # rows without a label have none
    assert "nearest" not in plain  # all


def call(tokens: tuple[int, int], **more: Any) -> Call:
    known = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "reasoning_tokens": 0}
    return Call(
        "key",
        "de",
        "EFFECT",
        "{}",
        "{}",
        **{"cached": False, "attempts": 1, "latency_ms": 1500.0, **known, **more},
    )


def test_each_call_has_its_seconds_and_the_tokens_that_the_server_counted() -> None:
    table = call_table(
        [
            call((100, 20)),
            call((0, 0), attempts=3, error="late"),
            call((100, 20), cached=True, latency_ms=0.0),
        ]
    )
    assert table["step"].tolist() == ["1. de · EFFECT", "2. de · EFFECT", "3. de · EFFECT"]
    assert table["seconds"].tolist() == [1.5, 1.5, 0.0]
    assert [None if pd.isna(n) else n for n in table["sent"]] == [
        100,
        None,
        100,
    ]  # no request has no tokens
    assert table["remark"].tolist() == ["", "3 attempts, failed", "from the cache"]


@pytest.mark.parametrize(
    ("message", "thinking"),
    [
        (
            {"content": "<think>Rela activates it.</think>\n\n<answer>B</answer>"},
            "Rela activates it.",
        ),
        ({"content": "B", "reasoning": "Rela activates it."}, "Rela activates it."),
        ({"content": "B"}, ""),
    ],
)
def test_the_thinking_of_a_call_is_shown_as_thinking(
    message: dict[str, str], thinking: str
) -> None:
    reply = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    asked = Call("k", "de", "JUDGE", "{}", reply, False, 1, 1.0, 1, 1, 0)
    assert thinking_of(asked) == thinking
    assert thinking_of(replace(asked, reply="<html>")) == ""
