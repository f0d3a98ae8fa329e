"""The tab of kinds of arguments, on a page of its own."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.actions.workspace import Workspace
from core.ui.arguments import kinds_tab
from core.ui.shared.background import Result
from tests.little_demo import DEBATED_ROWS
from tests.ui.conftest import forget


class AtOnce:
    """Computes what it is asked for before it answers."""

    def ask(self, _key: object, compute: object) -> Result:
        return Result(ready=True, value=compute(lambda _: None))  # type: ignore[operator]


def page(name: str) -> None:
    from core.ui.arguments import kinds_tab as tab
    from core.ui.shared import figure_menu, loaders
    from core.ui.shared.server_workspace import read_workspace

    loaders.refresh()
    run = next(run for run in loaders.all_runs() if run.name == name)
    figure_menu.begin_page(read_workspace(), None, run)
    tab.show(run)


def open_tab(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, run: str, **parameters: str) -> AppTest:
    forget()
    monkeypatch.setattr(kinds_tab, "background", AtOnce)
    monkeypatch.setattr(kinds_tab.links, "to_row", lambda run, pair_id, label: None)  # noqa: ARG005  # there are no pages here
    monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(workspace.settings.workspace))
    app = AppTest.from_function(page, args=(run,), default_timeout=60)
    app.query_params.update(parameters)
    return app.run()


def test_kinds_with_their_hit_rates_and_typical_texts(little_demo: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_tab(little_demo, monkeypatch, "simulated debate", of_role="UP", kinds="4")
    assert not app.exception
    assert f"{DEBATED_ROWS} briefs of UP" in "".join(each.value for each in app.markdown)
    table = next(each.value for each in app.dataframe if "rate" in each.value)
    assert table["n"].sum() == DEBATED_ROWS
    assert table["rate"].str.fullmatch(r"0\.\d\d \[0\.\d\d, 0\.\d\d\]").all()
    assert len(app.expander) >= 4
    assert len(app.text) == 20
    assert app.selectbox(key="id-kinds").value == "4"
    app.selectbox(key="id-sorted_by").set_value("hdbscan").run()
    assert not app.exception
    assert "id-kinds" not in [each.key for each in app.selectbox]
    forget()


def test_a_run_without_texts_says_so(little_demo: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds_tab.loaders, "text_counts", lambda _run: {})
    app = open_tab(little_demo, monkeypatch, "simulated debate")
    assert not app.exception
    assert "which writes no texts" in app.markdown[0].value
    forget()
