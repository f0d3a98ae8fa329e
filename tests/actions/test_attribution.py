"""Which evidence moved a run: one tool that does is found, arms are ordinary runs, and what cannot be asked again is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from core.actions import ask, attribution, launch, run_control, studies
from core.actions.ask import Question
from core.actions.attribution import AttributionPlan, AttributionRequest
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.engine.request import RunRequest
from core.errors import InputError, StateError
from core.experiments.attribution import report_attribution
from core.experiments.attribution_arms import EVERY_TOOL, FIRST, ArmKey, refuse_meeting_seeds
from core.experiments.attribution_words import attribution_json, attribution_lines
from core.scoring.arm_loader import ArmLoader
from core.scoring.run_scores import RunRows
from core.store import runs
from core.types import Flag
from tests import worlds
from tests.commands import core, core_json
from tests.fakes import scripted as scripted_server
from tests.moving_evidence import MOVES, TOOLS, Asked, debate_and_attribute

ROWS = 24


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Asked]:
    workspace = open_workspace(Settings(workspace=tmp_path_factory.mktemp("asked"), author="tester"))
    worlds.furnish(workspace)
    return workspace, debate_and_attribute(workspace, f"split=train;sample={ROWS}", seed=0, repeats=2)


@pytest.mark.soak
def test_the_tool_that_moves_the_answers_is_found_alone(asked: tuple[Workspace, Asked]) -> None:
    found = asked[1].found
    assert [each.name for each in found.tools] == list(TOOLS)
    assert [each.name for each in found.tools if each.is_confirmed] == [MOVES]
    assert [each.name for each in found.tools if not found.is_covered(each)] == [MOVES]
    [moving] = [each for each in found.tools if each.name == MOVES]
    # both probabilities fall by 15 percent points, with noise of up to 8 either way
    assert moving.movement.de.value == pytest.approx(0.15, abs=0.03)
    assert moving.movement.up.value == pytest.approx(0.15, abs=0.03)
    # two draws from ±8 lie 2/3 · 8 apart on average
    assert found.floor.both.value == pytest.approx(0.0533, abs=0.02)
    assert found.left_out == 0
    assert attribution_lines(found)[0].startswith(f"{MOVES} moves the answers more than asking again does")


@pytest.mark.soak
def test_arms_are_ordinary_runs_that_name_their_parent(asked: tuple[Workspace, Asked]) -> None:
    workspace, done = asked
    spec, made = done.found.spec, done.found.runs
    assert len(made) == 1 + 2 * (1 + len(TOOLS))
    with workspace.store.read() as db:
        arms = {arm: runs.find(db, run) for arm, run in made.items()}
        parent = runs.find(db, spec.run)
    assert {run.parents for run in arms.values()} == {(parent.id,)}
    assert {run.total for run in arms.values()} == {ROWS}
    first = arms[ArmKey(EVERY_TOOL, FIRST)]
    assert first.spec["options"] == parent.spec["options"]
    assert first.spec["rows_sha256"] == parent.spec["rows_sha256"]
    without = arms[ArmKey(MOVES, 2)].spec["options"]
    assert without["tools"] == ",".join(name for name in TOOLS if name != MOVES)
    assert without["seeds"] == arms[ArmKey(EVERY_TOOL, 2)].spec["options"]["seeds"] == "2000"
    # the first answers are those of the run, out of the cache; every other arm asks two judges a row
    assert done.requests == 2 * ROWS * (len(made) - 1)


@pytest.mark.soak
def test_what_is_done_is_not_asked_again(asked: tuple[Workspace, Asked]) -> None:
    """No server listens any more: the second time every arm is found, and the command prints the same numbers."""
    workspace, done = asked
    plan = attribution.plan_attribution(workspace, AttributionRequest(done.found.spec.name, "", (), 2))
    assert (plan.left, plan.cost.calls) == (0, 0)
    assert attribution.run_attribution(workspace, plan).runs == done.found.runs
    printed = core_json(workspace.settings.workspace, "attribute", "judged 0", "--rows", f"sample={ROWS}", "--repeats", "2")
    assert printed["tools"] == json.loads(json.dumps(attribution_json(done.found)["tools"]).replace("NaN", "null"))
    assert {"name", "delta_de", "delta_dir", "mean_abs_delta", "p", "p_holm"} <= set(printed["tools"][0])
    assert set(printed["noise_floor"]["mean_abs_delta"]) >= {"estimate", "low", "high"}
    more = core_json(workspace.settings.workspace, "attribute", "judged 0", "--rows", f"sample={ROWS}", "--estimate")
    assert (more["runs"], more["calls"]) == (1 + len(TOOLS), 2 * ROWS * (1 + len(TOOLS)))  # a third repeat
    assert more["prompt_tokens"] > 0


@pytest.mark.soak
def test_one_interrupted_goes_on(workspace: Workspace) -> None:
    """The server leaves after two arms: the others are made when the same is asked again."""
    worlds.furnish(workspace)
    with scripted_server.serving() as address:
        options = {"rounds": 0, "tools": "gene_class,base_rates"}
        launch.start(
            workspace,
            RunRequest("debate", options=options, rows="split=train;sample=4", name="r", model="scripted", endpoint=address),
        )
        plan = attribution.plan_attribution(workspace, AttributionRequest("r", "", (), 1, address))
        told: list[str] = []

        def leave(run: str, done: int, _total: int) -> None:
            told.append(run)
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            attribution.run_attribution(workspace, plan, progress=leave)
        assert told[0] == f"r: as it was (4 rows, {plan.spec.key})"
        again = attribution.plan_attribution(workspace, AttributionRequest("r", "", (), 1, address))
        assert (len(again.arms), again.left) == (4, 2)
        saved = attribution.run_attribution(workspace, again)
    assert attribution.STUDY.find_saved(workspace, plan.spec.key) == saved
    with workspace.store.read() as db:
        found = report_attribution(db, saved.spec, saved.runs)
        with pytest.raises(StateError, match="1 of 4 arms are missing"):
            report_attribution(db, saved.spec, {arm: run for arm, run in saved.runs.items() if arm.repeat != FIRST})
    assert len(found.tools) == 2


@pytest.mark.soak
def test_a_tool_is_compared_on_the_rows_of_its_test(asked: tuple[Workspace, Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that could not be read takes its row out of the tool's movement and of the floor beside it, wherever it was asked
    for; the floor of all tools has the rows that were read with every tool."""
    workspace, done = asked
    spec, made = done.found.spec, done.found.runs
    again, without = made[ArmKey(EVERY_TOOL, 1)], made[ArmKey(MOVES, 2)]
    rows_of = ArmLoader.rows_of

    def rows_unread(loader: ArmLoader, run: str) -> RunRows:
        rows = rows_of(loader, run)
        at = {again: 0, without: 1}.get(run)
        flags = [[Flag.DE_FALLBACK] if i == at else [] for i in range(len(rows))]
        return rows if at is None else replace(rows, frame=rows.frame.assign(flags=flags))

    monkeypatch.setattr(ArmLoader, "rows_of", rows_unread)
    with workspace.store.read() as db:
        found = report_attribution(db, spec, made)
        loader = ArmLoader(db, spec.dataset)
        de = {arm: rows_of(loader, run).frame["p_de"].to_numpy() for arm, run in made.items()}
    stands = de[ArmKey(EVERY_TOOL, FIRST)]
    moved = {name: abs(np.array([de[ArmKey(name, r)] for r in (1, 2)]) - stands).mean(axis=0) for name in (MOVES, EVERY_TOOL)}
    [moving] = [each for each in found.tools if each.name == MOVES]
    assert (moving.rows, found.left_out) == (ROWS - 2, 1)
    assert moving.movement.de.value == pytest.approx(moved[MOVES][2:].mean())
    assert moving.floor.de.value == pytest.approx(moved[EVERY_TOOL][2:].mean())
    assert found.floor.de.value == pytest.approx(moved[EVERY_TOOL][1:].mean())
    assert [each.rows for each in found.tools if each is not moving] == [ROWS - 1] * (len(TOOLS) - 1)


@pytest.mark.soak
def test_an_attribution_goes_on_with_the_server_that_it_was_started_with(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds.furnish(workspace)
    with scripted_server.serving() as address:
        options = {"rounds": 0, "tools": "gene_class", "seeds": "42,1042"}
        for name in ("meeting", "apart"):
            chosen = {**options, "seeds": "42,43"} if name == "apart" else options
            launch.start(
                workspace, RunRequest("debate", None, chosen, "split=train;sample=2", name, "scripted", endpoint=address)
            )
        plan = attribution.plan_attribution(workspace, AttributionRequest("apart", "", (), 1, address, 3))
        saved = attribution.save_attribution(workspace, plan)
        assert studies.server_of(workspace, saved.runs.values()) == {}  # nothing was begun

        def leave(_run: str, done: int, _total: int) -> None:
            if done == 1:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            attribution.run_attribution(workspace, plan, progress=leave)
        resumed: list[AttributionPlan] = []
        monkeypatch.setattr(attribution, "start_apart", lambda _, plan: resumed.append(plan))
        attribution.resume(workspace, saved)
        assert [(plan.request.endpoint, plan.request.concurrency) for plan in resumed] == [(address, 3)]
    with pytest.raises(InputError, match="its seeds 42 and 1042 differ by a multiple of 1,000, as repeats do"):
        attribution.plan_attribution(workspace, AttributionRequest("meeting", "", (), 1))
    with workspace.store.read() as db:
        run = runs.find(db, "meeting")
    far = replace(run, spec={**run.spec, "options": {**run.spec["options"], "seeds": "42,3042"}})
    refuse_meeting_seeds(far, 2)  # no repeat comes that far
    with pytest.raises(InputError, match="seeds 42 and 3042"):
        refuse_meeting_seeds(far, 3)


@pytest.mark.soak
def test_rows_of_an_ad_hoc_run_are_refused(small_workspace: Workspace) -> None:
    with scripted_server.serving() as address:
        question = Question("Nobody1", "Ga", endpoint=address, model="scripted", options={"tools": "gene_class", "rounds": 0})
        run = ask.ask(small_workspace, question, begin=run_control.work_on).run
    with pytest.raises(StateError, match="rows of ad-hoc runs cannot be attributed"):
        attribution.plan_attribution(small_workspace, AttributionRequest(run.name, "", (), 1))


@pytest.mark.soak
def test_what_cannot_be_asked_again_is_refused(asked: tuple[Workspace, Asked]) -> None:
    workspace, _ = asked

    def plan(run: str, **wanted: object) -> None:
        attribution.plan_attribution(workspace, AttributionRequest(run, **wanted))  # type: ignore[arg-type]

    with pytest.raises(StateError, match=r"run llm train .* its tools are unknown"):
        plan("llm train")
    with pytest.raises(InputError, match="tools: 'pathways' is not a tool of run judged 0, expected gene_class,"):
        plan("judged 0", tools=("pathways",))
    with pytest.raises(InputError, match="repeats: got 0"):
        plan("judged 0", repeats=0)
    wrong = core(workspace.settings.workspace, "attribute", "judged 0", "--rows", "sample=1000")
    assert wrong.status == 1
    assert wrong.err.strip().endswith(f"expected at most the {ROWS} rows there are")
