"""The page Experiments, without a browser: the ledger by its forms, and experiments from the form to the verdict."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.features.experiments import engine, ledger
from core.features.experiments.engine import kinds
from core.runs import launch
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from tests import worlds
from tests.fakes.scripted import serving
from tests.features.experiments.test_file_runs import FUSED
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of, the_run


def test_the_published_ladder_by_one_click(visit: Visit, little_copy: Workspace) -> None:
    app = press(visit(little_copy, "experiments", tab="Ledger"), "Import the published ladder")
    text = text_of(app).replace("\\", "")
    assert "of 9 results" in text
    assert "kNN fusion (p 0.00194, after Holm 0.0174)" in text
    assert "Below what a leaderboard shows" in text
    table = app.dataframe[0].value
    assert table["verdict"].tolist() == ["confirmed"] + ["undecided"] * 8
    assert table["p (Holm)"].iloc[0] == "0.0174"
    assert len(app.get("plotly_chart")) == 1


def test_a_reader_sees_the_ledger_and_no_form(
    visit: Visit, little_copy: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.import_published_ladder(little_copy)
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    app = visit(little_copy, "experiments", tab="Ledger")
    assert "kNN fusion" in app.dataframe[0].value["hypothesis"].tolist()
    assert "Import the published ladder" not in {button.label for button in app.button}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, str]]:
    """A workspace with a debate that can be asked again, and the model server that answers."""
    workspace = worlds.workspace_in(tmp_path_factory.mktemp("page"))
    worlds.furnish(workspace)
    with serving() as url:
        options = {"tools": "gene_class,base_rates", "rounds": 0}
        asked = RunRequest(
            "debate", None, options, "split=train;sample=4", "argued", "scripted", endpoint=url
        )
        launch.start(workspace, asked)
        yield workspace, url


def test_a_page_without_experiments_says_what_is_missing(
    visit: Visit, workspace: Workspace
) -> None:
    assert "no dataset" in text_of(visit(workspace, "experiments"))
    assert "No experiment" in text_of(visit(workspace, "experiments", tab="Results"))
    assert "No hypothesis" in text_of(visit(workspace, "experiments", tab="Ledger"))


FORMS = {  # kind → parameters of its form
    "tools": {"experiment-tools-tools": "gene_class", "experiment-tools-repeats": "1"},
    "names": {"experiment-names-arms": "coded"},
    "seeds": {},
    "method": {"experiment-method-options": "rounds=1"},
    "dossier": {"experiment-dossier-tools": "gene_class"},
}


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", FORMS)
def test_a_form_plans_and_starts(
    visit: Visit, world: tuple[Workspace, str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    workspace, url = world
    started = []
    monkeypatch.setattr(engine, "start_apart", lambda _, plan: started.append(plan))
    run = the_run(workspace, "argued").id
    app = visit(workspace, "experiments", run=run, kind=kind, **FORMS[kind])
    app.text_input(key=f"endpoint-experiment-{kind}").set_value(url)
    app = press(app.run(), "Plan")
    assert not app.error
    assert "tokens" in text_of(app)  # what it costs
    app = press(app, "Start")
    [plan] = started
    assert (plan.saved.kind, len(plan.saved.rows), plan.saved.values["endpoint"]) == (kind, 4, url)


@pytest.mark.soak
def test_a_file_is_started_and_its_result_shown(
    visit: Visit, screen: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "start_apart", lambda workspace, plan: engine.run(workspace, plan))
    app = visit(screen, "experiments", kind="file")
    app.text_area(key="spec-file").set_value(FUSED)
    assert not press(app.run(), "Start").error
    [saved] = engine.list_saved(screen)
    app = visit(screen, "experiments", tab="Results", experiment=saved.key)
    text = text_of(app).replace("\\", "")
    assert engine.result_of(screen, saved).question in text


def test_an_idea_is_computed_from_its_form(visit: Visit, screen: Workspace) -> None:
    app = visit(
        screen, "experiments", kind="support_strata", **{"experiment-support_strata-cuts": "1"}
    )
    app = press(app, "Compute")
    assert not app.error
    assert app.dataframe


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", [name for name, kind in kinds().items() if kind.compute is None])
def test_every_kind_that_makes_runs_has_a_form(visit: Visit, screen: Workspace, kind: str) -> None:
    app = visit(screen, "experiments", kind=kind)
    assert kinds()[kind].question in text_of(app) or kinds()[kind].title in str(app.selectbox)
