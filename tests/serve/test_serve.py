"""A real vLLM behind our client, methods and engine: `make test-serve` installs it and makes the model that it serves."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.base.types import LIVE_STATES, Flag, Pair, RowResult, Track
from core.features.importing.actions import import_upload
from core.features.perturbqa.summaries import SCORES
from core.features.predicting.serve import OWN_PYTHON, default_python
from core.features.submissions import actions as submissions
from core.features.submissions.rules import is_valid
from core.llm.client import Client
from core.llm.completion import Answer, read_answer
from core.llm.endpoint import Endpoint
from core.llm.health import check_health
from core.llm.logprobs import LETTERS, LetterProbabilities, is_missing, letter_probabilities
from core.llm.messages import Message, Request
from core.methods.base import Context, RowMethod, method_named
from core.methods.debate import SIDES
from core.methods.prompt_only import prompt_for
from core.runs import launch, model_servers, run_control
from core.runs.journal import read_progress
from core.runs.request import RunRequest
from core.runs.run_state import status_of
from core.runs.spec import ExecutionSettings
from core.runs.workspace import Workspace
from core.store import predictions, runs, traces
from core.store.runs import Run
from tests.serve.exercises import (
    FEW,
    REACT_TOOLS,
    context_for,
    packs_about,
    rows_and_view,
    tiny_model,
    workspace_of,
)
from tests.serve.served import LENGTH, serving, serving_until_killed, wait_until

MODEL = "tiny"
REACT = {"tools": REACT_TOOLS, "max_steps": 3, "max_tokens": 200}
PAIRS, VIEW = rows_and_view()
# Here log-probabilities are those after what a request rules out, so that −inf occurs among them. In the bfloat16 that a
# server takes by itself so small a model loses what it was taught.
EXTRA = (
    "--served-model-name",
    MODEL,
    "--logprobs-mode",
    "processed_logprobs",
    "--dtype",
    "float32",
)
# So small a model may write blanks for ever where a schema allows them.
COMPACT = (
    "--structured-outputs-config",
    json.dumps({"backend": "xgrammar", "disable_any_whitespace": True}),
)
WAIT_S = 120.0


@pytest.fixture(scope="module")
def model() -> Path:
    """The folder of the tiny model."""
    assert default_python() == OWN_PYTHON, (
        "vLLM is not installed in .venv-serve; run make test-serve"
    )
    return tiny_model(OWN_PYTHON)


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server of that model."""
    with serving(
        model, tmp_path_factory.mktemp("server") / "log.txt", *EXTRA, *COMPACT
    ) as endpoint:
        yield endpoint


def predict(
    name: str, server: Endpoint, pairs: Sequence[Pair], **options: object
) -> list[RowResult]:
    """All rows at once, as a method predicts them."""
    method = method_named(name)
    assert isinstance(method, RowMethod)

    async def list_all() -> list[RowResult]:
        async with Client(server) as client:
            context: Context = replace(
                context_for(method, pairs, VIEW, **options), client=client, model=MODEL
            )
            return list(
                await asyncio.gather(*(method.predict_row(pair, context) for pair in pairs))
            )

    return asyncio.run(list_all())


def test_the_health_check_says_what_the_server_can_do(server: Endpoint) -> None:
    found = asyncio.run(check_health(server, MODEL, by_schema=True))
    assert (
        found.reachable,
        found.models,
        found.logprobs,
        found.max_model_len,
        found.structured,
        found.problem,
    ) == (
        True,
        (MODEL,),
        True,
        LENGTH,
        True,
        "",
    )
    other = asyncio.run(check_health(server, "another"))
    assert "'another' is not served, expected one of tiny" in other.problem


def test_prompts_are_answered_under_three_seeds_with_log_probabilities(server: Endpoint) -> None:
    pairs = PAIRS[:30]
    results = predict(
        "prompt_only", server, pairs, answers="logprobs", reasoning="no", max_tokens=32
    )
    for pair, result in zip(pairs, results, strict=True):
        prediction = result.prediction
        assert (prediction.pair_id, prediction.flags) == (pair.pair_id, ())
        # Of each seed the last call, should a first answer have been unreadable.
        replies = {
            json.loads(call.request)["seed"]: json.loads(call.reply) for call in result.calls
        }
        assert list(replies) == [42, 43, 44]
        odds = [_odds(reply) for reply in replies.values()]
        answers = [event for event in result.events if event.kind == "answer"]
        for seed, event in zip(odds, answers, strict=True):
            assert event.meta["counted_by"] == "server"
            assert (event.meta["prediction_up"], event.meta["prediction_down"]) == pytest.approx(
                (seed["A"], seed["B"]), abs=1e-6
            )
            assert event.content in {f"<answer>{letter}</answer>" for letter in LETTERS}
        expected = [sum(seed[letter] for seed in odds) / 3 for letter in "AB"]
        assert [prediction.prediction_up, prediction.prediction_down] == pytest.approx(
            expected, abs=1e-6
        )
        assert prediction.tokens == sum(
            json.loads(call.reply)["usage"]["total_tokens"] for call in result.calls
        )
        assert prediction.prompt_tokens == min(
            reply["usage"]["prompt_tokens"] for reply in replies.values()
        )
    asked_again = sum(len(result.calls) - 3 for result in results)
    assert asked_again <= 9, "one in ten at most, of a model that was taught the format"


def test_an_answer_by_schema_is_always_read(server: Endpoint) -> None:
    pairs = [replace(pair, label=None) for pair in VIEW.rows[:50]]
    results = predict("prompt_only", server, pairs, structured="yes", reasoning="no", max_tokens=32)
    assert [result.prediction.flags for result in results] == [()] * 50
    answers = [event for result in results for event in result.events]
    assert {event.kind for event in answers} == {"answer"}
    assert {json.loads(event.content)["answer"] for event in answers} <= set(LETTERS)
    assert len(answers) == 150


def _odds(reply: Any) -> dict[str, float]:
    """The probabilities of the letters as they stand in the server's own JSON, without our reader."""
    (place,) = (
        token for token in reply["choices"][0]["logprobs"]["content"] if token["token"] in LETTERS
    )
    listed = {
        other["token"]: math.exp(other["logprob"])
        for other in place["top_logprobs"]
        if other["token"] in LETTERS
    }
    assert set(listed) == set(LETTERS)
    return {letter: share / sum(listed.values()) for letter, share in listed.items()}


def test_the_same_seed_gives_the_same_answer(server: Endpoint) -> None:
    prompt = prompt_for(
        PAIRS[0], context_for(method_named("prompt_only"), PAIRS, VIEW, reasoning="no")
    )

    async def answers() -> list[str]:
        async with Client(server, concurrency=1) as client:
            request = Request(MODEL, (Message("user", prompt),), max_completion_tokens=32)
            return [
                (await client.complete(replace(request, seed=seed))).content for seed in range(10)
            ]

    first, again = asyncio.run(answers()), asyncio.run(answers())
    assert first == again
    assert len(set(first)) > 1


def test_a_debate_is_held(server: Endpoint) -> None:
    pairs = PAIRS[:10]
    prose = 0
    results = predict("debate", server, pairs, rounds=1, advocate_tokens=1000, judge_tokens=200)
    for pair, result in zip(pairs, results, strict=True):
        prediction = result.prediction
        assert (prediction.pair_id, prediction.p_source) == (pair.pair_id, "trace")
        assert not {Flag.DE_FALLBACK, Flag.DIR_FALLBACK} & set(prediction.flags)
        said = [
            (event.stage, event.role, event.kind)
            for event in result.events
            if event.kind != "rejected"
        ]
        briefs = {
            stage: [(stage, side, "brief") for side in sides] for stage, sides in SIDES.items()
        }
        assert said == [
            *briefs["de"],
            ("de", "JUDGE", "verdict"),
            *briefs["dir"],
            ("dir", "JUDGE", "verdict"),
        ]
        p_de, p_up = (event.meta["p"] for event in result.events if event.kind == "verdict")
        assert (prediction.p_de, prediction.p_up_given_de) == (p_de, p_up)
        assert [prediction.prediction_up, prediction.prediction_down] == pytest.approx(
            [p_de * p_up, p_de * (1 - p_up)]
        )
        collapsed = any("role_collapse" in event.meta for event in result.events)
        assert (Flag.ROLE_COLLAPSE in prediction.flags) == collapsed
        assert len(result.calls) == 6 + sum(event.kind == "rejected" for event in result.events)
        assert not any(call.error for call in result.calls)
        for event in (event for event in result.events if event.kind == "brief"):
            # So small a model writes sentences, but mostly about other genes than those it was asked about.
            prose += event.content.count(".") >= 3
            named = pair.pert in event.content and pair.gene in event.content
            assert named or "does not name both genes" in event.meta["role_collapse"]
    assert prose >= 30, "of 40 briefs"


def test_an_agent_calls_tools_and_answers(server: Endpoint) -> None:
    pairs = PAIRS[:5]
    for pair, result in zip(pairs, predict("react", server, pairs, **REACT), strict=True):
        prediction = result.prediction
        assert (prediction.pair_id, prediction.flags) == (pair.pair_id, ())
        observed = [event for event in result.events if event.kind == "observation"]
        assert prediction.tool_calls == len(observed) >= 1
        assert "base_rates" in {event.role for event in observed}
        assert result.events[-1].kind == "answer"
        assert prediction.tokens == sum(
            json.loads(call.reply)["usage"]["total_tokens"] for call in result.calls
        )
        assert prediction.prompt_tokens is not None
        assert (
            300
            < prediction.prompt_tokens
            < result.events[-1].meta["largest_request_tokens"]
            <= LENGTH
        )


@pytest.mark.parametrize(
    ("track", "method", "options"),
    [("A", "prompt_only", {"reasoning": "no", "max_tokens": 32}), ("B", "react", REACT)],
)
def test_a_run_is_packaged_and_checked(
    server: Endpoint, tmp_path: Path, track: Track, method: str, options: dict[str, object]
) -> None:
    workspace = _workspace(tmp_path, 5)
    request = RunRequest(method, "bmdm", options, "split=test", model=MODEL)
    run = run_control.start(
        workspace,
        launch.resolve(workspace, request),
        "mine",
        ExecutionSettings(server.base_url),
        begin=run_control.work_on,
    )
    run = run_control.settle(workspace, run.id)
    assert (run.status, run.done, run.failed) == ("done", 5, 0), workspace.run_folder(run.id).log
    out = tmp_path / "mine.zip"
    made = submissions.package(workspace, run.id, submissions.PackageOptions(track), out)
    assert made.path == out, made.problems
    found = submissions.check_file(workspace, out, track, run=run.id)
    assert is_valid(found)
    assert "other_model" in {
        problem.rule for problem in found
    }  # it is no GPT-OSS-120B, and that is said
    other = _workspace(tmp_path / "colleague", 5)
    assert import_upload(other, out.read_bytes(), out.name).kind == "submission"
    with workspace.store.read() as ours, other.store.read() as theirs:
        rows = traces.rows(ours, run.id)
        back = traces.rows(theirs, runs.find(theirs, out.stem).id)
    assert [
        (row.prediction.prediction_up, row.prediction.prediction_down) for row in rows.values()
    ] == [(row.prediction.prediction_up, row.prediction.prediction_down) for row in back.values()]
    if track == "B":
        assert [row.events for row in rows.values()] == [row.events for row in back.values()]


def test_summer_answers_both_questions_of_every_row(server: Endpoint, tmp_path: Path) -> None:
    """Forty rows of each question: genes are summarised once, labelled pairs looked up, three samples read and averaged."""
    workspace = _workspace(tmp_path)
    for name, content in packs_about(PAIRS, VIEW.rows).items():
        assert import_upload(workspace, json.dumps(content).encode(), name).kind != "failed"
    request = RunRequest("summer", "bmdm", {"max_tokens": 200}, "split=test", model=MODEL)
    how = ExecutionSettings(server.base_url, rows_in_flight=8)
    run = run_control.start(
        workspace, launch.resolve(workspace, request), "summer", how, begin=run_control.work_on
    )
    run = run_control.settle(workspace, run.id)
    assert (run.status, run.done, run.failed) == ("done", len(PAIRS), 0), workspace.run_folder(
        run.id
    ).log
    with workspace.store.read() as db:
        rows = traces.rows(db, run.id)
    unread = 0
    for row in rows.values():
        said = [event for event in row.events if event.kind == "answer"]
        assert [event.stage for event in said] == ["de"] * 3 + ["dir"] * 3
        scores = {
            stage: [
                SCORES[stage][e.meta["answer"]]
                for e in said
                if e.stage == stage and e.meta["answer"]
            ]
            for stage in SCORES
        }
        unread += sum(3 - len(of_stage) for of_stage in scores.values())
        means = [sum(of_stage) / len(of_stage) for of_stage in scores.values() if of_stage]
        if len(means) == 2:
            assert [row.prediction.p_de, row.prediction.p_up_given_de] == pytest.approx(means)
    assert unread <= 24, "one in ten at most, of a model that was taught the format"
    summarised = [
        event.content
        for row in rows.values()
        for event in row.events
        if event.kind.startswith("summary")
    ]
    assert sum("." in text for text in summarised) > len(PAIRS)
    assert any(
        event.meta["pairs"]
        for row in rows.values()
        for event in row.events
        if event.stage == "retrieve"
    )


def test_minus_infinity_does_not_break_the_json_of_an_answer(server: Endpoint) -> None:
    prompt = prompt_for(
        PAIRS[0], context_for(method_named("prompt_only"), PAIRS, VIEW, reasoning="no")
    )
    request = Request(
        MODEL, (Message("user", prompt),), seed=1, max_completion_tokens=32, top_logprobs=20
    )

    async def ask() -> str:
        async with Client(server) as client:
            found = await client.fetch(
                "POST", server.base_url.removesuffix("v1") + "tokenize", json.dumps(allowed)
            )
            body = request.body | {"allowed_token_ids": json.loads(str(found))["tokens"]}
            return str(await client.fetch("POST", "/chat/completions", json.dumps(body)))

    # With the end of an answer, and neither B nor C.
    allowed = {
        "model": MODEL,
        "prompt": "<answer>A</answer><|im_end|>",
        "add_special_tokens": False,
    }
    text = asyncio.run(ask())
    json.loads(text, parse_constant=_no_number)
    answer = read_answer(text)
    assert isinstance(answer, Answer)
    assert answer.content == "<answer>A</answer>"
    assert answer.logprobs is not None
    place = next(token for token in answer.logprobs if token.token == "A")
    assert len(place.alternatives) >= 20
    left = {token for token, logprob in place.alternatives if not is_missing(logprob)}
    assert {"A"} <= left <= {"<", "answer", ">", "A", "</", "<|im_end|>"}
    found = letter_probabilities(answer.logprobs, LETTERS, answer.content)
    assert found == LetterProbabilities(
        "A", pytest.approx({"A": 1.0, "B": 0.0, "C": 0.0}, abs=1e-6)
    )


def test_a_narrow_top_p_leaves_the_others_without_a_log_probability(server: Endpoint) -> None:
    prompt = prompt_for(
        PAIRS[1], context_for(method_named("prompt_only"), PAIRS, VIEW, reasoning="no")
    )
    request = Request(
        MODEL,
        (Message("user", prompt),),
        seed=1,
        top_p=0.01,
        max_completion_tokens=32,
        top_logprobs=20,
    )

    async def ask() -> tuple[str, Any]:
        async with Client(server) as client:
            reply = await client.complete(request)
            return reply.content, reply.logprobs

    content, logprobs = asyncio.run(ask())
    assert all(
        sum(not is_missing(logprob) for _, logprob in token.alternatives) == 1 for token in logprobs
    )
    found = letter_probabilities(logprobs, LETTERS, content)
    assert isinstance(found, LetterProbabilities)
    assert found.probabilities[found.answered] == pytest.approx(1.0)


def _no_number(found: str) -> None:
    raise AssertionError(f"{found} in JSON")


def test_a_run_that_is_killed_is_resumed_where_it_was(server: Endpoint, tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    options = {"answers": "logprobs", "reasoning": "no", "max_tokens": 32}
    request = RunRequest("prompt_only", "bmdm", options, "split=test", model=MODEL)
    how = ExecutionSettings(server.base_url, rows_in_flight=2)
    run = run_control.start(workspace, launch.resolve(workspace, request), "killed", how)
    folder = workspace.run_folder(run.id)
    wait_until(lambda: len(_finished(workspace, run)) >= 8, WAIT_S, folder.log)
    pid = status_of(folder).pid
    assert pid is not None, folder.log
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: status_of(folder).state == "crashed", WAIT_S, folder.log)
    before = _finished(workspace, run)
    assert 8 <= len(before) < len(PAIRS)
    run_control.resume(workspace, "killed")
    wait_until(lambda: status_of(folder).state == "done", WAIT_S, folder.log)
    after = run_control.settle(workspace, run.id)
    assert (after.status, after.done, after.failed, after.fallbacks) == ("done", len(PAIRS), 0, 0)
    progress = read_progress(folder.rows)
    assert progress.finished >= before
    assert progress.repeated == 0
    with workspace.store.read() as db:
        stored = predictions.frame(db, run.id)["pair_id"].tolist()
    assert sorted(stored) == sorted(pair.pair_id for pair in PAIRS)


def _finished(workspace: Workspace, run: Run) -> set[str]:
    return set(read_progress(workspace.run_folder(run.id).rows).finished)


def _workspace(folder: Path, n: int | None = None) -> Workspace:
    """A workspace with the rows that the model knows, the first n of them, and some labelled ones."""
    labelled = VIEW.rows[:FEW]
    return workspace_of(folder, labelled, [str(pair.label) for pair in labelled], PAIRS[:n])


@pytest.mark.soak  # `make soak PART=serve`, after `make test-serve`
def test_a_run_goes_on_when_one_of_two_servers_is_killed(
    model: Path, server: Endpoint, tmp_path: Path
) -> None:
    """One server begins the run, another joins it, and the first is killed with all its processes."""
    workspace = _workspace(tmp_path)
    with serving_until_killed(model, tmp_path / "log.txt", *EXTRA) as (other, kill):
        both = f"{other.base_url},{server.base_url}"
        found = asyncio.run(model_servers.check_each(workspace, both, MODEL))
        assert [(health.problem, health.max_model_len) for health in found.values()] == [
            ("", LENGTH),
            ("", LENGTH),
        ]
        addresses = tmp_path / "addresses.txt"
        addresses.write_text(other.base_url)
        seeds = ",".join(map(str, range(8)))  # so that there are calls left when it is killed
        options = {
            "reasoning": "no",
            "max_tokens": 32,
            "seeds": seeds,
        }  # the model was taught this prompt
        request = RunRequest("prompt_only", "bmdm", options, "split=test", model=MODEL)
        how = ExecutionSettings(str(addresses), rows_in_flight=4, concurrency=4)
        run = run_control.start(workspace, launch.resolve(workspace, request), "over two", how)
        folder = workspace.run_folder(run.id)
        wait_until(lambda: status_of(folder).counts.done > 2, WAIT_S, folder.log)
        addresses.write_text(both)
        kill()
        wait_until(lambda: status_of(folder).state not in LIVE_STATES, WAIT_S, folder.log)
    run = run_control.settle(workspace, run.id)
    log = folder.log.read_text("utf-8")
    assert (run.status, run.done, run.failed) == ("done", len(PAIRS), 0), log
    assert read_progress(folder.rows).repeated == 0
    assert f"server {other.base_url}: resting: " in log
    assert all(each.done for each in status_of(folder).servers)
