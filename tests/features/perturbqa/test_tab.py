"""Scores, tab Baselines: simple methods on a split."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.perturbqa import tab
from core.runs.workspace import Workspace
from core.store import datasets, pairs
from core.ui.background import Background, Result
from tests import worlds
from tests.commands import core_json
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of


class AtOnce(Background):
    """Computes what a page asks for before the page goes on."""

    def ask(self, key: Hashable, compute: Callable[[Any], Any]) -> Result:  # noqa: ARG002
        return Result(ready=True, value=compute(lambda _: None))


def table_with(app: AppTest, column: str) -> pd.DataFrame:
    """The table on a page that has a column."""
    [found] = [each.value for each in app.dataframe if column in each.value]
    return found


@pytest.mark.soak
def test_the_tables_show_what_the_command_prints(
    visit: Visit, cell_lines: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tab, "background", AtOnce)
    app = visit(cell_lines, "scores", dataset="k562", part="Baselines")
    printed = core_json(cell_lines, "baselines --dataset k562")
    shown, published = (table_with(app, column) for column in ("how to read it", "difference"))
    assert shown["name"].tolist() == [each["name"] for each in printed["baselines"]]
    for text, each in zip(shown["DE by gene"], printed["baselines"], strict=True):
        assert each["de"] is None or text.startswith(f"{each['de']['macro']:.3f} [")
    assert published["method"].tolist() == [each["method"] for each in printed["published"]]
    assert "5 of 6 perturbations, 2 of 10 genes, 10 of 60 rows" in text_of(app)
    assert "not computed: networks are trained only on request" in shown["how to read it"].iloc[-1]


def test_until_they_are_computed_the_page_says_so(glance: Visit, cell_lines: Workspace) -> None:
    app = glance(cell_lines, "scores", dataset="k562", part="Baselines")
    assert "Computing the baselines" in text_of(app)


@pytest.mark.soak
def test_a_dataset_without_such_a_split_has_none(
    visit: Visit, small_workspace: Workspace, cell_lines: Workspace
) -> None:
    app = visit(small_workspace, "scores", part="Baselines")
    assert "Simple methods on the labelled rows of a split" not in text_of(app)
    assert "Simple methods on the labelled rows of a split" in text_of(
        visit(cell_lines, "scores", dataset="k562")
    )


@pytest.mark.soak
def test_they_stand_below_the_controls_of_a_run(
    visit: Visit, cell_lines: Workspace, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tab, "background", AtOnce)
    copied = worlds.copied(cell_lines.settings.workspace, workspace)
    with copied.store.read() as db:
        rows = pairs.frame(db, datasets.find(db, "k562").id)[["pair_id"]].rename(
            columns={"pair_id": "id"}
        )
    predicted = rows.assign(prediction_up=0.2, prediction_down=0.1)
    assert import_upload(
        copied, predicted.to_csv(index=False).encode(), "run.csv", ImportOptions(dataset="k562")
    ).new
    app = visit(copied, "scores", dataset="k562", run="run", part="Baselines")
    assert {"DE", "how to read it"} <= {column for each in app.dataframe for column in each.value}
