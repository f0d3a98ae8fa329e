"""The table of runs: those on the same rows stand together with their control; a person chooses the columns."""

from __future__ import annotations

import pandas as pd
import pytest

from core.runs import actions
from core.runs.model_servers import ENDPOINT_FILE
from core.runs.workspace import Workspace
from tests.features.neighbours.test_pages import TEST
from tests.ui.conftest import LABELLED, Visit
from tests.ui.test_apptest import the_run

CONTROL = "no-biology baseline"


def table_of(visit: Visit, workspace: Workspace, **parameters: str | list[str]) -> pd.DataFrame:
    app = visit(workspace, "overview", **parameters)
    return next(
        each.value for each in app.dataframe if "run" in each.value and "group" not in each.value
    )


@pytest.mark.soak
def test_runs_on_the_same_rows_stand_together_best_first_with_their_control(
    visit: Visit, little_demo: Workspace
) -> None:
    table = table_of(visit, little_demo)
    labelled, [unlabelled] = table[table["mean"].notna()], table[table["mean"].isna()]["run"]
    assert unlabelled == TEST
    block = (labelled["run"] == CONTROL).shift(fill_value=False).cumsum()
    for _, together in labelled.groupby(block):
        assert together["run"].iloc[-1] == CONTROL
        assert together["rows"].nunique() == 1
        assert together["mean"].str[:5].astype(float).iloc[:-1].is_monotonic_decreasing
    assert {LABELLED, "simulated collapsed debate", CONTROL} in (
        set(together["run"]) for _, together in labelled.groupby(block)
    )
    assert list(table)[:2] == ["run", "rows"]


@pytest.mark.soak
def test_cost_needs_a_price_and_tokens(
    visit: Visit, little_copy: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "cost" not in table_of(visit, little_copy)
    run = the_run(little_copy, LABELLED)
    monkeypatch.setenv("PERTURBDESK_PRICE_PROMPT", "1.5")
    monkeypatch.setenv("PERTURBDESK_PRICE_COMPLETION", "4")
    table = table_of(visit, little_copy).set_index("run")
    low, high = (
        run.tokens * 1.5 / 1e6,
        run.tokens * 4 / 1e6,
    )  # the calls of the demo are not recorded: only the sum is known
    assert table.loc[LABELLED, "cost"] == f"{low:,.2f}–{high:,.2f}"
    address = little_copy.settings.endpoint
    file = little_copy.settings.data / ENDPOINT_FILE
    file.write_text(
        f'[[endpoint]]\naddress = "{address}"\nprice_prompt = 3\nprice_completion = 3\n'
    )
    assert (
        table_of(visit, little_copy).set_index("run").loc[LABELLED, "cost"]
        == f"{run.tokens * 3 / 1e6:,.2f}"
    )
    file.write_text("[[endpoint]]\n")
    assert "cost" not in table_of(visit, little_copy)  # which the page says, and shows all else
    file.unlink()
    with little_copy.store.write() as db:
        db.execute("UPDATE run SET tokens_unknown = 3 WHERE id = ?", [run.id])
    actions.set_values(little_copy, run.id, {"note": "so that the page reads it again"})
    again = table_of(visit, little_copy).set_index("run")
    assert pd.isna(again.loc[LABELLED, "cost"])
    assert again.loc[LABELLED, "tokens"].startswith("≥ ")
