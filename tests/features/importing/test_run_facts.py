"""Data, tabs Runs and Changes: what a person reads of a run and of what was done."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.base.fields.record import options_of
from core.base.texts import title_in_sentence
from core.features.importing.page.import_tabs import describe_run, detail_text
from core.methods.base import methods
from core.runs import actions
from core.runs.workspace import Workspace
from tests import worlds
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


def settings_of(method: str, **options: Any) -> str:
    """The settings of a run of a method as its card has them, with runs named by a capital."""
    run = run_of("r", method=method, parents=("a", "b"), spec={"options": options})
    return dict(describe_run(run, {"a": "A", "b": "B", "c": "C"}))["Settings"]


def test_the_settings_of_a_fusion_have_the_titles_and_the_words_of_its_form() -> None:
    options = {
        "base": "a",
        "with": "b",
        "w_de": "0.25",
        "reference": "train",
        "reference_runs": "a=c,b=b",
        "by_support": "more",
    }
    assert settings_of("fusion", **options, by_agreement=True) == (
        "weights for DE: 0.25; rank among: labelled rows; percentiles against: C for A, B for B; "
        "neighbours' weight: more with support; less where ranks disagree: on"
    )


def test_the_settings_of_any_method_have_the_titles_that_it_declares() -> None:
    for name, method in methods().items():
        for option in options_of(method.settings):
            if option.about.title and option.name not in ("base", "with"):
                said = settings_of(name, **{option.name: "b"})
                assert said.startswith(f"{title_in_sentence(option.about.title)}: "), (
                    name,
                    option.name,
                )


def test_a_setting_without_a_value_says_what_stands_in_its_place() -> None:
    """A kNN without a number of genes takes all, and without a power for effects the same for both priors."""
    assert settings_of("knn", k=None, de_power=None, power=2.0, strength=0.0) == (
        "nearest: all; power for an effect: the same; power: 2; support strength: 0"
    )
    assert settings_of("knn", k=25, axis="pert") == "nearest: 25; compared: perturbation"


def test_a_setting_without_a_title_or_of_an_unknown_method_has_its_name_in_words() -> None:
    """A run that a setting names has its name there, whatever the setting is called."""
    assert (
        settings_of("debate", advocate_tokens=30, judge="plain")
        == "advocate tokens: 30; judge: plain"
    )
    assert settings_of("of_later", some_option=["x", "y"], k=0.5) == "some option: x, y; k: 0.5"
    assert settings_of("recovered", fused="b") == "fusion of the base: B"


def test_a_change_says_its_detail_with_the_beginning_of_a_hash() -> None:
    detail = {
        "pack_sha256": "0123456789abcdef" * 4,
        "rows": 65377,
        "name": "string_edges",
        "strict": True,
    }
    expected = "pack sha256: 0123456789ab, rows: 65,377, name: string_edges, strict: True"
    assert detail_text(json.dumps(detail)) == expected


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


def test_a_detail_that_is_no_json_is_shown_as_it_is(
    visit: Visit, small_workspace: Workspace
) -> None:
    with worlds.opened_directly(small_workspace.settings.store_file) as db:
        db.execute("UPDATE trail SET detail = 'gone' WHERE position = 2")
    app = visit(small_workspace, "data", tab="History")
    assert not app.exception
    assert "gone" in app.table[0].value["detail"].tolist()


def test_a_run_is_packed_as_a_site_on_a_click(visit: Visit, small_workspace: Workspace) -> None:
    run = the_run(small_workspace)
    app = visit(small_workspace, "data", tab="Runs and notes", run=run.id)
    app.button(key=f"site-{run.id}").click().run()
    assert not app.exception
    assert any("4 rows, " in caption.value for caption in app.main.caption)
