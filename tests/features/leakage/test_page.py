"""What the leakage audit found stands on Overview and on Data."""

from __future__ import annotations

import pytest

from core.features.arguments import readings
from core.features.arguments.findings import CLASH
from core.features.arguments.readings import ReadingSettings
from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.reading.overview import concerns
from core.runs.workspace import Workspace
from tests import cases, worlds
from tests.fakes.scripted import serving
from tests.features.perturbqa.test_tab import AtOnce
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of

pytestmark = pytest.mark.soak


@pytest.fixture
def leaking(small_workspace: Workspace) -> Workspace:
    """A test row has a training gene in capitals."""
    rows = cases.as_csv(["id", "pert", "gene"], [["Pc_GA", "Pc", "GA"]])
    assert (
        import_upload(small_workspace, rows, "more.csv", ImportOptions(dataset="bmdm")).kind
        == "challenge_test"
    )
    space = worlds.table_of({"Ga": [1.0, 0.5], "Gb": [0.5, -1.0], "Gc": [0.2, 0.3]})
    assert import_upload(small_workspace, space, "near.csv").kind == "embedding"
    return small_workspace


def test_a_finding_stands_on_overview_and_on_data(
    visit: Visit, leaking: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concerns, "background", AtOnce)
    overview = visit(leaking, "overview")
    text = text_of(overview)
    assert "train and test" in text
    assert "1 target gene shared, in another case" in text
    assert "How splits, spaces and runs were checked for leaks" in text
    data = visit(leaking, "data", tab="Spaces and leaks")
    assert "1 finding" in text_of(data)
    tables = {next(iter(table.value)): table.value for table in data.dataframe}
    splits, inputs = (tables[name] for name in ("splits", "input"))
    assert tables["of"]["what"].item().startswith("1 target gene shared, in another case")
    assert splits.iloc[0].tolist() == ["train and test", "0", "1", "1", "0"]
    assert inputs["name"].tolist() == ["bmdm", "near", "debate"]
    assert set(inputs["found"]) == {"no label found by these probes"}


def test_without_a_finding_data_says_what_was_looked_for(
    visit: Visit, small_workspace: Workspace
) -> None:
    data = visit(small_workspace, "data", tab="Spaces and leaks")
    assert "no two splits share a perturbation or a target gene" in text_of(data)
    assert "checked for leaks" not in text_of(visit(small_workspace, "overview"))


@pytest.mark.parametrize(("page", "tab"), [("overview", ""), ("data", "Spaces and leaks")])
def test_a_reading_predicts_nothing_and_is_not_probed(
    visit: Visit, small_workspace: Workspace, page: str, tab: str
) -> None:
    with serving() as url:
        readings.start_reading(
            small_workspace, CLASH.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )
    app = visit(small_workspace, page, **({"tab": tab} if tab else {}))
    assert [each.value for each in app.error] == []
