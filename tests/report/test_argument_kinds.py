"""Kinds of arguments as a figure of reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from core.actions.workspace import Workspace
from core.audit.kind_settings import KindSettings
from core.report.figures import argument_kinds
from core.report.material_loader import load_material
from core.report.selection import select
from core.scoring.argument_kinds import RunTexts, find_kinds
from core.store import runs
from tests.audit.argument_texts import write_texts

RUN = "simulated debate"


@pytest.fixture(scope="module")
def texts(little_demo: Workspace) -> RunTexts:
    return texts_of(little_demo, 30)


def texts_of(workspace: Workspace, rows: int) -> RunTexts:
    with workspace.store.read() as db:
        run = runs.find(db, RUN)
    made, _ = write_texts(rows)
    ids = [f"row{row}" for row in made.rows]
    outcome = np.where(made.rows % 3 == 0, "hit", "miss").astype(object)
    frame = pd.DataFrame({"pair_id": ids, "pert": made.pert, "gene": made.gene, "seq": 0, "stage": "de", "role": "UP"})
    return RunTexts(run, "brief", "UP", frame.assign(outcome=outcome), made.content)


@pytest.mark.soak
def test_the_figure_says_whether_the_kinds_hold(texts: RunTexts) -> None:
    found = argument_kinds.of_run(find_kinds(texts, KindSettings(k=3)))
    assert found.sentence.startswith("The kinds are stable.")
    assert "60 briefs of UP of 30 rows" in found.sentence
    assert "30 rows with a label" in found.caption
    assert found.chart is not None
    assert found.table["n"].sum() == 60
    assert found.table["share"].sum() == pytest.approx(1)


def test_without_labels_a_sentence_stands_in_its_place(texts: RunTexts) -> None:
    silent = replace(texts, frame=texts.frame.assign(outcome=None))
    found = argument_kinds.of_run(find_kinds(silent, KindSettings(k=3)))
    assert found.chart is None
    assert "so there is no hit rate" in found.sentence


def test_several_runs_stand_in_one_figure_each_with_its_own_kinds(little_demo: Workspace) -> None:
    texts = texts_of(little_demo, 12)
    with little_demo.store.read() as db:
        material = load_material(db, select(db, [RUN], figures=("labels",)), lambda _run, _ids: None)
    twin = replace(texts, run=replace(texts.run, name="twin"))
    silent = replace(texts, frame=texts.frame.assign(outcome=None))
    both, mute = argument_kinds.FIGURE.make(replace(material, runs=[], texts={"a": texts, "b": twin, "c": silent}))
    assert (both.subject, mute.chart) == ("2 runs", None)
    alone = find_kinds(texts, KindSettings())
    assert both.table["run"].tolist() == [RUN] * len(alone.kinds) + ["twin"] * len(alone.kinds)
    assert both.table["kind"].tolist() == [kind.name for kind in alone.kinds] * 2
    assert f"twin: {both.sentence.split(': ', 1)[1].split(' twin: ')[0]}" in both.sentence


def test_texts_are_loaded_for_this_figure_alone(little_demo: Workspace) -> None:
    with little_demo.store.read() as db:
        for figures, loaded in ((("labels",), 0), (("argument_kinds",), 1)):
            material = load_material(db, select(db, [RUN], figures=figures), lambda _run, _ids: None)
            assert len(material.texts) == loaded
