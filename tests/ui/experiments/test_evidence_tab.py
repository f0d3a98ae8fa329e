"""The tab Evidence: which attribution is shown, and what Start and Resume start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from core.actions import attribution, launch
from core.actions.attribution import AttributionPlan, AttributionRequest
from core.actions.contamination import ContaminationPlan, ContaminationRequest
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.engine.request import RunRequest
from core.store.runs import Run
from core.ui.experiments import evidence_tab, names_panel
from tests import worlds
from tests.fakes import scripted as scripted_server
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form

ROWS = 4


@dataclass(frozen=True)
class World:
    """A workspace with a debate that can be attributed, and a model server that is not that of the settings."""

    workspace: Workspace
    run: Run
    url: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    workspace = open_workspace(Settings(workspace=tmp_path_factory.mktemp("evidence"), author="tester"))
    worlds.furnish(workspace)
    with scripted_server.serving() as url:
        options = {"tools": "gene_class,base_rates", "rounds": 0}
        asked = RunRequest("debate", None, options, f"split=train;sample={ROWS}", "argued", "scripted", endpoint=url)
        yield World(workspace, launch.start(workspace, asked), url)


def save(workspace: Workspace, plan: AttributionPlan) -> None:
    attribution.save_attribution(workspace, plan)


@pytest.mark.soak
def test_the_attribution_that_was_just_started_is_shown(visit: Visit, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_tab, "start_apart", save)
    older, newer = (
        attribution.plan_attribution(world.workspace, AttributionRequest("argued", "", (tool,), 1, world.url))
        for tool in ("gene_class", "base_rates")
    )
    for plan in (older, newer):
        attribution.save_attribution(world.workspace, plan)
    link = {"run": world.run.id, "attribution": older.spec.key, "evidence_repeats": "2"}
    app = visit(world.workspace, "experiments", tab="Evidence", **link)
    assert app.selectbox(key="id-attribution").value == older.spec.key
    check_form(AttributionRequest, app, "evidence_", from_data=("rows", "repeats"))  # which the link chooses
    app.button(key="start-evidence").click().run()
    assert not app.exception
    started = [each for each in evidence_tab.loaders.saved_attributions() if each.spec.repeats == 2]
    assert [app.selectbox(key="id-attribution").value] == [each.spec.key for each in started]


@pytest.mark.soak
def test_other_gene_names_are_asked_from_a_form(visit: Visit, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[ContaminationPlan] = []
    monkeypatch.setattr(names_panel, "start_apart", lambda _, plan: started.append(plan))
    app = visit(world.workspace, "experiments", tab="Evidence", run=world.run.id, names_rows="2", names_arms="coded")
    check_form(ContaminationRequest, app, "names_", from_data=("rows", "arms"))
    app.button(key="start-names").click().run()
    assert not app.exception
    assert [(plan.spec.arms, len(plan.spec.rows)) for plan in started] == [(("coded",), 2)]
