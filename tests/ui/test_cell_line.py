"""Pages on a cell line: its headline by name, test rows under the benchmark's own split, and nothing of the challenge."""

from __future__ import annotations

import pytest

from core.runs.workspace import Workspace
from core.transfer.knn_settings import KnnSettings
from tests.derived import save_knn
from tests.features.cells.test_line_labels import TEST, line_of, line_with
from tests.ui.conftest import Visit

HEADLINE = "macro AUROC by gene, mean of DE and DIR"


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = line_with(tmp_path_factory.mktemp("line"), 1)
    save_knn(workspace, line_of(workspace), KnnSettings(("near",), TEST), "kNN")
    return workspace


def text_of(app: object) -> str:
    return "\n".join(str(element.proto) for element in app.main)  # type: ignore[attr-defined]


@pytest.mark.soak
@pytest.mark.parametrize("page", ["overview", "scores", "compare"])
def test_scores_are_named(visit: Visit, line: Workspace, page: str) -> None:
    app = visit(line, page, dataset="k562", run="llm test")
    assert HEADLINE in text_of(app)


@pytest.mark.soak
@pytest.mark.parametrize(("run", "protocols"), [("llm train", 1), ("llm test", 0)])
def test_what_if_keeps_labels_away_from_training_rows_alone(
    visit: Visit, line: Workspace, run: str, protocols: int
) -> None:
    app = visit(line, "fuse", dataset="k562", run=run)
    assert len([each for each in app.selectbox if each.label == "Protocol"]) == protocols
    assert next(each.value for each in app.selectbox if each.label == "Compared") == "perturbation"
    assert f"k562 is judged by the {HEADLINE}" in text_of(app)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("row", "told"),
    [("P9_G0", "in the test split, whose labels are not used"), ("P0_G0", "masked")],
)
def test_neighbours_say_which_labels_a_row_may_see(
    visit: Visit, line: Workspace, row: str, told: str
) -> None:
    app = visit(line, "neighbours", dataset="k562", row=row)
    assert told in text_of(app)


@pytest.mark.soak
def test_nothing_is_submitted(visit: Visit, line: Workspace) -> None:
    app = visit(line, "share", tab="Package a run", dataset="k562", run="llm test")
    assert "there is nothing to submit" in text_of(app)
