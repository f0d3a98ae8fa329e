"""What stands below the explorer: popovers that are drawn from their first opening on."""

from __future__ import annotations

from core.runs.workspace import Workspace
from tests.features.fuse.explorer_view import opened
from tests.ui.conftest import LABELLED, Visit
from tests.ui.test_apptest import the_run


def test_a_popover_is_drawn_when_it_is_opened_and_keeps_what_was_typed(
    visit: Visit, little_demo: Workspace
) -> None:
    app = visit(little_demo, "fuse", run=LABELLED)
    assert not {"save-mix", "save-preset", "take_labels"} & {*keys_of(app)}
    opened(app, "saving", "presets")
    assert {"save-mix", "save-preset"} <= {*keys_of(app)}
    app.text_input(key="mix_name").input("a name").run()
    app.session_state["open-saving"] = False
    app.run()
    assert app.text_input(key="mix_name").value == "a name"


def test_a_link_that_sets_what_is_in_a_popover_finds_it(
    visit: Visit, little_demo: Workspace
) -> None:
    test_run = the_run(little_demo, "simulated debate test").id
    link = {"take_labels": "false", "mix_name": "mine", "twin": test_run, "nothing_here": "1"}
    app = visit(little_demo, "fuse", run=LABELLED, **link)
    assert app.toggle(key="take_labels").value is False
    assert app.text_input(key="mix_name").value == "mine"
    assert app.selectbox(key="id-twin").value == test_run
    said = " ".join(each.value.replace("\\", "") for each in app.caption)
    assert [name for name in link if f"sets {name}" in said] == ["nothing_here"]


def keys_of(app: object) -> list[str]:
    """The keys of buttons and switches on the page."""
    return [each.key for kind in ("button", "toggle") for each in getattr(app, kind) if each.key]
