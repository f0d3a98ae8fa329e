"""Experiments from a plan to a process apart: identity, seeds, servers, what is refused, and the base asked again."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError, NotFound, StateError
from core.base.experiment import Arm
from core.features.asking import actions as ask
from core.features.asking.question import Question
from core.features.experiments import engine, ledger_table
from core.features.experiments.arm_rows import ANSWERS, ArmLoader
from core.features.experiments.arms import refuse_meeting_seeds, under_seed
from core.features.experiments.engine import SavedExperiment, kind_named, kinds
from core.features.experiments.kinds.asking import AskingSettings, spread_of
from core.features.experiments.kinds.shown import ToolsSettings
from core.llm.call_settings import CallSettings
from core.runs import launch, run_control
from core.runs.jobs import control, overview
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from tests import worlds
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Script
from tests.moving_evidence import MOVES, TOOLS, answer_moved_by

WAIT_S = 120


World = tuple[Workspace, str]  # with the address of the server


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A workspace with a debate over four rows, and the address of its server; tests add to it."""
    workspace = worlds.workspace_in(tmp_path_factory.mktemp("engine"))
    worlds.furnish(workspace)
    with scripted_server.serving(
        Script(answer=answer_moved_by(MOVES, effect=15, noise=8))
    ) as address:
        options = {"rounds": 0, "tools": ",".join(TOOLS)}
        launch.start(
            workspace,
            RunRequest(
                "debate", None, options, "split=train;sample=4", "r", "scripted", endpoint=address
            ),
        )
        yield workspace, address


def start_apart_in_vain(
    workspace: Workspace, settings: ToolsSettings, monkeypatch: pytest.MonkeyPatch
) -> SavedExperiment:
    """Start an experiment whose process dies before its first run; return what was saved of it."""
    plan = engine.plan(workspace, "tools", settings)
    with monkeypatch.context() as patch:
        patch.setattr(
            overview, "command_line", lambda *_: (sys.executable, "-c", "raise SystemExit(3)")
        )
        with pytest.raises(StateError, match="status 3 before its first heartbeat"):
            engine.start_apart(workspace, plan)
    return engine.find_saved(workspace, plan.saved.key)


@pytest.mark.soak
def test_only_what_changes_an_answer_is_another_experiment(world: World) -> None:
    workspace, address = world
    settings = ToolsSettings(run="r", rows="sample=3", repeats=1, endpoint=address)
    key = engine.plan(workspace, "tools", settings).saved.key
    for same in (
        replace(settings, endpoint=None),
        replace(settings, concurrency=3),
        replace(settings, rows=engine.plan(workspace, "tools", settings).saved.rows),
    ):
        assert engine.plan(workspace, "tools", same).saved.key == key
    for other in (
        replace(settings, rows="sample=4"),
        replace(settings, repeats=2),
        replace(settings, tools=(MOVES,)),
        replace(settings, calls=CallSettings(temperature=0.5)),
    ):
        assert engine.plan(workspace, "tools", other).saved.key != key


def test_one_that_dies_before_its_first_run_goes_on_with_all_that_was_chosen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, address = world
    calls = CallSettings(temperature=0.5, leave_out=("top_p",))
    settings = ToolsSettings(
        run="r", tools=(MOVES,), repeats=1, endpoint=address, concurrency=3, calls=calls
    )
    saved = start_apart_in_vain(workspace, settings, monkeypatch)
    assert saved.key in [job.key for job in control.list_jobs(workspace, ["experiment"])]
    again = engine.plan_again(workspace, saved)
    assert again.saved == saved
    requests = [one.request for one in again.runs]
    assert {(one.endpoint, one.concurrency, one.calls) for one in requests if one is not None} == {
        (address, 3, calls)
    }


@pytest.mark.soak
def test_it_goes_on_with_the_server_that_a_run_of_it_got_since(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, address = world
    dead = ToolsSettings(
        run="r",
        rows="sample=2",
        repeats=1,
        tools=(MOVES,),
        endpoint="http://127.0.0.1:9/v1",
        concurrency=3,
    )
    saved = start_apart_in_vain(workspace, dead, monkeypatch)
    with pytest.raises(StateError, match="nobody answered"):
        engine.run(workspace, engine.plan(workspace, "tools", dead))
    assert engine.plan_again(workspace, saved).saved.values["endpoint"] == dead.endpoint

    engine.run(workspace, engine.plan(workspace, "tools", replace(dead, endpoint=address)))
    assert engine.plan_again(workspace, saved).saved.values["endpoint"] == address


@pytest.mark.soak
def test_a_process_apart_makes_the_runs_and_enters_the_result_in_the_ledger(
    world: World,
) -> None:
    workspace, address = world
    settings = ToolsSettings(run="r", tools=(TOOLS[1],), repeats=2, endpoint=address)
    plan = engine.plan(workspace, "tools", settings)
    engine.start_apart(workspace, plan)
    with workspace.store.read() as db:  # before the first run
        assert any(entry.name_b == f"without {TOOLS[1]}" for entry in ledger_table.list_all(db))
    since = time.monotonic()
    while (
        job := control.find(workspace, "experiment", plan.saved.key)
    ) is not None and job.is_live:
        assert time.monotonic() - since < WAIT_S
        time.sleep(0.2)
    assert job.state == "done", job.cause
    result = engine.result_of(workspace, engine.find_saved(workspace, plan.saved.key))
    assert [arm.name for arm in result.arms] == ["every tool", f"without {TOOLS[1]}"]
    with workspace.store.read() as db:
        assert any(
            entry.kind == "result" and entry.name_b == f"without {TOOLS[1]}"
            for entry in ledger_table.list_all(db)
        )


def test_the_base_alone_is_asked_again_and_its_spread_told(world: World) -> None:
    workspace, address = world
    plan = engine.plan(workspace, "seeds", AskingSettings(run="r", repeats=2, endpoint=address))
    assert [(one.arm, one.seed) for one in plan.runs] == [
        ("as it is", 0),
        ("as it is", 1),
        ("as it is", 2),
    ]
    result = engine.result_of(workspace, engine.run(workspace, plan))
    assert [arm.name for arm in result.arms] == ["as it is"]
    assert result.noise_floor.seeds == 3
    assert result.sentence.startswith("Standard deviation of P(DE): asking again 0.")
    assert [row["answer"] for row in result.details[0].rows] == [*ANSWERS]


def test_the_parts_of_the_variance_by_hand(world: World) -> None:
    """Two askings of two rows: .2 and .4, .6 and .8. Within: (.02 + .02) / 2 = .02. Means .3 and .7 vary by .08, of which
    .02 / 2 is left by asking: .07."""
    workspace, _ = world
    with workspace.store.read() as db:
        rows = ArmLoader(db, "bmdm").rows_of("r")
    two = rows.take(np.array([0, 1]))
    askings = [
        replace(two, frame=two.frame.assign(p_de=answers, flags=[[], []]))
        for answers in ([0.2, 0.6], [0.4, 0.8])
    ]
    spread = spread_of(askings, "p_de")
    assert [each.estimate**2 for each in spread.values()] == pytest.approx([0.02, 0.07])
    assert spread_of(askings[:1], "p_de") == {}


def test_other_seeds_do_not_meet() -> None:
    request = RunRequest("debate", options={"seeds": "42,1042"}, seed=7)
    assert under_seed(request, 0) == request
    again = under_seed(request, 2)
    assert (again.options["seeds"], again.seed) == (
        "2042,3042",
        7,
    )  # its own seed draws the examples
    with pytest.raises(InputError, match="seeds 42, 1042 differ by a multiple of 1,000"):
        refuse_meeting_seeds(Arm("a", request=request), (0, 1))
    far = Arm("a", request=RunRequest("debate", options={"seeds": "42,3042"}))
    refuse_meeting_seeds(far, (0, 1, 2))  # no repeat comes that far
    with pytest.raises(InputError, match="seeds 42, 3042"):
        refuse_meeting_seeds(far, (0, 1, 2, 3))


def test_what_cannot_be_an_experiment_is_refused(small_workspace: Workspace) -> None:
    with pytest.raises(NotFound, match="experiment 'none': not in this workspace"):
        engine.find_saved(small_workspace, "none")
    with pytest.raises(NotFound, match="not known"):
        engine.plan(small_workspace, "none", None)
    with scripted_server.serving() as address:
        question = Question(
            "Nobody1",
            "Ga",
            endpoint=address,
            model="scripted",
            options={"tools": "gene_class", "rounds": 0},
        )
        run = ask.ask(small_workspace, question, begin=run_control.work_on).run
    with pytest.raises(StateError, match="an ad-hoc run of one row"):
        engine.plan(small_workspace, "tools", ToolsSettings(run=run.name))


def test_every_kind_has_its_name_and_is_either_built_or_computed() -> None:
    for name, kind in kinds().items():
        assert kind.name == name
        assert kind.title
        assert kind.question
        assert (kind.build is None) != (kind.compute is None), name


def test_an_unknown_kind_is_refused_with_the_known_names() -> None:
    with pytest.raises(NotFound, match="experiment 'nmes': not known"):
        kind_named("nmes")
