"""Which run a page opens on: one that it can show something of, and it says which and why; a person's choice stays."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.runs.workspace import Workspace
from core.store import changes, runs
from tests.ui.conftest import LABELLED, Visit
from tests.ui.test_apptest import the_run

pytestmark = pytest.mark.soak

TEST = "simulated debate test"  # of the demo, without labels


def said(app: AppTest) -> str:
    return "\n".join(each.value for each in app.sidebar.caption).replace("\\", "")


def shown(app: AppTest) -> str:
    run = app.query_params["run"]
    return run if isinstance(run, str) else run[0]


@pytest.fixture
def unlabelled_last(little_copy: Workspace) -> Workspace:
    """A workspace of a run of rank scores on all labelled rows and a debate on rows without a label."""
    with little_copy.store.write() as db:
        db.execute("UPDATE run SET created_at = now()::TIMESTAMP WHERE name = ?", [TEST])
        db.execute("UPDATE run SET method = 'prompt_only' WHERE name <> ?", [TEST])
        changes.bump(db, "runs")
    return little_copy


@pytest.mark.parametrize("page", ["scores", "compare", "fuse"])
def test_a_page_of_scores_opens_on_a_run_with_labels_and_says_why(
    visit: Visit, unlabelled_last: Workspace, page: str
) -> None:
    app = visit(unlabelled_last, page)
    assert shown(app) != the_run(unlabelled_last, TEST).id
    assert "chosen: the latest run with labels" in said(app)


def test_arguments_open_on_a_debate_though_it_has_no_labels(
    visit: Visit, unlabelled_last: Workspace
) -> None:
    app = visit(unlabelled_last, "arguments")
    assert shown(app) == the_run(unlabelled_last, TEST).id
    assert "chosen: the latest debate" in said(app).splitlines()


def test_no_page_opens_on_an_arm_of_an_experiment_by_itself(
    visit: Visit, little_copy: Workspace
) -> None:
    latest = shown(visit(little_copy, "overview"))
    with little_copy.store.write() as db:
        other = next(run.id for run in runs.list_all(db) if run.id != latest)
        db.execute("UPDATE run SET parents = [?], model = 'a model' WHERE id = ?", [other, latest])
        changes.bump(db, "runs")
    assert shown(visit(little_copy, "overview")) != latest


def test_what_a_person_chose_stays_on_every_page_without_a_reason(
    glance: Visit, little_demo: Workspace
) -> None:
    run = the_run(little_demo, TEST).id
    app = glance(little_demo, "scores", run=run)
    assert shown(app) == run
    assert "chosen:" not in said(app)
    picked = glance(little_demo, "overview")
    assert "chosen: the latest debate with labels" in said(picked)
    picked.selectbox(key="choose_run").set_value(run).run()
    assert "chosen:" not in said(picked)
    assert "no labels · debate" in said(picked)


def test_names_that_the_choice_would_cut_are_written_in_full(
    glance: Visit, little_demo: Workspace
) -> None:
    long = next(name for name in ("simulated collapsed debate",) if len(name) > 22)
    assert f"**{long}**" in said(glance(little_demo, "overview", run=the_run(little_demo, long).id))
    assert f"**{LABELLED}**" not in said(
        glance(little_demo, "overview", run=the_run(little_demo, LABELLED).id)
    )
