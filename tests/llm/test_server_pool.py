"""Which of several servers is asked, which rests and for how long, and what a client makes of their faults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import InputError
from core.base.net.server_access import ServerAccess
from core.llm import server_pool
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.errors import ModelError, Refused
from core.llm.messages import Message, Reply, Request
from core.llm.server_pool import ServerPool
from tests.fakes.http_server import (
    Answer,
    ReceivedRequest,
    ServerResponse,
    json_response,
    serve_in_thread,
)
from tests.fakes.scripted import MODEL, Script, request_counts, serving
from tests.features.predicting.test_serve import free_port

LIMITS = Endpoint("http://127.0.0.1:9/v1", timeout_s=10.0, backoff_s=0.01, longest_backoff_s=0.05)
LETTER = {"token": "A", "logprob": -0.1, "bytes": [65], "top_logprobs": []}
NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools that look after their servers more often than runs do."""
    for name, seconds in {
        "REST_S": 0.05,
        "LONGEST_REST_S": 0.2,
        "CHECK_S": 1.0,
        "WATCH_S": 0.02,
    }.items():
        monkeypatch.setattr(server_pool, name, seconds)


def request(i: int) -> Request:
    text = f"Question {i}? <answer>X</answer> A) up B) down C) none"
    return Request(MODEL, (Message("user", text),), max_completion_tokens=200)


def refusing(status: int) -> Answer:
    """A server that passes the check, and answers everything else with this status."""

    async def answer(received: ReceivedRequest, _reader: object) -> ServerResponse:
        if received.path == "/v1/models":
            return json_response(200, {"data": [{"id": MODEL, "max_model_len": 131_072}]})
        if b"single letter" in received.body:  # of the check
            content = {
                "message": {"content": "A"},
                "finish_reason": "stop",
                "logprobs": {"content": [LETTER]},
            }
            return json_response(200, {"model": MODEL, "choices": [content], "usage": {}})
        return json_response(status, {"error": {"message": "not today"}})

    return answer


def ask(
    servers: str, use: Callable[[Client, ServerPool], Awaitable[Any]], concurrency: int = 6
) -> tuple[Any, list[str]]:
    """What `use` returns of a client of these servers, and the lines that the pool said."""
    said = []

    async def run() -> Any:
        pool = ServerPool(servers, LIMITS, MODEL, concurrency, said.append)
        async with Client(LIMITS, concurrency=concurrency, servers=pool) as client:
            return await use(client, pool)

    return asyncio.run(run()), said


async def ask_many(client: Client, number: int = 60) -> list[Reply | BaseException]:
    return list(
        await asyncio.gather(
            *(client.complete(request(i)) for i in range(number)), return_exceptions=True
        )
    )


@pytest.mark.soak
def test_the_server_with_the_fewest_requests_is_asked() -> None:
    with serving(Script(delay_s=0.01)) as fast, serving(Script(delay_s=0.1)) as slow:

        async def use(client, pool):
            return await ask_many(client), pool.states

        (replies, statuses), _ = ask(f"{fast},{slow}", use)
    assert all(isinstance(reply, Reply) for reply in replies)
    done = {status.address: status.done for status in statuses}
    assert sum(done.values()) == 60
    assert done[fast] > done[slow] > 0
    assert sum(s.tokens for s in statuses) == sum(
        r.usage.prompt_tokens + r.usage.completion_tokens for r in replies
    )


def test_a_server_that_fails_rests_and_its_requests_go_elsewhere() -> None:
    with (
        serving(Script(delay_s=0.02)) as well,
        serve_in_thread(refusing(500), "refusing") as address,
    ):
        broken = f"{address}/v1"

        async def use(client, pool):
            await client.complete(request(99))
            while any(s.state == "checking" for s in pool.states):
                await asyncio.sleep(0.01)
            outcomes = []
            client.on_call = outcomes.append
            replies = await ask_many(client)
            return replies, outcomes, {s.address: s for s in pool.states}

        (replies, outcomes, statuses), said = ask(f"{well},{broken}", use)
    assert all(isinstance(reply, Reply) for reply in replies)
    assert (
        outcomes.count("asked") == len(outcomes) / 2
    )  # each request has one outcome, wherever it was sent
    assert (statuses[well].done, statuses[broken].done) == (61, 0)
    assert statuses[broken].failed >= outcomes.count("failed") > 2
    assert (
        f"server {broken}: resting: 3 faults in succession, the last: HTTP 500 (not today)"
        in "\n".join(said)
    )


@pytest.mark.soak
def test_a_refusal_of_one_server_alone_is_retried_elsewhere_and_one_of_all_is_final() -> None:
    async def use(client, _pool):
        return await ask_many(client, 12)

    with serve_in_thread(refusing(404), "refusing") as other, serving() as well:
        replies, _ = ask(f"{well},{other}/v1", use)
    assert all(isinstance(reply, Reply) for reply in replies)
    with (
        serving(Script(max_model_len=50)) as one,
        serving(Script(max_model_len=50)) as two,
    ):  # shorter than the requests
        replies, _ = ask(f"{one},{two}", use)
        assert (
            request_counts(one)["/v1/chat/completions"]
            + request_counts(two)["/v1/chat/completions"]
            == 12 + 2
        )
    assert {type(reply) for reply in replies} == {Refused}


def test_rests_grow_and_a_request_waits_for_the_first_server_that_comes() -> None:
    port = free_port()

    async def use(client, pool):
        asking = asyncio.create_task(client.complete(request(0)))
        while not pool.notice:
            await asyncio.sleep(0.01)
        notice = pool.notice
        assert not asking.done()
        async with AsyncExitStack() as stack:
            url = await asyncio.to_thread(stack.enter_context, serving(port=port))
            reply = await asking
            return notice, url, reply, pool.notice, pool.waited_s

    (notice, url, reply, after, waited_s), said = ask(f"{NOBODY},http://127.0.0.1:{port}/v1", use)
    assert notice.startswith(
        f"waiting for a server, none of 2 can be used: {NOBODY}: the connection failed"
    )
    assert isinstance(reply, Reply)
    assert f"server {url}: ready, after the connection failed" in "\n".join(said)
    assert (
        len([line for line in said if line.startswith(f"server {NOBODY}: resting")]) == 1
    )  # and not at every rest
    assert (after, waited_s) == ("", 0.0) or waited_s < 1


def test_the_first_listed_server_decides_what_is_served_whichever_is_faster() -> None:
    async def use(client, pool):
        await ask_many(client, 6)
        while any(
            s.state in ("checking", "resting") for s in pool.states
        ):  # one that answers late on a busy machine rests first
            await asyncio.sleep(0.01)
            await ask_many(client, 1)
        return {s.address: s.state for s in pool.states}

    with serving(Script(delay_s=0.3)) as slow, serving(Script(max_model_len=4096)) as fast:
        states, said = ask(f"{slow},{fast}", use)
    assert states == {slow: "ready", fast: "refused"}
    expected = f"server {fast}: refused: has a longest context of 4,096 tokens, expected 131,072 tokens as at {slow}"
    assert said.count(expected) == 1


def test_a_first_server_without_the_model_is_compared_with_no_other() -> None:
    async def answer(_received, _reader):
        return json_response(200, {"data": [{"id": "other"}]})

    async def use(client, _pool):
        return await ask_many(client, 6)

    with serve_in_thread(answer, "other") as address, serving() as well:
        replies, said = ask(f"{address}/v1,{well}", use)
    assert all(isinstance(reply, Reply) for reply in replies)
    assert said.count(f"server {address}/v1: refused: serves other, expected {MODEL}") == 1


def test_a_pool_without_an_address_is_refused() -> None:
    with pytest.raises(InputError, match="holds no address"):
        ServerPool(",", LIMITS, MODEL, 1, print)
    assert issubclass(Refused, ModelError)


def test_an_unlisted_server_in_a_file_that_is_read_again_is_never_asked(tmp_path: Path) -> None:
    file = tmp_path / "servers.txt"
    asked = []

    async def count(received, _reader):
        asked.append(received.path)
        return json_response(200, {"data": []})

    async def use(pool, said, stranger):
        async with Client(LIMITS, servers=pool) as client:
            await client.complete(request(1))
            file.write_text(f"{listed}\n{stranger}\n")
            while not any(f"{stranger}: is not among the model servers" in line for line in said):
                await asyncio.sleep(0.01)
            await client.complete(request(2))
            return tuple(state.address for state in pool.states)

    with serving(Script()) as listed, serve_in_thread(count, "stranger") as stranger:
        file.write_text(f"{listed}\n")
        endpoint = replace(LIMITS, access=ServerAccess(listed=(listed,), only_listed=True))
        said = []

        async def run():
            return await use(
                ServerPool(str(file), endpoint, MODEL, 2, said.append), said, f"{stranger}/v1"
            )

        assert asyncio.run(asyncio.wait_for(run(), 30)) == (listed,)
    assert asked == []
