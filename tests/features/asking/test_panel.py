"""The panels of asking again: loaded when they are opened, what they say, and what they start."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from core.features.asking import panel
from core.features.asking.askings import AgainPlan, AgainRequest, plan_again
from core.features.asking.changed_cards import read_changes
from core.runs import launch, run_control
from core.runs.request import RunRequest
from core.runs.run_state import Counts, Heartbeat, write_heartbeat
from core.runs.spec import ExecutionSettings
from core.runs.workspace import Workspace
from core.store import predictions
from core.store.runs import Run
from tests import worlds
from tests.asked_again import make_all, without
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Script
from tests.features.asking.test_ask_page import state_shown
from tests.moving_evidence import MOVES, TOOLS, answer_moved_by
from tests.runs.jobs.crashed import leave_dead
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form
from tests.ui.test_apptest import text_of

pytestmark = pytest.mark.soak

ROWS = 24


@dataclass(frozen=True)
class World:
    """A workspace with a debate under two seeds, one row of it, and a model server."""

    workspace: Workspace
    run: Run
    row: str
    url: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    workspace = worlds.workspace_in(tmp_path_factory.mktemp("panels"))
    worlds.furnish(workspace)
    with scripted_server.serving(
        Script(seed=0, answer=answer_moved_by(MOVES, effect=15, noise=3))
    ) as url:
        options = {"tools": ",".join(TOOLS), "rounds": 0, "seeds": "1,2"}
        asked = RunRequest(
            "debate",
            None,
            options,
            f"split=train;sample={ROWS}",
            "argued",
            "scripted",
            endpoint=url,
        )
        run = launch.start(workspace, asked)
        with workspace.store.read() as db:
            row = predictions.frame(db, run.id)["pair_id"].iloc[0]
        yield World(workspace, run, row, url)


def test_nothing_is_loaded_before_it_is_opened(
    visit: Visit, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    monkeypatch.setattr(
        panel, "_show_askings", lambda _workspace, run, row, **_: loaded.append(f"{run.id} {row}")
    )
    closed = visit(world.workspace, "rows", run=world.run.id, row=world.row)
    assert "Ask again with another dossier" in [each.label for each in closed.expander]
    assert loaded == []
    visit(world.workspace, "rows", run=world.run.id, row=world.row, again="true")
    assert loaded == [f"{world.run.id} {world.row}"]
    other = visit(world.workspace, "rows", run="llm train")  # of a file: not known how it was asked
    assert "Ask again with another dossier" not in [each.label for each in other.expander]


def test_a_card_is_switched_off_and_its_cost_is_said(
    visit: Visit, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    monkeypatch.setattr(panel, "start", lambda _workspace, plan: started.append(plan))
    app = visit(
        world.workspace,
        "rows",
        run=world.run.id,
        row=world.row,
        again="true",
        again_repeats="4",
        again_judge_only="false",
    )
    pills = app.pills(key="id-again_without")
    assert len(pills.options) == 5  # of two tools a card for either gene
    pills.set_value(["base_rates:all rows in view"]).run()
    app.button(key="estimate-again").click().run()
    assert "about 32 calls" in text_of(app)  # both questions under two seeds, four times, twice
    app.button(key="start-again").click().run()
    [plan] = started
    assert changes_of(plan) == [("base_rates", None)]


def test_an_edited_text_is_asked_with(
    visit: Visit, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    monkeypatch.setattr(panel, "start", lambda _workspace, plan: started.append(plan))
    link = {
        "again": "true",
        "again_card": "base_rates:all rows in view",
        "again_repeats": "2",
        "again_judge_only": "false",
    }
    app = visit(world.workspace, "rows", run=world.run.id, row=world.row, **link)
    [area] = [each for each in app.text_area if each.label == "New text"]
    assert area.value.startswith("base rates, all rows in view: ")
    app.button(key="start-again").click().run()
    assert "leaves what the agents saw as it is, expected another" in text_of(app)
    [area] = [each for each in app.text_area if each.label == "New text"]
    area.set_value("base rates: not known").run()
    app.button(key="start-again").click().run()
    [plan] = started
    assert changes_of(plan) == [("base_rates", "base rates: not known")]
    assert plan.arms[0][1].options["repeats"] == 2


def test_what_was_found_is_said_beside_the_noise(
    visit: Visit, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = without(world.workspace, world.run.id, world.row, MOVES)
    request = AgainRequest(world.run.id, world.row, changes, endpoint=world.url)
    make_all(world.workspace, plan_again(world.workspace, request))
    app = visit(world.workspace, "rows", run=world.run.id, row=world.row, again="true")
    said = text_of(app)
    check_form(AgainRequest, app, "again_")
    assert said.count("outside the range of asking again") == 2
    assert f"without {MOVES}:" in app.selectbox(key="id-again_run").options[-1]
    read = "Read the unchanged repeats"
    assert read in [link.proto.label for link in app.get("page_link")]
    monkeypatch.setattr(panel, "show_again", partial(panel.show_again, hides_label=True))
    hidden = visit(world.workspace, "rows", run=world.run.id, row=world.row, again="true")
    assert said.count("outside the range") == text_of(hidden).count("outside the range")
    assert read not in [link.proto.label for link in hidden.get("page_link")]


def test_an_asking_whose_worker_lives_is_stopped_there(
    visit: Visit, world: World, workspace: Workspace
) -> None:
    own = worlds.copied(world.workspace.settings.workspace, workspace)
    request = AgainRequest(world.run.id, world.row, repeats=3, endpoint=world.url)
    [(_, spec)] = plan_again(own, request).arms
    settings = ExecutionSettings(world.url)
    run = run_control.start(
        own, spec, "asked again", settings, begin=lambda of, key: leave_dead(of.run_folder(key))
    )
    folder = own.run_folder(run.id)
    opened = {"run": world.run.id, "row": world.row, "again": "true", "again_run": run.id}
    write_heartbeat(
        folder, Heartbeat("running", 1, Counts(), time.time())
    )  # this process is its worker for now
    app = visit(own, "rows", **opened)
    assert state_shown(app).startswith("running · 0 of 1 rows")
    app.button(key=f"Stop-{run.id}").click().run()
    assert folder.command() == "cancel"


def changes_of(plan: AgainPlan) -> list[tuple[str, str | None]]:
    """What a plan changes of the dossier, by tool."""
    [_, (_, spec)] = plan.arms
    return [(change.tool, change.text) for change in read_changes(spec.options["changes"])]
