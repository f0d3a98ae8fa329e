"""Which evidence moved a run: one tool that does is shown, arms are ordinary runs, and nothing is asked twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError, StateError
from core.base.types import Flag
from core.features.experiments import engine
from core.features.experiments.arm_rows import ArmLoader
from core.features.experiments.kinds.shown import ToolsSettings
from core.runs.workspace import Workspace
from core.stats.permutations import sign_flip_test
from core.store import runs
from tests import worlds
from tests.moving_evidence import MOVES, TOOLS, Asked, leave_tools_out

pytestmark = pytest.mark.soak

ROWS = 24


World = tuple[Workspace, Asked]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> World:
    workspace = worlds.workspace_in(tmp_path_factory.mktemp("asked"))
    worlds.furnish(workspace)
    return workspace, leave_tools_out(workspace, f"split=train;sample={ROWS}", seed=0, repeats=2)


def test_the_tool_that_moves_the_answers_is_shown_alone(asked: World) -> None:
    result = asked[1].result
    base, *tested = result.arms
    assert base.is_base
    assert [arm.name for arm in tested] == [f"without {tool}" for tool in TOOLS]
    assert [arm.name for arm in tested if arm.is_shown] == [f"without {MOVES}"]
    [moving] = [arm for arm in tested if arm.is_shown]
    # both probabilities fall by 15 percent points, with noise of up to 8 either way
    assert moving.moved.value == pytest.approx(0.15, abs=0.03)
    # two draws from ±8 lie 2/3 · 8 apart on average
    assert result.noise_floor.moved.value == pytest.approx(0.0533, abs=0.02)
    assert (result.n, result.left_out) == (ROWS, 0)
    assert f"without {MOVES} moves the answers more than asking again" in result.sentence


def test_the_test_of_an_arm_is_that_of_its_answers(asked: World) -> None:
    """p and |Δ| from the stored answers, by their definition."""
    workspace, done = asked
    with workspace.store.read() as db:
        loader = ArmLoader(db, done.saved.dataset)
        answers = {
            (arm, seed): loader.rows_of(run).frame[["p_de", "p_up_given_de"]].to_numpy(dtype=float)
            for arm, of_arm in done.saved.made.items()
            for (_, seed), run in of_arm.items()
        }
        perts = loader.rows_of(done.saved.ids[0]).pert
    first = answers["every tool", 0]
    moved = {
        arm: np.mean([np.abs(answers[arm, seed] - first) for seed in (1, 2)], axis=0).mean(axis=1)
        for arm in done.saved.runs
    }
    for arm in done.result.arms[1:]:
        assert arm.moved.value == pytest.approx(moved[arm.name].mean(), abs=1e-12)
        assert arm.floor.value == pytest.approx(moved["every tool"].mean(), abs=1e-12)
        p = sign_flip_test(moved[arm.name] - moved["every tool"], perts, np.random.default_rng(0))
        assert arm.p == pytest.approx(p, abs=1e-12)


def test_arms_are_ordinary_runs_that_name_their_parent(asked: World) -> None:
    workspace, done = asked
    made = done.saved.made
    assert len(done.saved.ids) == 1 + 2 * (1 + len(TOOLS))
    with workspace.store.read() as db:
        arms = {
            (arm, seed): runs.find(db, run)
            for arm, of_arm in made.items()
            for (_, seed), run in of_arm.items()
        }
    first = arms.pop(("every tool", 0))
    assert first.name == "judged 0"  # its own answers are the first ones
    assert {run.parents for run in arms.values()} == {(first.id,)}
    assert {run.total for run in arms.values()} == {ROWS}
    without = arms[f"without {MOVES}", 2].spec["options"]
    assert without["tools"] == ",".join(name for name in TOOLS if name != MOVES)
    assert without["seeds"] == arms["every tool", 2].spec["options"]["seeds"] == "2000"
    assert done.requests == 2 * ROWS * len(arms)  # each asks two judges a row


def test_an_arm_is_compared_on_the_rows_of_its_test(
    asked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that could not be read takes its row out of an arm's movement and of the floor beside it."""
    workspace, done = asked
    again, without = done.saved.made["every tool"][0, 1], done.saved.made[f"without {MOVES}"][0, 2]
    rows_of = ArmLoader.rows_of

    def rows_unread(loader, run):
        rows = rows_of(loader, run)
        at = {again: 0, without: 1}.get(run)
        flags = [[Flag.DE_FALLBACK] if i == at else [] for i in range(len(rows))]
        return rows if at is None else replace(rows, frame=rows.frame.assign(flags=flags))

    monkeypatch.setattr(ArmLoader, "rows_of", rows_unread)
    result = engine.result_of(workspace, done.saved)
    assert {arm.name: arm.n for arm in result.arms[1:]} == {
        f"without {tool}": ROWS - (2 if tool == MOVES else 1) for tool in TOOLS
    }
    assert (result.n, result.left_out) == (ROWS - 1, 1)


def test_what_cannot_be_asked_again_is_refused(asked: World) -> None:
    workspace, _ = asked
    with pytest.raises(StateError, match="cannot be asked again"):
        engine.plan(workspace, "tools", ToolsSettings(run="llm train"))
    with pytest.raises(InputError, match="'literature' is not a tool of run judged 0"):
        engine.plan(workspace, "tools", ToolsSettings(run="judged 0", tools=("literature",)))
