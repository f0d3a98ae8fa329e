"""Data, tabs Runs and Changes: what a person reads of a run and of what was done."""

from __future__ import annotations

import json

import pytest

from core.features.importing.page.import_tabs import describe_run, detail_text
from core.runs import actions
from core.runs.workspace import Workspace
from tests.scoring.test_run_scores import run_of
from tests.ui.conftest import Visit
from tests.ui.test_apptest import the_run

TEST = "simulated debate test"


@pytest.mark.soak
def test_a_run_is_described_in_words_and_its_record_is_folded(
    glance: Visit, demo_workspace: Workspace
) -> None:
    run = the_run(demo_workspace, TEST)
    app = glance(demo_workspace, "data", tab="Runs and notes", run=run.id)
    facts = next(
        element.value for element in app.main.markdown if element.value.startswith("**Method**")
    )
    assert "**Method**: debate" in facts
    assert f"**Rows**: {run.done:,} of {run.total:,}" in facts.replace("\\", "")
    assert run.id not in facts
    [record] = [element for element in app.main.expander if element.label.startswith("Record")]
    assert f"id: {run.id}" in record.text[0].value


def test_the_settings_of_a_run_are_said_with_the_names_of_runs() -> None:
    options = {"base": "a", "w_de": "0.25", "k": None, "judge": "", "tools": ["x", "y"]}
    run = run_of("r", method="fusion", parents=("a", "z"), spec={"options": options})
    facts = describe_run(run, {"a": "A"})
    assert facts["Made from"] == "A, a deleted run"
    assert facts["Settings"] == "base: A; w de: 0.25; tools: ['x', 'y']"
    assert "File" not in facts


def test_a_change_says_its_detail() -> None:
    detail = {"rows": 65377, "pack_name": "string_edges", "strict": True}
    assert detail_text(json.dumps(detail)) == "rows: 65377, pack name: string_edges, strict: True"


@pytest.mark.soak
def test_changes_stand_in_a_static_table_that_cuts_nothing(
    visit: Visit, small_workspace: Workspace
) -> None:
    note = "a note so long that no cell of one line would hold it " * 4
    actions.set_values(small_workspace, the_run(small_workspace).id, {"note": note})
    app = visit(small_workspace, "data", tab="History")
    assert not [each for each in app.dataframe if "detail" in each.value]
    [table] = app.table
    assert list(table.value) == ["when", "by", "what", "of", "detail"]
    assert note.strip() in table.value["detail"].iloc[0].replace("\\", "")


def test_a_run_is_packed_as_a_site_on_a_click(visit: Visit, small_workspace: Workspace) -> None:
    run = the_run(small_workspace)
    app = visit(small_workspace, "data", tab="Runs and notes", run=run.id)
    app.button(key=f"site-{run.id}").click().run()
    assert any("4 rows, " in caption.value for caption in app.main.caption)
