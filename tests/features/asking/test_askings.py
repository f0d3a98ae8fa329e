"""A row of a debate asked again: what moves it is outside of the noise, what does not is inside, and nothing else is changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from core.base.errors import InputError, NotFound, StateError
from core.base.result import to_json
from core.base.types import FLAG_NAMES, Flag
from core.evidence.render import EDITED
from core.features.asking import askings
from core.features.asking.askings import AgainRequest, pair_askings, plan_again
from core.features.asking.changed_cards import CardChange
from core.features.asking.result import RowAskedAgain, row_asked_again
from core.llm.call_settings import CallSettings
from core.runs import launch, run_control
from core.runs.model_servers import ENDPOINT_FILE
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.scoring.row_numbers import FLAG_HELP
from core.store import calls, evidence, predictions, runs, traces
from core.store.runs import Run
from tests import worlds
from tests.asked_again import make_all, without
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Script
from tests.moving_evidence import MOVES, TOOLS, answer_moved_by
from tests.runs.jobs.crashed import as_if_killed

ROWS = 4


@dataclass(frozen=True)
class World:
    """A workspace with a debate, one of its rows, and the server that moves verdicts by one tool's card."""

    workspace: Workspace
    run: Run
    row: str
    url: str

    def without(self, tool: str) -> tuple[CardChange, ...]:
        return without(self.workspace, self.run.id, self.row, tool)

    def ask(self, changes: tuple[CardChange, ...] = (), **wanted: object) -> RowAskedAgain:
        """Asks again and reports."""
        request = AgainRequest(self.run.id, self.row, changes, endpoint=self.url, **wanted)  # type: ignore[arg-type]
        plan = plan_again(self.workspace, request)
        made = make_all(self.workspace, plan)
        with self.workspace.store.read() as db:
            return row_asked_again(db, self.row, *made)

    def requests(self) -> int:
        return int(scripted_server.request_counts(self.url)["/v1/chat/completions"])

    def prompts(self, run: str, stage: str, role: str) -> list[list[dict[str, str]]]:
        """The messages that the server received for a row of a run, of one stage and role."""
        with self.workspace.store.read() as db:
            made = calls.of_row(db, run, self.row)
        return [
            json.loads(call.request)["messages"]
            for call in made
            if (call.stage, call.role) == (stage, role)
        ]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    workspace = worlds.workspace_in(tmp_path_factory.mktemp("again"))
    worlds.furnish(workspace)
    with scripted_server.serving(
        Script(seed=0, answer=answer_moved_by(MOVES, effect=15, noise=3))
    ) as url:
        options = {"tools": ",".join(TOOLS), "shots": 2}
        run = launch.start(
            workspace,
            RunRequest(
                "debate",
                options=options,
                rows=f"split=train;sample={ROWS}",
                name="argued",
                model="scripted",
                endpoint=url,
            ),
        )
        assert run.status == "done"
        with workspace.store.read() as db:
            row = predictions.frame(db, run.id)["pair_id"].iloc[0]
        yield World(workspace, run, row, url)


@pytest.mark.soak
def test_a_card_that_matters_is_outside_of_the_noise(world: World) -> None:
    found = world.ask(world.without(MOVES))
    assert [each.outside for each in found.answers] == [True, True]
    for each in found.answers:
        assert each.delta == pytest.approx(-0.15, abs=0.05)
        assert (len(each.unchanged), len(each.changed)) == (5, 5)
        # both samples lie apart, so p is the smallest of 252 ways, twice; Holm doubles the smaller of two equal ones
        assert each.p == pytest.approx(2 / 252)
        assert each.p_holm == pytest.approx(4 / 252)
        assert each.sd < 0.03
    assert found.scope.startswith(
        f"{world.row} of argued, the judge alone, on the stored briefs, 5 times each"
    )
    assert found.sentence.count("5 against 5 askings") == 2
    assert (
        found.sentence.count(
            "outside the range of asking again (p 0.008, after Holm over both numbers 0.016)"
        )
        == 2
    )


@pytest.mark.soak
def test_a_card_that_does_not_matter_is_inside(world: World) -> None:
    found = world.ask(world.without("base_rates"))
    assert [each.outside for each in found.answers] == [False, False]
    assert all(abs(each.delta) < 0.05 for each in found.answers)
    assert found.sentence.count("inside the range of asking again") == 2


@pytest.mark.soak
def test_the_judge_alone_reads_the_stored_briefs_word_for_word(world: World) -> None:
    found = world.ask()
    assert found.changed_run is None
    assert "when asked again with nothing changed" in found.sentence
    for stage in ("de", "dir"):
        [sent] = world.prompts(world.run.id, stage, "JUDGE")
        assert world.prompts(found.unchanged_run, stage, "JUDGE") == [sent] * 5
    changed = world.ask(world.without(MOVES)).changed_run
    assert changed is not None
    [[system, user]] = world.prompts(world.run.id, "de", "JUDGE")
    kept = [line for line in user["content"].splitlines() if not line.startswith("- gene class,")]
    assert len(kept) == len(user["content"].splitlines()) - 2  # the cards of both genes
    assert (
        world.prompts(changed, "de", "JUDGE")
        == [[system, {**user, "content": "\n".join(kept)}]] * 5
    )
    assert world.prompts(changed, "de", "EFFECT") == []


@pytest.mark.soak
def test_nothing_changed_is_asked_once_for_all_changes(world: World) -> None:
    first = world.ask(world.without(MOVES))
    before = world.requests()
    second = world.ask(world.without("train_lookup"))
    assert second.unchanged_run == first.unchanged_run
    assert (
        world.requests() - before <= 10
    )  # five verdicts of either question, unless another test asked them
    plan = plan_again(world.workspace, AgainRequest("argued", world.row, world.without(MOVES)))
    assert (plan.left, plan.cost.calls) == (0, 0)
    with world.workspace.store.read() as db:
        asked = pair_askings(runs.list_all(db)[::-1], world.run.id, world.row)
    made = [(unchanged.id, changed.id) for unchanged, changed in asked if changed is not None]
    assert (first.unchanged_run, first.changed_run) in made


@pytest.mark.soak
def test_the_whole_debate_is_held_again(world: World) -> None:
    found = world.ask(world.without("base_rates"), judge_only=False, repeats=2)
    assert found.changed_run is not None
    assert not found.judge_only
    assert len(world.prompts(found.changed_run, "de", "EFFECT")) >= 2
    assert not any(
        "base rates," in message["content"]
        for [_, message, *_] in world.prompts(found.changed_run, "de", "EFFECT")
    )
    # two against two: six ways, so p is 1/3 at least, and no change can be shown
    assert [each.can_show for each in found.answers] == [False, False]
    assert found.sentence.count("so few askings can show no change, however large") == 2
    with world.workspace.store.read() as db:
        seeds = {
            event["meta"].get("seed") for event in traces.of_row(db, found.changed_run, world.row)
        }
    assert seeds == {None, 1000, 2000}


@pytest.mark.soak
def test_an_edited_text_reaches_the_prompt_and_is_kept(world: World) -> None:
    [card] = [
        each
        for each in world_cards(world)
        if each["tool"] == MOVES and not each["key"].startswith("*")
    ][:1]
    text = f"gene class, gene {card['key']}: of a family\nthat never changes."
    found = world.ask((CardChange(MOVES, card["key"], text),))
    assert found.changed_run is not None
    said = " ".join(text.split())
    for [_, user] in world.prompts(found.changed_run, "dir", "JUDGE"):
        assert f"- {said}\n" in user["content"]
    with world.workspace.store.read() as db:
        changed = runs.find(db, found.changed_run)
        row = predictions.row(db, changed.id, world.row)
        seen = evidence.of_row(db, changed.id, world.row)
        first, *_ = traces.of_row(db, changed.id, world.row)
        untouched = evidence.of_row(db, world.run.id, world.row)
    assert Flag.DOSSIER_CHANGED in row["flags"]
    assert Flag.DOSSIER_CHANGED in FLAG_NAMES.keys() & FLAG_HELP.keys()
    [edited] = [item for item in seen if EDITED in item["body"]]
    assert edited["body"][EDITED] == said
    assert edited["source"].startswith("edited by hand; before: ")
    assert (
        edited["body"]["instead_of"] in world.prompts(world.run.id, "de", "JUDGE")[0][1]["content"]
    )
    assert not any(EDITED in item["body"] for item in untouched)
    assert said in first["content"]
    assert f"{MOVES}:{card['key']} edited" in changed.name
    assert (changed.method, changed.parents) == ("debate_again", (world.run.id,))
    assert to_json(found)["changes"] == [{"tool": MOVES, "key": card["key"], "text": said}]
    again = world.ask()
    with world.workspace.store.read() as db:
        assert (
            Flag.DOSSIER_CHANGED not in predictions.row(db, again.unchanged_run, world.row)["flags"]
        )


def world_cards(world: World) -> list[dict[str, str]]:
    with world.workspace.store.read() as db:
        return evidence.of_row(db, world.run.id, world.row)


@pytest.mark.soak
def test_one_that_was_interrupted_goes_on(world: World) -> None:
    """Ended after the first run, the second alone is left."""
    request = AgainRequest(
        "argued", world.row, world.without("train_lookup"), repeats=3, endpoint=world.url
    )
    plan = plan_again(world.workspace, request)
    assert (plan.left, plan.cost.calls) == (2, 2 * 3 * 2)
    assert plan.cost.prompt_tokens is not None

    [unchanged, _] = plan.arms
    make_all(world.workspace, replace(plan, arms=(unchanged,)))
    assert plan_again(world.workspace, request).left == 1
    made = make_all(world.workspace, plan)
    assert made == [spec.key for _, spec in plan.arms]
    with world.workspace.change("cancel", "x") as (db, _):
        runs.change_by_worker(db, made[0], status="cancelled")
    with (
        world.workspace.store.read() as db,
        pytest.raises(StateError, match="is cancelled, so there is no answer"),
    ):
        row_asked_again(db, world.row, made[0])


@pytest.mark.soak
def test_a_page_starts_workers_of_their_own(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def start(_workspace, _request, *, spec, detach):
        assert detach
        begun.append(spec.key)
        return replace(world.run, id=spec.key, status="cancelled" if len(begun) == 1 else "running")

    monkeypatch.setattr(launch, "start", start)
    resume = lambda _, run, settings: begun.append(f"resumed {run} on {settings.servers}")  # noqa: E731
    monkeypatch.setattr(run_control, "resume", resume)
    plan = plan_again(
        world.workspace,
        AgainRequest(
            "argued",
            world.row,
            world.without(MOVES),
            judge_only=False,
            repeats=1,
            endpoint=world.url,
        ),
    )
    askings.start(world.workspace, plan)
    first, second = [spec.key for _, spec in plan.arms]
    assert begun == [first, f"resumed {first} on {world.url}", second]


def test_what_cannot_be_asked_again_is_refused(world: World) -> None:
    def plan(run, row=world.row, **wanted):
        plan_again(world.workspace, AgainRequest(run, row, **wanted))  # type: ignore[arg-type]

    with pytest.raises(
        StateError,
        match=r"run llm train .*: cannot be asked again; expected a debate that was made here",
    ):
        plan("llm train")
    with pytest.raises(NotFound, match="row 'nothing'"):
        plan("argued", "nothing")
    with pytest.raises(
        InputError, match=r"card pathways:Pa: not in the dossier .* expected one of gene_class:"
    ):
        plan("argued", changes=(CardChange("pathways", "Pa"),))
    with pytest.raises(InputError, match="repeats: got 11"):
        plan("argued", repeats=11)
    user = world.prompts(world.run.id, "de", "JUDGE")[0][1]["content"]
    line = next(line for line in user.splitlines() if "base rates," in line)
    [card] = world.without("base_rates")
    with pytest.raises(InputError, match=r"base_rates.*leaves what the agents saw as it is"):
        plan("argued", changes=(replace(card, text=line.removeprefix("- ")),))
    with (
        as_if_killed(world.workspace, world.run),
        pytest.raises(StateError, match="run argued: is crashed, expected a finished run"),
    ):
        plan("argued")
    with pytest.raises(InputError, match="run: got none"):
        launch.resolve(world.workspace, RunRequest("debate_again", model="scripted"))
    with pytest.raises(InputError, match="seed: got 3, which has no effect on debate_again"):
        launch.resolve(
            world.workspace,
            RunRequest("debate_again", options={"run": "argued"}, model="scripted", seed=3),
        )


def test_a_debate_whose_labels_or_prompts_have_changed_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, what in (("dataset_sha256", "rows or labels"), ("prompts_sha256", "its prompts")):
        run = replace(world.run, spec={**world.run.spec, name: "0" * 64})
        monkeypatch.setattr(runs, "find_predicting", lambda *_, run=run: run)
        with pytest.raises(StateError, match=what):
            plan_again(world.workspace, AgainRequest("argued", world.row))


@pytest.mark.soak
def test_a_row_is_asked_again_as_its_run_was_unless_other_settings_are_chosen(world: World) -> None:
    file = world.workspace.settings.data / ENDPOINT_FILE
    file.write_text(
        f'[[endpoint]]\naddress = "{world.url}"\ntemperature = 0.3\nlimit_name = "max_tokens"\n'
    )
    try:
        request = AgainRequest(world.run.id, world.row, endpoint=world.url, repeats=1)
        assert plan_again(world.workspace, request).arms[0][1].calls == CallSettings().identity
        cold = replace(request, calls=CallSettings(temperature=0.0))
        plan = plan_again(world.workspace, cold)
        assert plan.arms[0][1].calls == CallSettings(temperature=0.0).identity
        [made] = make_all(world.workspace, plan)
    finally:
        file.unlink()
    with world.workspace.store.read() as db:
        sent = [json.loads(call.request) for call in calls.of_row(db, made, world.row)]
    assert {(body["temperature"], "max_tokens" in body) for body in sent} == {(0.0, True)}
