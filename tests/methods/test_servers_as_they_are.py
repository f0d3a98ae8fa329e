"""Every method that asks a model, against the ways in which servers answer: the same answer is read alike however it is wrapped,
what fails for now is asked for again, what is no answer is an error by name, and tokens are those that the server counted."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from core.base.types import Flag, RowResult
from core.features.arguments.methods.judge_rubric import reading_options
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.errors import Declined, Malformed, Refused, Truncated
from core.methods.base import RowFailed, TextsOfRun, method_named
from core.runs.dependencies import ReadsTexts
from tests.evidence.world import TEST
from tests.features.arguments.test_judge_rubric import RUBRIC, TEXTS
from tests.llm.canned import Asked, Canned, completion, serving
from tests.methods.world import context, predict

METHODS = {
    "prompt_only": {"seeds": "42"},
    "local_model": {"answers": "letters"},
    "debate": {"rounds": 0},
    "summer": {"seeds": "1"},
    "react": {},
    "coordinator": {},
}
READS = "judge_rubric"
Serve = Callable[
    [str, int], Canned
]  # what a model says, and how often the same was asked before → the response
Wrap = Callable[[str], Any]  # content → the body of a response


def good(asked: Asked) -> str:
    """What a model answers that does as it is told."""
    text = json.dumps(asked.body["messages"])
    if "next_tool_name" in text:
        return "[[ ## next_thought ## ]]\nEnough.\n\n[[ ## next_tool_name ## ]]\nfinish\n\n[[ ## next_tool_args ## ]]\n{}"
    if "p_up_given_de" in text:
        return "[[ ## reasoning ## ]]\nA link.\n\n[[ ## p_de ## ]]\n85\n\n[[ ## p_up_given_de ## ]]\n20"
    if "<prob>" in text:
        return "A link.\n<prob>62</prob>"
    known = next((each for each in ("yes", "increase") if f"<answer>{each}</answer>" in text), "B")
    return f"A link.\n<answer>{known}</answer>"


def stream(*deltas: Any) -> str:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    chunks = [{"choices": [{"delta": {"content": delta}}]} for delta in deltas]
    chunks[-1]["choices"][0]["finish_reason"] = "stop"
    chunks.append({"choices": [], "usage": usage})
    return "".join(
        [": WAIT\n\n", *(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"]
    )


def parts(*texts: tuple[str, str]) -> Any:
    return [
        {"type": kind, ("thinking" if kind == "thinking" else "text"): text} for kind, text in texts
    ]


DRAFT = "A draft: <answer>A</answer> <prob>5</prob> [[ ## p_de ## ]]\n1\n\n"
HARMONY = (
    f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>"
)
WRAPPED = {
    "plain": lambda text: completion(text),
    "thinks inline": lambda text: completion(f"<think>{DRAFT}</think>\n\n{text}"),
    "harmony": lambda text: completion(f"{HARMONY}{text}<|return|>"),
    "reasoning": lambda text: completion(text, message={"reasoning": DRAFT}),
    "parts": lambda text: completion(parts(("thinking", DRAFT), ("text", text))),
    "two choices": lambda text: {
        **completion(text),
        "choices": [*completion(text)["choices"], *completion(DRAFT)["choices"]],
    },
    "a stream that thinks": lambda text: stream("<thi", f"nk>{DRAFT}</th", "ink>", text),
    "a stream of parts": lambda text: stream(
        parts(("thinking", DRAFT)), parts(("text", text[:3])), parts(("text", text[3:]))
    ),
}
# What the first answer to each request is, before a right one.
AT_FIRST = {
    "a rate limit": Canned(
        {"error": {"message": "Rate limit reached. Please try again in 1ms."}},
        429,
        {"retry-after-ms": "1"},
    ),
    "a plain 500": Canned("oops", 500),
    "an abort": Canned(completion("Option A is", "abort")),
    "no choices": Canned({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
    "half an answer": Canned(json.dumps(completion("<answer>A</answer>"))[:-9]),
}
NO_ANSWER = {
    "refusal": (lambda _: completion(None, message={"refusal": "I can't."}), Declined),
    "length": (lambda text: completion(text, "length"), Truncated),
    "an unclosed thought": (lambda text: completion(f"<think>{text}"), Truncated),
    "an unknown end": (lambda text: completion(text, "paused"), Malformed),
    "parts of another kind": (
        lambda _: completion([{"type": "image_url", "image_url": "x"}]),
        Malformed,
    ),  # type: ignore[arg-type]
}
REFUSED = {  # for good: asked for once
    "a parameter": Canned(
        {"error": {"message": "Unsupported parameter: 'top_p'", "code": "unsupported_parameter"}},
        400,
    ),
    "a long prompt": Canned(
        {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}, 400
    ),
    "a full context as a 500": Canned(
        {"error": {"code": 500, "message": "Context size has been exceeded."}}, 500
    ),
    "no key": Canned(
        {"error": {"code": "401", "message": "Access denied due to invalid subscription key"}}, 401
    ),
    "a refusal in an answer": Canned({"error": {"message": "invalid", "code": 400}}),
}


FULL = ("a long prompt", "a full context as a 500")


def serve_all() -> dict[str, Serve]:
    """Every behaviour by name."""
    wraps = {**WRAPPED, **{name: wrap for name, (wrap, _) in NO_ANSWER.items()}}
    found = {name: lambda text, _, wrap=wrap: Canned(wrap(text)) for name, wrap in wraps.items()}  # type: ignore[misc]
    for name, first in AT_FIRST.items():
        found[f"{name} at first"] = lambda text, before, first=first: (
            Canned(completion(text)) if before else first
        )  # type: ignore[misc]
    return found | {
        f"refused: {name}": lambda _, __, body=body: body for name, body in REFUSED.items()
    }  # type: ignore[misc]


class Met(NamedTuple):
    """What became of a row. asked: how often the server was asked; counted: the tokens that it counted."""

    found: RowResult | RowFailed
    asked: int
    counted: int

    @property
    def tokens(self) -> int | None:
        """The tokens that the row has."""
        calls = self.found.calls if isinstance(self.found, RowFailed) else ()
        own = self.found.prediction.tokens if isinstance(self.found, RowResult) else None
        return (
            own
            if own is not None
            else sum(call.prompt_tokens + call.completion_tokens for call in calls)
        )

    @property
    def answers(self) -> object:
        """What the row says."""
        assert isinstance(self.found, RowResult), self.found
        row = self.found.prediction
        return (
            row.prediction_up,
            row.prediction_down,
            row.flags,
            [event.meta.get("answer") for event in self.found.events],
        )


MetByName = dict[str, Met]


def meet_all(method: str, behaviours: Mapping[str, Serve]) -> MetByName:
    """A row by a method from each behaviour: the server tells them apart by the name of the model."""
    made = method_named(method)
    seen, asked, counted = Counter[str](), Counter[str](), Counter[str]()
    counting = threading.Lock()  # each request is answered in a thread of its own

    def answer(each: Asked) -> Canned:
        if not each.path.endswith("completions"):
            return Canned({}, 404)
        name = each.body["model"]
        key = json.dumps([name, each.body["messages"]])
        with counting:
            given = behaviours[name](good(each), seen[key])
            seen[key] += 1
            asked[name] += 1
            counted[name] += tokens_in(given)
        return given

    async def ask(url: str) -> list[RowResult | BaseException]:
        async with Client(
            Endpoint(url, retries=2, backoff_s=0.001, longest_backoff_s=0.001)
        ) as client:
            at = context(made, client, **options_of(method))
            at = (
                replace(at, texts=TextsOfRun({TEST.pair_id: TEXTS}))
                if isinstance(made, ReadsTexts)
                else at
            )
            rows = (made.predict_row(TEST, replace(at, model=name)) for name in behaviours)
            return await asyncio.gather(*rows, return_exceptions=True)

    with serving(answer) as (url, _):
        rows = asyncio.run(ask(url))
    for row in rows:
        if not isinstance(row, RowResult | RowFailed):
            raise row
    return {
        name: Met(row, asked[name], counted[name])
        for name, row in zip(behaviours, rows, strict=True)
    }  # type: ignore[arg-type]


def options_of(method: str) -> dict[str, Any]:
    return (
        reading_options(RUBRIC, "parent", answers="letters") if method == READS else METHODS[method]
    )


def tokens_in(given: Canned) -> int:
    """The tokens that a response says it cost."""
    text = given.body if isinstance(given.body, str) else json.dumps(given.body)
    return 5 if '"prompt_tokens": 3' in text and text.rstrip().endswith(("}", "[DONE]")) else 0


@pytest.fixture(scope="module", params=[*METHODS, READS])
def met(request: pytest.FixtureRequest) -> MetByName:
    """What becomes of a row of each method under every behaviour."""
    return meet_all(request.param, serve_all())


@pytest.mark.few(3)
def test_the_same_answer_is_read_alike_however_it_is_wrapped(met: MetByName) -> None:
    plain = met["plain"]
    assert isinstance(plain.found, RowResult)
    assert not set(plain.found.prediction.flags) & {
        Flag.DE_FALLBACK,
        Flag.DIR_FALLBACK,
        Flag.UNREAD,
    }
    for name in WRAPPED:
        assert (name, met[name].answers, met[name].asked) == (name, plain.answers, plain.asked)


@pytest.mark.few(1)
def test_what_fails_for_now_is_asked_for_again(met: MetByName) -> None:
    for name in AT_FIRST:
        again = met[f"{name} at first"]
        assert (name, again.answers, again.asked) == (
            name,
            met["plain"].answers,
            2 * met["plain"].asked,
        )


@pytest.mark.few(3)
def test_what_is_no_answer_is_an_error_by_name(met: MetByName) -> None:
    for name, (_, kind) in NO_ANSWER.items():
        failed = met[name].found
        assert isinstance(failed, RowFailed), name
        assert type(failed.cause) is kind, (name, failed.cause)


@pytest.mark.few(2)
def test_what_is_refused_for_good_is_not_repeated(met: MetByName) -> None:
    for name in REFUSED:
        failed = met[f"refused: {name}"].found
        assert isinstance(failed, RowFailed), name
        shortens = isinstance(failed.cause, Malformed) and "does not fit" in str(
            failed.cause
        )  # an agent, until nothing is left
        assert type(failed.cause) is Refused or (shortens and name in FULL), (name, failed.cause)
        assert met[f"refused: {name}"].asked <= met["plain"].asked, name


@pytest.mark.few(3)
def test_tokens_are_those_that_the_server_counted(met: MetByName) -> None:
    for name, each in met.items():
        assert (name, each.tokens) == (name, each.counted)


def predict_with(method: str, wrap: Wrap) -> tuple[RowResult, int]:
    """The row as a method predicts it, and how many answers the server gave."""
    found = method_named(method)
    with serving(lambda asked: Canned(wrap(good(asked)))) as (url, asked):
        return predict(found, url, **METHODS[method]), sum(
            each.path.endswith("completions") for each in asked
        )


def test_tokens_that_the_server_does_not_count_are_unknown() -> None:
    found, _ = predict_with("prompt_only", lambda text: {**completion(text), "usage": None})
    assert found.prediction.tokens is None


def test_a_fraction_is_asked_for_again_with_the_scale() -> None:
    def answer(asked):
        if not asked.path.endswith("completions"):
            return Canned({}, 404)
        again = "may be a fraction or per cent" in json.dumps(asked.body["messages"])
        return Canned(completion("<prob>62</prob>" if again else "<prob>0.62</prob>"))

    found = method_named("debate")
    with serving(answer) as (url, asked):
        row = predict(found, url, **METHODS["debate"])
    assert (row.prediction.p_de, row.prediction.p_up_given_de) == (0.62, 0.62)
    assert sum(each.path.endswith("completions") for each in asked) == 4
    assert [event.kind for event in row.events] == ["rejected", "verdict"] * 2
