"""A row of a debate asked again: what moves it is outside of the noise, what does not is inside, and nothing else is changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.actions import ask_again, launch, run_control
from core.actions.ask_again import AgainRequest
from core.actions.model_servers import ENDPOINT_FILE
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.engine.request import RunRequest
from core.engine.spec import RunSpec
from core.errors import InputError, NotFound, StateError
from core.evidence.render import EDITED
from core.experiments.asked_again import AskedAgain, again_json, again_lines, is_asked_again, pair_askings, report_again
from core.llm.call_settings import CallSettings
from core.scoring.row_numbers import FLAG_HELP
from core.store import calls, evidence, predictions, runs, traces
from core.store.runs import Run
from core.types import FLAG_NAMES, Flag
from tests import worlds
from tests.commands import core, core_json
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Script
from tests.jobs.crashed import as_if_killed
from tests.moving_evidence import MOVES, TOOLS, answer_moved_by

ROWS = 4


@dataclass(frozen=True)
class World:
    """A workspace with a debate, one of its rows, and the server that moves verdicts by one tool's card."""

    workspace: Workspace
    run: Run
    row: str
    url: str

    def ask(self, **wanted: object) -> AskedAgain:
        """Asks again and reports."""
        request = AgainRequest(self.run.id, self.row, endpoint=self.url, **wanted)  # type: ignore[arg-type]
        plan = ask_again.plan_again(self.workspace, request)
        made = ask_again.ask_again(self.workspace, plan)
        with self.workspace.store.read() as db:
            return report_again(db, self.row, *made)

    def requests(self) -> int:
        return int(scripted_server.request_counts(self.url)["/v1/chat/completions"])

    def prompts(self, run: str, stage: str, role: str) -> list[list[dict[str, str]]]:
        """The messages that the server received for a row of a run, of one stage and role."""
        with self.workspace.store.read() as db:
            made = calls.of_row(db, run, self.row)
        return [json.loads(call.request)["messages"] for call in made if (call.stage, call.role) == (stage, role)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    workspace = open_workspace(Settings(workspace=tmp_path_factory.mktemp("again"), author="tester"))
    worlds.furnish(workspace)
    with scripted_server.serving(Script(seed=0, answer=answer_moved_by(MOVES, effect=15, noise=3))) as url:
        options = {"tools": ",".join(TOOLS), "shots": 2}
        run = launch.start(
            workspace,
            RunRequest(
                "debate", options=options, rows=f"split=train;sample={ROWS}", name="argued", model="scripted", endpoint=url
            ),
        )
        assert run.status == "done"
        with workspace.store.read() as db:
            row = predictions.frame(db, run.id)["pair_id"].iloc[0]
        yield World(workspace, run, row, url)


@pytest.mark.soak
def test_a_card_that_matters_is_outside_of_the_noise(world: World) -> None:
    found = world.ask(without=(MOVES,), judge_only=True)
    assert [each.is_outside for each in found.answers] == [True, True]
    for each in found.answers:
        assert each.change == pytest.approx(-0.15, abs=0.05)
        assert (len(each.again), len(each.changed)) == (5, 5)
        # both samples lie apart, so p is the smallest of 252 ways, twice; Holm doubles the smaller of two equal ones
        assert each.test.p == pytest.approx(2 / 252)
        assert each.p_holm == pytest.approx(4 / 252)
        assert each.spread < 0.03
    lines = again_lines(found)
    assert lines[0] == f"Only the judge, on the stored briefs, was asked again 5 times about {world.row} in argued."
    assert "outside the range of asking again (p 0.008, after Holm over both numbers 0.016; 5 against 5 askings)" in lines[4]


@pytest.mark.soak
def test_a_card_that_does_not_matter_is_inside(world: World) -> None:
    found = world.ask(without=("base_rates",), judge_only=True)
    assert [each.is_outside for each in found.answers] == [False, False]
    assert all(abs(each.change) < 0.05 for each in found.answers)
    assert "inside the range of asking again" in again_lines(found)[4]


def test_the_judge_alone_reads_the_stored_briefs_word_for_word(world: World) -> None:
    found = world.ask(judge_only=True)
    assert found.changed is None
    assert not any(line.startswith("Dossier") for line in again_lines(found))
    for stage in ("de", "dir"):
        [sent] = world.prompts(world.run.id, stage, "JUDGE")
        assert world.prompts(found.unchanged.id, stage, "JUDGE") == [sent] * 5
    without = world.ask(without=(MOVES,), judge_only=True).changed
    assert without is not None
    [[system, user]] = world.prompts(world.run.id, "de", "JUDGE")
    kept = [line for line in user["content"].splitlines() if not line.startswith("- gene class,")]
    assert len(kept) == len(user["content"].splitlines()) - 2  # the cards of both genes
    assert world.prompts(without.id, "de", "JUDGE") == [[system, {**user, "content": "\n".join(kept)}]] * 5
    assert world.prompts(without.id, "de", "EFFECT") == []


@pytest.mark.soak
def test_nothing_changed_is_asked_once_for_all_changes(world: World) -> None:
    first = world.ask(without=(MOVES,), judge_only=True)
    before = world.requests()
    second = world.ask(without=("train_lookup",), judge_only=True)
    assert second.unchanged.id == first.unchanged.id
    assert world.requests() - before <= 10  # five verdicts of either question, unless another test asked them
    plan = ask_again.plan_again(world.workspace, AgainRequest("argued", world.row, (MOVES,), {}, judge_only=True))
    assert (plan.left, plan.cost.calls) == (0, 0)
    with world.workspace.store.read() as db:
        asked = [run for run in runs.list_all(db) if is_asked_again(run, world.run.id, world.row)]
    assert (first.unchanged.id, first.changed.id if first.changed else "") in [
        (unchanged.id, changed.id) for unchanged, changed in pair_askings(asked) if changed is not None
    ]


@pytest.mark.soak
def test_the_whole_debate_is_held_again(world: World) -> None:
    found = world.ask(without=("base_rates",), repeats=2)
    assert found.changed is not None
    assert not found.judge_alone
    assert len(world.prompts(found.changed.id, "de", "EFFECT")) >= 2
    assert not any("base rates," in message["content"] for [_, message, *_] in world.prompts(found.changed.id, "de", "EFFECT"))
    # two against two: six ways, so p is 1/3 at least, and no change can be shown
    assert [each.can_show for each in found.answers] == [False, False]
    assert "can show no change at 5%, however large: p is at least 0.67. Ask more often." in again_lines(found)[4]
    with world.workspace.store.read() as db:
        seeds = {event["meta"].get("seed") for event in traces.of_row(db, found.changed.id, world.row)}
    assert seeds == {None, 1000, 2000}


@pytest.mark.soak
def test_an_edited_text_reaches_the_prompt_and_is_kept(world: World) -> None:
    [card] = [each for each in world_cards(world) if each["tool"] == MOVES and not each["key"].startswith("*")][:1]
    text = f"gene class, gene {card['key']}: of a family\nthat never changes."
    found = world.ask(texts={f"{MOVES}:{card['key']}": text}, judge_only=True)
    assert found.changed is not None
    said = " ".join(text.split())
    for [_, user] in world.prompts(found.changed.id, "dir", "JUDGE"):
        assert f"- {said}\n" in user["content"]
    with world.workspace.store.read() as db:
        row = predictions.row(db, found.changed.id, world.row)
        seen = evidence.of_row(db, found.changed.id, world.row)
        first, *_ = traces.of_row(db, found.changed.id, world.row)
        untouched = evidence.of_row(db, world.run.id, world.row)
    assert Flag.DOSSIER_CHANGED in row["flags"]
    assert Flag.DOSSIER_CHANGED in FLAG_NAMES.keys() & FLAG_HELP.keys()
    [edited] = [item for item in seen if EDITED in item["body"]]
    assert edited["body"][EDITED] == said
    assert edited["source"].startswith("edited by hand; before: ")
    assert edited["body"]["instead_of"] in world.prompts(world.run.id, "de", "JUDGE")[0][1]["content"]
    assert not any(EDITED in item["body"] for item in untouched)
    assert said in first["content"]
    assert f"{MOVES}:{card['key']} edited" in found.changed.name
    assert (found.changed.method, found.changed.parents) == ("debate_again", (world.run.id,))
    assert again_json(found)["changes"] == [{"tool": MOVES, "key": card["key"], "text": said}]
    again = world.ask(judge_only=True)
    with world.workspace.store.read() as db:
        assert Flag.DOSSIER_CHANGED not in predictions.row(db, again.unchanged.id, world.row)["flags"]


def world_cards(world: World) -> list[dict[str, str]]:
    with world.workspace.store.read() as db:
        return evidence.of_row(db, world.run.id, world.row)


@pytest.mark.soak
def test_one_that_was_interrupted_goes_on(world: World) -> None:
    """Ended after the first run, the second alone is left."""
    request = AgainRequest("argued", world.row, ("train_lookup",), {}, judge_only=True, repeats=3, endpoint=world.url)
    plan = ask_again.plan_again(world.workspace, request)
    assert (plan.left, plan.cost.calls) == (2, 2 * 3 * 2)
    assert plan.cost.prompt_tokens is not None

    def leave(_: str, done: int, _total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_again.ask_again(world.workspace, plan, progress=leave)
    assert ask_again.plan_again(world.workspace, request).left == 1
    made = ask_again.ask_again(world.workspace, plan)
    assert made == [each.spec.key for each in plan.arms]
    with world.workspace.change("cancel", "x") as (db, _):
        runs.change_by_worker(db, made[0], status="cancelled")
    with world.workspace.store.read() as db, pytest.raises(StateError, match="is cancelled, so there is no answer"):
        report_again(db, world.row, made[0])


@pytest.mark.soak
def test_a_page_starts_workers_of_their_own(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    def start(_workspace: Workspace, _request: RunRequest, *, spec: RunSpec, detach: bool) -> Run:
        assert detach
        begun.append(spec.key)
        return replace(world.run, id=spec.key, status="cancelled" if len(begun) == 1 else "running")

    monkeypatch.setattr(launch, "start", start)
    resume = lambda _, run, settings: begun.append(f"resumed {run} on {settings.servers}")  # noqa: E731
    monkeypatch.setattr(run_control, "resume", resume)
    plan = ask_again.plan_again(world.workspace, AgainRequest("argued", world.row, (MOVES,), {}, repeats=1, endpoint=world.url))
    ask_again.start_apart(world.workspace, plan)
    first, second = [each.spec.key for each in plan.arms]
    assert begun == [first, f"resumed {first} on {world.url}", second]


@pytest.mark.soak
def test_the_command_says_what_it_found(world: World, tmp_path: Path) -> None:
    place, asked = world.workspace.settings.workspace, ("again", "argued", world.row, "--judge-only", "--endpoint", world.url)
    printed = core_json(place, *asked, "--without", MOVES)
    assert [each["outside"] for each in printed["answers"]] == [True, True]
    assert (printed["row"], printed["repeats"], printed["judge_only"]) == (world.row, 5, True)
    estimate = core_json(place, *asked, "--without", "train_lookup", "--repeats", "4", "--estimate")
    assert (estimate["runs"], estimate["calls"]) == (2, 16)
    (tmp_path / "text").write_text("gene class: said otherwise")
    wrong = core(place, *asked, "--text", f"{MOVES}={tmp_path / 'text'}", "--without", MOVES)
    assert wrong.status == 1
    assert "left out and edited" in wrong.err or "cards of that tool" in wrong.err
    assert "expected TOOL=FILE" in core(place, *asked, "--text", "x").err


def test_what_cannot_be_asked_again_is_refused(world: World) -> None:
    def plan(run: str, row: str = world.row, **wanted: object) -> None:
        ask_again.plan_again(world.workspace, AgainRequest(run, row, **wanted))  # type: ignore[arg-type]

    with pytest.raises(StateError, match=r"run llm train .*: cannot be asked again; expected a debate that was made here"):
        plan("llm train")
    with pytest.raises(NotFound, match="row 'nothing'"):
        plan("argued", "nothing")
    with pytest.raises(InputError, match="card 'pathways': not among those of the dossier, expected gene_class:"):
        plan("argued", without=("pathways",))
    with pytest.raises(InputError, match="repeats: got 11"):
        plan("argued", repeats=11)
    user = world.prompts(world.run.id, "de", "JUDGE")[0][1]["content"]
    line = next(line for line in user.splitlines() if "base rates," in line)
    with pytest.raises(InputError, match=r"base_rates.*is what the card says already"):
        plan("argued", texts={"base_rates": line.removeprefix("- ")})
    with (
        as_if_killed(world.workspace, world.run),
        pytest.raises(StateError, match="run argued: is crashed, expected a finished run"),
    ):
        plan("argued")
    with pytest.raises(InputError, match="run: got none"):
        launch.resolve(world.workspace, RunRequest("debate_again", model="scripted"))
    with pytest.raises(InputError, match="seed: got 3, which has no effect on debate_again"):
        launch.resolve(world.workspace, RunRequest("debate_again", options={"run": "argued"}, model="scripted", seed=3))


@pytest.mark.soak
def test_a_row_is_asked_again_as_its_run_was_unless_other_settings_are_chosen(world: World) -> None:
    file = world.workspace.settings.data / ENDPOINT_FILE
    file.write_text(f'[[endpoint]]\naddress = "{world.url}"\ntemperature = 0.3\nlimit_name = "max_tokens"\n')
    try:
        request = AgainRequest(world.run.id, world.row, endpoint=world.url, judge_only=True, repeats=1)
        assert ask_again.plan_again(world.workspace, request).arms[0].spec.calls == CallSettings().identity
        cold = replace(request, calls=CallSettings(temperature=0.0))
        plan = ask_again.plan_again(world.workspace, cold)
        assert plan.arms[0].spec.calls == CallSettings(temperature=0.0).identity
        [made] = ask_again.ask_again(world.workspace, plan)
    finally:
        file.unlink()
    with world.workspace.store.read() as db:
        sent = [json.loads(call.request) for call in calls.of_row(db, made, world.row)]
    assert {(body["temperature"], "max_tokens" in body) for body in sent} == {(0.0, True)}
