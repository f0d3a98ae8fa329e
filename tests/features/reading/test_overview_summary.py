"""What Overview says first: in words, from the numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest
import streamlit as st

from core.runs.workspace import Workspace
from core.scoring.run_scores import load_scored_rows as load
from core.scoring.run_scores import score_run
from core.store import changes, runs
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of

pytestmark = pytest.mark.soak


def test_it_names_the_best_run_whether_it_beats_counts_and_whether_debates_were_debates(
    glance: Visit, little_demo: Workspace
) -> None:
    app = glance(little_demo, "overview")
    text = text_of(app).replace("\\", "")
    with little_demo.store.read() as db:
        scores = {
            run.name: score_run(load(db, run.name)).headline.value for run in runs.list_all(db)
        }
    best = max(
        (name for name, value in scores.items() if not np.isnan(value.estimate)),
        key=lambda name: scores[name].estimate,
    )
    shown = (
        f"{scores[best].estimate:.3f} [{scores[best].low:.3f}, {scores[best].high:.3f}] against 0."
    )
    [verdict] = [line for line in text.splitlines() if shown in line]
    assert best in verdict
    assert "the baselines without biology" in verdict
    assert re.search(
        r"Most briefs argue in \d of \d debates; in simulated collapsed debate, \d+% answer", text
    )
    figure = next(each.value for each in app.dataframe if "group" in each.value)
    assert {"no-biology baseline", best} <= set(figure["run"])
    assert all(
        of_group["estimate"].is_monotonic_decreasing for _, of_group in figure.groupby("group")
    )


def test_it_names_what_is_unfinished(visit: Visit, small_workspace: Workspace) -> None:
    with small_workspace.store.write() as db:
        db.execute("UPDATE run SET status = 'crashed'")
        changes.bump(db, "runs")
    text = text_of(visit(small_workspace, "overview")).replace("\\", "")
    assert "crashed: " in text
    assert "In debate, 8% of the briefs answer the multiple-choice question" in text  # 1 of 12


def test_the_title_says_page_and_row(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles = []
    monkeypatch.setattr(st, "set_page_config", lambda page_title, **_: titles.append(page_title))
    visit(small_workspace, "overview")
    visit(small_workspace, "rows", run="debate", row="Pa_Gb")
    assert "Overview · PerturbDesk" in titles
    assert titles[-1] == "Pa → Gb · Rows · PerturbDesk"
