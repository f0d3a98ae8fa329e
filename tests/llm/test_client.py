from __future__ import annotations

import asyncio
import json
import pickle
import random
import re
import time
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import DeskError
from core.base.net.server_access import ServerAccess
from core.llm.call_settings import CallSettings
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.errors import (
    Declined,
    Malformed,
    ModelError,
    NoLogprobs,
    Refused,
    Truncated,
    Unanswered,
)
from core.llm.kept_answer import ReplyCache
from core.llm.messages import Reply, Request, Usage
from tests.llm.canned import ASK, KEY, Asked, Canned, completion, serving

LOGPROBS = {"content": [{"token": "A", "logprob": -0.5, "top_logprobs": []}]}
WITH_LOGPROBS = replace(ASK, top_logprobs=20)
NO_LOGPROBS = Canned({"error": {"message": "logprobs are not supported"}}, 400)


class Waits(list[float]):
    """A sleep that takes no time and keeps what was asked of it."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def play(*given: Canned) -> Callable[[Asked], Canned]:
    """These answers one after the other, the last one for ever."""
    return lambda asked: given[min(asked.number, len(given) - 1)]


def busy(status: int = 500, **headers: str) -> Canned:
    return Canned(
        {"error": {"message": "busy"}},
        status,
        {name.replace("_", "-"): value for name, value in headers.items()},
    )


def endpoint(url: str, **limits: Any) -> Endpoint:
    return Endpoint(url, **{"access": ServerAccess.of(url, KEY), "timeout_s": 10.0, **limits})


def complete(
    url: str,
    *requests: Request,
    cache: ReplyCache | None = None,
    sleep: Waits | None = None,
    **limits: Any,
) -> list[Any]:
    """The replies or errors of these requests, asked one after the other by one client."""

    async def ask() -> list[Any]:
        found = []
        async with Client(
            endpoint(url, **limits),
            cache=cache,
            rng=random.Random(1),
            sleep=Waits() if sleep is None else sleep,
        ) as client:
            for request in requests or (ASK,):
                try:
                    found.append(await client.complete(request))
                except ModelError as error:
                    found.append(error)
        return found

    return asyncio.run(ask())


def said(error: Any, kind: type[ModelError], *parts: str) -> None:
    """Whether this is the error, on one line that has all these parts."""
    assert type(error) is kind
    assert isinstance(error, DeskError)
    assert "\n" not in str(error)
    for part in parts:
        assert part in str(error)


def test_a_reply() -> None:
    answer = completion("A", message={"reasoning": "because"})
    answer["usage"]["completion_tokens_details"] = {"reasoning_tokens": 1}
    with serving(play(Canned(answer))) as (url, asked):
        (reply,) = complete(url)
    assert [(a.path, a.body, a.key) for a in asked] == [
        ("/v1/chat/completions", ASK.body, f"Bearer {KEY}")
    ]
    latency_ms = reply.latency_ms
    assert reply == Reply(
        "A",
        "because",
        "stop",
        Usage(1, 3, 2, 1, 0, latency_ms),
        None,
        ASK.text,
        json.dumps(answer),
        cached=False,
    )
    assert latency_ms > 0


def test_faults_that_pass_are_asked_again() -> None:
    waits = Waits()
    faults = [
        busy(500),
        busy(429),
        busy(408),
        busy(409),
        Canned('{"choices": [{"mess'),
        Canned({"no": "choices"}),
    ]
    with serving(play(*faults, Canned(completion()))) as (url, asked):
        (reply,) = complete(url, sleep=waits, retries=6, backoff_s=1.0, longest_backoff_s=10.0)
    assert (reply.content, reply.attempts, len(asked)) == ("A", 7, 7)
    # 1, 2, 4, 8 s, then 10 s as the longest; each time half to all of it.
    assert len(waits) == 6
    for wait, longest in zip(waits, [1, 2, 4, 8, 10, 10], strict=True):
        assert longest / 2 <= wait <= longest
    assert (
        len({wait / longest for wait, longest in zip(waits, [1, 2, 4, 8, 10, 10], strict=True)})
        == 6
    )  # jitter


def test_retry_after_is_honoured() -> None:
    waits = Waits()
    date = {"Retry_After": "Sun, 06 Nov 1994 08:50:07 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"}
    with serving(play(busy(429, Retry_After="7"), busy(503, **date), Canned(completion()))) as (
        url,
        _,
    ):
        complete(url, sleep=waits, backoff_s=0.5)
    assert 7 <= waits[0] <= 7.5
    assert 30 <= waits[1] <= 30.5


def test_a_wait_that_is_too_long_is_not_begun() -> None:
    waits = Waits()
    with serving(play(busy(429, Retry_After="3600"))) as (url, asked):
        (error,) = complete(url, sleep=waits, longest_wait_s=60.0)
    said(error, Unanswered, url, "HTTP 429 (busy)", "asks to wait 3,600 s, expected at most 60")
    assert (waits, len(asked)) == ([], 1)


def test_after_the_last_retry_it_gives_up() -> None:
    with serving(play(busy(503))) as (url, asked):
        (error,) = complete(url, retries=2)
    said(error, Unanswered, url, "HTTP 503 (busy)", "gave up after 3 attempts")
    assert len(asked) == 3
    assert (error.usage.attempts, error.request, error.raw) == (
        3,
        ASK.text,
        '{"error": {"message": "busy"}}',
    )


@pytest.mark.parametrize(
    "cut",
    [completion(None), completion(""), completion("A b", "length"), completion(None, "length")],
)
def test_a_cut_answer_is_asked_for_once_more_with_twice_the_budget(cut: dict[str, Any]) -> None:
    with serving(play(Canned(cut), Canned(completion()))) as (url, asked):
        (reply,) = complete(url)
    assert [a.body["max_completion_tokens"] for a in asked] == [100, 200]
    assert json.loads(reply.request)["max_completion_tokens"] == 200
    # Both answers report 3 prompt and 2 completion tokens.
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.attempts) == (6, 4, 2)


def test_an_answer_that_stays_cut_is_truncated() -> None:
    with serving(play(Canned(completion("A b", "length")))) as (url, asked):
        error, unlimited = complete(url, ASK, replace(ASK, max_completion_tokens=None))
    said(
        error,
        Truncated,
        url,
        "cut after 3 characters (finish_reason 'length')",
        "within 100 tokens, and 200",
    )
    assert (error.usage.attempts, error.usage.completion_tokens, len(asked)) == (2, 4, 4)
    said(unlimited, Truncated, "within the server's own limit")
    with serving(play(Canned(completion(None)))) as (url, _):
        said(complete(url)[0], Truncated, "no content (finish_reason 'stop')")


def test_a_refusal_of_twice_the_budget_does_not_hide_that_the_answer_was_cut() -> None:
    with serving(
        play(Canned(completion(None, "length")), Canned({"error": "context length is 128"}, 400))
    ) as (url, _):
        (error,) = complete(url)
    said(
        error,
        Truncated,
        "no content",
        "twice the budget was refused",
        "HTTP 400 (context length is 128)",
    )
    assert (error.usage.attempts, error.usage.completion_tokens) == (2, 2)


def test_faults_before_and_after_a_cut_answer_count_together() -> None:
    cut, whole = Canned(completion(None)), Canned(completion())
    with serving(play(busy(), cut, busy(), whole)) as (url, _):
        assert complete(url, retries=2)[0].attempts == 4
    with serving(play(busy(), cut, busy(), whole)) as (url, _):
        (error,) = complete(url, retries=1)
    said(error, Unanswered, "gave up after 3 attempts")
    assert error.usage.completion_tokens == 2


def test_a_refusal_of_logprobs_is_found_out_once() -> None:
    with serving(
        lambda asked: NO_LOGPROBS if "logprobs" in asked.body else Canned(completion())
    ) as (url, asked):
        first, second, plain = complete(url, WITH_LOGPROBS, replace(WITH_LOGPROBS, seed=1), ASK)
    said(
        first, NoLogprobs, url, "no log-probabilities of m", "HTTP 400 (logprobs are not supported)"
    )
    said(second, NoLogprobs, "HTTP 400 (logprobs are not supported)")
    assert (first.usage.attempts, second.usage.attempts, second.request) == (1, 0, "")
    assert plain.content == "A"
    assert len(asked) == 2


def test_logprobs_that_are_left_out_are_no_reply() -> None:
    with serving(play(Canned(completion()))) as (url, asked):
        found = complete(url, *(replace(WITH_LOGPROBS, seed=seed) for seed in range(5)))
    for error in found:
        said(error, NoLogprobs, "an answer came without them")
    assert [error.usage.completion_tokens for error in found] == [2, 2, 2, 0, 0]
    assert len(asked) == 3  # after three answers none more is asked for


def test_one_answer_without_logprobs_does_not_condemn_a_server_that_gives_them() -> None:
    given = Canned(completion(logprobs=LOGPROBS))
    with serving(play(given, Canned(completion()), given)) as (url, _):
        found = complete(url, *(replace(WITH_LOGPROBS, seed=seed) for seed in range(3)))
    assert [type(one) for one in found] == [Reply, NoLogprobs, Reply]
    assert found[0].logprobs == (("A", -0.5, ()),)


def test_answers_with_logprobs_overrule_those_without() -> None:
    """All are asked for at the same time, and those without them arrive first."""
    given = Canned(completion(logprobs=LOGPROBS))

    def play_late(asked):
        if asked.body["seed"] == 3:
            time.sleep(0.2)
        return given if asked.body["seed"] >= 3 else Canned(completion())

    async def work(client):
        first = [client.complete(replace(WITH_LOGPROBS, seed=seed)) for seed in range(4)]
        found = list(await asyncio.gather(*first, return_exceptions=True))
        return [*found, await client.complete(replace(WITH_LOGPROBS, seed=4))]

    with serving(play_late) as (url, _):
        assert [type(one) for one in run_together(url, work)] == [
            NoLogprobs,
            NoLogprobs,
            NoLogprobs,
            Reply,
            Reply,
        ]


def test_an_answer_under_another_name_is_an_answer_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    alias = Canned(completion() | {"model": "m-2026-11"})
    caplog.set_level("WARNING", "perturbdesk")
    with serving(play(alias)) as (url, _):
        found = complete(url, ASK, replace(ASK, seed=1), replace(ASK, model="m-2026-11"))
    assert [one.content for one in found] == ["A"] * 3
    assert "m-2026-11" in found[0].raw
    assert caplog.messages == [f"{url}: asked for m, answered as m-2026-11"]


def test_a_long_answer_that_is_none_is_kept_in_part() -> None:
    with serving(play(Canned("x" * 200_000))) as (url, _):
        (error,) = complete(url, retries=0)
    said(error, Malformed, "no JSON")
    assert error.raw == "x" * 100_000 + "… (200,000 characters in all)"


def test_the_limit_of_an_answer_grows_with_its_logprobs() -> None:
    long = Canned(json.dumps(completion("A", message={"padding": "x" * 20_000})))
    tokens = replace(WITH_LOGPROBS, max_completion_tokens=20)
    with serving(
        play(
            Canned(
                json.dumps(completion("A", logprobs=LOGPROBS, message={"padding": "x" * 20_000}))
            )
        )
    ) as (url, _):
        short, with_logprobs = complete(url, ASK, tokens, max_answer_mb=0.01)
    said(
        short,
        Malformed,
        "an answer of more than 10,000 bytes (max_answer_mb is 0.01, a larger one allows more)",
        "of m",
    )
    assert isinstance(with_logprobs, Reply)  # 20 tokens × 21 entries × 100 bytes = 42,000
    with serving(play(long)) as (url, _):
        assert isinstance(complete(url, ASK, max_answer_mb=0.03)[0], Reply)


def test_an_answer_that_is_all_thinking_is_asked_again_without_a_larger_limit() -> None:
    thought = completion(None, message={"reasoning": "so <answer>B</answer>"})
    with serving(play(Canned(thought))) as (url, asked):
        (error,) = complete(url)
    said(
        error, Truncated, "no content (finish_reason 'stop'), all of the answer is in its thinking"
    )
    assert [a.body["max_completion_tokens"] for a in asked] == [100, 100]


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (
            completion(None, message={"refusal": "I can't."}),
            Declined,
            "the model refused: I can't.",
        ),
        (completion([{"type": "image_url"}]), Malformed, 'content [{"type": "image_url"}]'),
        (
            {"choices": [{"text": "A"}], "usage": completion()["usage"]},
            Malformed,
            "a text completion",
        ),
    ],
)
def test_what_will_be_the_same_again_is_asked_for_once_and_paid_for(
    body: Any, kind: type[ModelError], words: str
) -> None:
    with serving(play(Canned(body))) as (url, asked):
        (error,) = complete(url)
    said(error, kind, url, words)
    assert (len(asked), error.usage.prompt_tokens, error.usage.completion_tokens) == (1, 3, 2)


def test_tokens_that_no_server_counts_are_estimated() -> None:
    with serving(play(Canned({**completion("A" * 40), "usage": None}))) as (url, _):
        (reply,) = complete(url)
    assert (reply.usage.uncounted, reply.usage.prompt_tokens, reply.usage.completion_tokens) == (
        1,
        0,
        0,
    )
    assert reply.usage.estimated_tokens == -(-(len(ASK.text) + 40) // 4)  # 4 bytes a token


def test_fewer_logprobs_are_asked_for_where_a_server_allows_fewer() -> None:
    def answer(asked):
        if asked.body["top_logprobs"] > 5:
            return Canned(
                {"error": {"message": "top_logprobs must be less than or equal to 5"}}, 400
            )
        return Canned(completion(logprobs=LOGPROBS))

    with serving(answer) as (url, asked):
        first, second = complete(
            url,
            replace(WITH_LOGPROBS, top_logprobs=20),
            replace(WITH_LOGPROBS, top_logprobs=20, seed=1),
        )
    assert [type(one) for one in (first, second)] == [Reply, Reply]
    assert sorted(a.body["top_logprobs"] for a in asked)[:2] == [5, 5]


def test_calls_go_out_as_the_endpoint_wants_them() -> None:
    settings = CallSettings(
        temperature=0.5,
        extra_body='{"top_k": 20}',
        leave_out=("seed", "top_p"),
        limit_name="max_tokens",
        api_version="2026-01-01",
    )

    async def work(client):
        return [await client.complete(client.prepare(replace(ASK, seed=1)))]

    with serving(play(Canned(completion()))) as (url, asked):
        asyncio.run(run_with(replace(endpoint(url), calls=settings), work))
    assert {
        name: value for name, value in asked[0].body.items() if name not in ("model", "messages")
    } == {
        "temperature": 0.5,
        "max_tokens": 100,
        "top_k": 20,
    }
    assert asked[0].path == "/v1/chat/completions?api-version=2026-01-01"


def test_other_refusals_are_not_taken_for_one_of_logprobs() -> None:
    with serving(
        play(Canned({"error": "no such model"}, 404), Canned(completion(logprobs=LOGPROBS)))
    ) as (url, _):
        first, second = complete(url, WITH_LOGPROBS, WITH_LOGPROBS)
    said(first, Refused)
    assert isinstance(second, Reply)


def in_tokens(key: str | None) -> dict[str, Any]:
    """Log-probabilities of a key's characters, one a token."""
    return {
        "content": [
            {"token": c, "bytes": [ord(c)], "logprob": -0.5, "top_logprobs": []}
            for c in f"A {key}!"
        ]
    }


HOSTILE = [
    lambda asked: Canned({"error": {"message": f"Incorrect API key provided: {asked.key}"}}, 401),
    lambda asked: Canned(f"<html>{asked.key}</html>", 500),
    lambda asked: Canned(f"{{{asked.key}"),
    lambda asked: Canned({"error": f"{asked.key}"}),
    lambda asked: Canned(completion(f"{asked.key}", "length")),
    lambda asked: Canned(completion(None, f"{asked.key}")),
    lambda asked: Canned({"error": f"no logprobs for {asked.key}"}, 400),
    lambda asked: Canned(completion(f"A {asked.key}", logprobs=in_tokens(asked.key))),
    lambda asked: Canned(
        json.dumps(completion(f"A {asked.key}", message={"reasoning": asked.key})).replace(
            "/", "\\/"
        )
    ),
]


@pytest.mark.parametrize("answer", HOSTILE)
def test_a_key_that_comes_back_stands_nowhere(
    answer: Callable[[Asked], Canned], tmp_path: Path
) -> None:
    cache = ReplyCache(tmp_path / "llm.sqlite")
    with serving(answer) as (url, asked):
        found = complete(url, ASK, WITH_LOGPROBS, cache=cache, retries=1)
    assert KEY in (asked[0].key or "")
    for one in found:
        text = repr(one) + str(one) + one.request + one.raw
        if isinstance(one, ModelError):
            text += "".join(traceback.format_exception(one)) + repr(
                pickle.loads(pickle.dumps(one)).__dict__
            )
            assert one.__cause__ is None
            assert one.__context__ is None
        assert "sesame" not in text
        assert "sesame" not in "".join(re.findall('"token": "(.)"', text))
    cache.close()
    assert all(b"sesame" not in path.read_bytes() for path in tmp_path.iterdir())


def test_errors_survive_the_way_between_processes() -> None:
    error = Truncated("cut", Usage(attempts=1), "{}", "raw")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.usage, again.request, again.raw) == (
        Truncated,
        "cut",
        Usage(attempts=1),
        "{}",
        "raw",
    )


class TestWithACache:
    @pytest.fixture
    def cache(self, tmp_path: Path) -> ReplyCache:
        return ReplyCache(tmp_path / "cache" / "llm.sqlite")

    def test_the_same_request_is_sent_once(self, cache: ReplyCache) -> None:
        with serving(play(Canned(completion(logprobs=LOGPROBS)))) as (url, asked):
            first, second = complete(url, WITH_LOGPROBS, WITH_LOGPROBS, cache=cache)
            (elsewhere,) = complete(
                url.replace("127.0.0.1", "localhost"), WITH_LOGPROBS, cache=cache
            )
            assert len(asked) == 1
            repeated, seeded = complete(
                url, replace(WITH_LOGPROBS, repeat=1), replace(WITH_LOGPROBS, seed=1), cache=cache
            )
        assert len(asked) == 3
        assert [one.cached for one in (first, second, elsewhere, repeated, seeded)] == [
            False,
            True,
            True,
            False,
            False,
        ]
        assert second == replace(first, cached=True)

    def test_a_cached_answer_by_another_model_is_counted_too(self, cache: ReplyCache) -> None:
        async def count(url):
            async with Client(endpoint(url), cache=cache) as client:
                await client.complete(ASK)
                return dict(client.other_models)

        with serving(lambda _: Canned({**completion(), "model": "tiny-fallback"})) as (url, asked):
            assert [asyncio.run(count(url)) for _ in range(2)] == [{"tiny-fallback": 1}] * 2
        assert len(asked) == 1

    def test_the_reply_to_a_doubled_budget_lies_under_the_request_as_it_was(
        self, cache: ReplyCache
    ) -> None:
        with serving(play(Canned(completion(None)), Canned(completion()))) as (url, asked):
            first, second = complete(url, ASK, ASK, cache=cache)
        assert len(asked) == 2
        assert second.cached
        assert second.request == first.request

    @pytest.mark.parametrize(
        "bad", [busy(), Canned("{"), Canned({"error": "no"}, 400), Canned(completion(None))]
    )
    def test_failures_are_not_kept(self, cache: ReplyCache, bad: Canned) -> None:
        with serving(play(bad)) as (url, _):
            said_no = complete(url, cache=cache, retries=0)[0]
        assert isinstance(said_no, ModelError)
        with serving(play(Canned(completion()))) as (url, asked):
            assert complete(url, cache=cache)[0].cached is False
        assert len(asked) == 1

    def test_broken_logprobs_are_asked_for_again(self, cache: ReplyCache) -> None:
        broken = Canned(json.dumps(completion(logprobs=LOGPROBS)).replace("-0.5", "NaN"))
        with serving(play(broken, Canned(completion(logprobs=LOGPROBS)))) as (url, asked):
            found = complete(url, WITH_LOGPROBS, WITH_LOGPROBS, WITH_LOGPROBS, cache=cache)
        assert [one.cached for one in found] == [False, False, True]
        assert len(asked) == 2


async def run_with(asked: Endpoint, work: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
    async with Client(asked) as client:
        return await work(client)


def run_together(
    url: str, work: Callable[[Client], Coroutine[Any, Any, Any]], **options: Any
) -> Any:
    async def inside() -> Any:
        async with Client(endpoint(url), **options) as client:
            return await work(client)

    return asyncio.run(inside())


def test_a_call_that_waits_does_not_hold_a_place() -> None:
    """With room for one request, the second call is answered while the first one waits for its retry."""
    order = []

    async def work(client):
        async def ask(name, request):
            await client.complete(request)
            order.append(name)

        await asyncio.gather(ask("first", ASK), ask("second", replace(ASK, seed=1)))

    async def until_the_other_is_done(_):
        while not order:
            await asyncio.sleep(0.001)

    with serving(play(busy(), Canned(completion()))) as (url, _):
        run_together(url, work, concurrency=1, sleep=until_the_other_is_done)
    assert order == ["second", "first"]


def test_a_cancelled_call_ends_and_gives_its_place_back() -> None:
    async def work(client):
        task = asyncio.create_task(client.complete(ASK))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await client.complete(replace(ASK, seed=1))

    def slow_first(asked):
        if asked.number == 0:
            time.sleep(0.3)
        return Canned(completion())

    with serving(slow_first) as (url, _):
        assert run_together(url, work, concurrency=1).content == "A"
