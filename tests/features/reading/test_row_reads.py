"""Who opens the store for a row of Debates, and for how long."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.features.reading.rows import row
from core.runs import actions
from core.runs.workspace import Workspace
from core.store import predictions, runs
from core.store.connection import Store
from core.ui.loaders import records
from tests.ui.conftest import Visit
from tests.ui.test_apptest import pair_of

pytestmark = pytest.mark.soak


@pytest.fixture
def attachments(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The mode of every opening of the store by a page since the test began: rows that are read ahead do not count."""
    modes = []
    hold = Store._hold_lock

    def counted(self: Store, mode: Any) -> Any:
        if not threading.current_thread().name.startswith("read-ahead"):
            modes.append(mode)
        return hold(self, mode)

    monkeypatch.setattr(Store, "_hold_lock", counted)
    return modes


def next_row(app: AppTest) -> AppTest:
    """Open the next row once it was read ahead."""
    records._AHEAD.submit(lambda: None).result()
    return app.button(key="go-right").click().run()


def test_the_next_row_opens_no_store(
    visit: Visit, demo_workspace: Workspace, attachments: list[str]
) -> None:
    app = visit(demo_workspace, "rows")
    for _ in range(3):
        before = app.query_params.get("row")
        attachments.clear()
        next_row(app)
        assert app.query_params["row"] != before
        assert attachments == []


def test_the_next_row_beside_another_run_opens_no_store(
    visit: Visit, demo_workspace: Workspace, attachments: list[str]
) -> None:
    with demo_workspace.store.read() as db:
        run = runs.find(db, "simulated debate").id
        other = next(key for key in predictions.shared_row_counts(db, run) if key != run)
    app = visit(demo_workspace, "rows", **{"run": run, "with": other})
    attachments.clear()
    next_row(app)
    assert len([text for text in app.markdown if text.value.startswith("#### ")]) == 2
    assert attachments == []


def test_a_row_that_was_not_read_ahead_opens_the_store_once(
    visit: Visit, demo_workspace: Workspace, attachments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records._AHEAD, "submit", lambda *_: None)
    app = visit(demo_workspace, "rows")
    attachments.clear()
    app.button(key="go-right").click().run()
    assert attachments == ["READ_ONLY"]


def test_nothing_is_drawn_while_the_store_is_held(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers = []
    show = row.show

    def watched(*arguments):
        readers.append(small_workspace.store._attachment._readers)
        show(*arguments)

    monkeypatch.setattr(row, "show", watched)
    next_row(visit(small_workspace, "rows", run="debate", row="Pa_Ga"))
    assert readers == [0, 0]


def test_a_row_that_changed_meanwhile_is_shown_as_it_is_now(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga")
    actions.add_note(small_workspace, "debate", "Pa_Gb", "written while another row was on screen")
    assert "written while another row was on screen" in [text.value for text in next_row(app).text]


@pytest.mark.parametrize(
    "parameters",
    [{"row": "Px_Gx"}, {"row": "Pa_Ga", "with": "nobody"}, {"run": "nobody", "row": "Pa_Ga"}],
)
def test_an_address_that_names_nothing_opens_the_page(
    visit: Visit, small_workspace: Workspace, parameters: dict[str, str | Sequence[str]]
) -> None:
    app = visit(small_workspace, "rows", **parameters)
    assert pair_of(app) == "### *Pa* ⟶ *Ga*"
