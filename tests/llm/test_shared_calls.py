"""Clients of other processes that share the cache, the places and the servers of one; here the link is a queue of pickled
messages."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.llm.answers import Answer
from core.llm.client import Client, ReplyCache
from core.llm.endpoint import Endpoint
from core.llm.errors import ModelError
from core.llm.kept_answer import TokenCounter
from core.llm.messages import Message, Outcome, Request, Usage
from core.llm.remote_client import Answered, CallMessage, EndExchange, RemoteClient, TakeServer
from core.llm.server_pool import PoolTimes, ServerPool
from core.llm.shared_calls import ConnectedProcess, SharedCalls
from core.net.retry import Fault
from tests.fakes.scripted import MODEL, Script, request_counts, serving
from tests.llm.canned import Canned, completion
from tests.llm.canned import serving as canned
from tests.llm.test_serve import free_port

SOON = PoolTimes(rest_s=0.05, longest_rest_s=0.2, check_s=1.0, silence_s=0.2, watch_s=0.02)


def request(i: int) -> Request:
    text = f"Question {i}? <answer>X</answer> A) up B) down C) none"
    return Request(MODEL, (Message("user", text),), max_completion_tokens=200)


class Process:
    """A client beside the one that has everything; what they tell each other arrives a little later, in order."""

    def __init__(self, shared: SharedCalls, *, is_cached: bool = True, concurrency: int = 8) -> None:
        self.seen: list[CallMessage] = []
        self.connected: ConnectedProcess = shared.connect(self._answer)
        self.client = RemoteClient(shared.client.endpoint, concurrency, self, is_cached=is_cached)

    def tell(self, message: CallMessage) -> None:
        self.seen.append(message)
        asyncio.get_running_loop().call_later(0.001, self.connected.take, pickle.loads(pickle.dumps(message)))

    def _answer(self, answered: Answered) -> None:
        asyncio.get_running_loop().call_later(0.001, self.client.take, pickle.loads(pickle.dumps(answered)))


@asynccontextmanager
async def processes(
    number: int, url: str, cache: Path | None = None, concurrency: int = 8
) -> AsyncIterator[tuple[list[Process], list[Outcome], Client]]:
    """So many processes that share a client of one server; what they spend; and that client."""
    spent: list[Outcome] = []
    endpoint = Endpoint(url, timeout_s=10.0, retries=3, backoff_s=0.01, longest_backoff_s=0.05)
    async with Client(endpoint, concurrency=concurrency, cache=ReplyCache(cache) if cache else None) as client:
        client.on_call = spent.append
        shared = SharedCalls(client)
        made = [Process(shared, is_cached=cache is not None) for _ in range(number)]
        async with AsyncExitStack() as stack:
            for process in made:
                await stack.enter_async_context(process.client)
            yield made, spent, client


def run(use: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(use(), 30))  # type: ignore[arg-type]


@pytest.mark.soak
def test_all_processes_together_keep_to_the_number_of_places_and_count_every_request() -> None:
    with serving(Script(delay_s=0.02)) as url:

        async def use() -> list[Outcome]:
            async with processes(3, url, concurrency=4) as (made, spent, _):
                await asyncio.gather(*(made[i % 3].client.complete(request(i)) for i in range(30)))
                await asyncio.sleep(0.05)
                return spent

        spent = run(use)
        counts = request_counts(url)
    assert counts["answers"] == 30
    assert counts["most at once"] == 4
    assert spent.count("asked") == 30
    usages = [outcome for outcome in spent if isinstance(outcome, Usage)]
    assert sum(usage.prompt_tokens + usage.completion_tokens for usage in usages) == counts["tokens"]


def test_a_reply_is_asked_for_once_and_kept_by_the_process_that_has_the_cache(tmp_path: Path) -> None:
    with serving(Script(delay_s=0.05)) as url:

        async def use() -> tuple[Any, Any, Client]:
            async with processes(2, url, tmp_path / "llm.sqlite") as (made, _, client):
                both = await asyncio.gather(*(process.client.complete(request(1)) for process in made))
                return both, await made[1].client.complete(request(1)), client

        (first, second), third, client = run(use)
        assert request_counts(url)["answers"] == 1
    assert sorted((first.cached, second.cached, third.cached)) == [False, True, True]
    assert first.content == second.content == third.content
    assert client.cache is not None
    kept = client.cache.get(request(1).key)
    assert kept is not None
    assert kept.content == first.content


def test_what_a_dead_process_holds_is_free_again(tmp_path: Path) -> None:
    with serving(Script(delay_s=0.3)) as url:

        async def use() -> tuple[Any, int]:
            async with processes(2, url, tmp_path / "llm.sqlite", concurrency=1) as ((dying, other), spent, _):
                lost = asyncio.create_task(dying.client.complete(request(1)))
                await asyncio.sleep(0.1)  # it holds the only place, and the key
                asked = asyncio.create_task(other.client.complete(request(1)))
                await asyncio.sleep(0.05)
                dying.connected.close()
                reply = await asked
                lost.cancel()
                return reply, spent.count("asked")

        reply, asked = run(use)
    assert not reply.cached
    assert asked == 2


def test_a_call_that_is_not_wanted_any_more_gives_its_place_and_its_key_back(tmp_path: Path) -> None:
    with serving(Script(delay_s=0.2)) as url:

        async def use() -> Any:
            async with processes(2, url, tmp_path / "llm.sqlite", concurrency=1) as ((one, other), _, client):
                calls = [asyncio.create_task(one.client.complete(request(i))) for i in (1, 1, 2, 3)]
                await asyncio.sleep(0.1)  # the first is being answered; one waits for it, two wait for its place
                for call in calls:
                    call.cancel()
                reply = await other.client.complete(request(1))
                await asyncio.sleep(0.05)
                return reply, client.slots._value

        reply, free = run(use)
    assert reply.content
    assert free == 1


@pytest.mark.soak
def test_a_fault_is_counted_where_the_servers_are_and_the_request_retried_elsewhere() -> None:
    said: list[str] = []
    with serving(Script(delay_s=0.005)) as url:
        nobody = f"http://127.0.0.1:{free_port()}/v1"

        async def use() -> Any:
            limits = Endpoint("http://127.0.0.1:9/v1", timeout_s=10.0, backoff_s=0.01, longest_backoff_s=0.05)
            pool = ServerPool(f"{url},{nobody}", limits, MODEL, connections=4, say=said.append, times=SOON)
            async with Client(limits, concurrency=4, servers=pool) as client:
                process = Process(SharedCalls(client), is_cached=False)
                async with process.client:
                    await asyncio.gather(*(process.client.complete(request(i)) for i in range(20)))
                await asyncio.sleep(0.05)
                return pool.statuses

        statuses = {status.address: status for status in run(use)}
    assert (statuses[url].done, statuses[url].in_flight, statuses[nobody].in_flight) == (20, 0, 0)


def test_a_server_that_goes_silent_is_given_up_in_the_other_process_too() -> None:
    with serving(Script(delay_s=0.005)) as url, serving(Script(delay_s=0.005)) as other:

        async def use() -> Any:
            limits = Endpoint("http://127.0.0.1:9/v1", timeout_s=20.0, backoff_s=0.01, longest_backoff_s=0.05)
            pool = ServerPool(f"{url},{other}", limits, MODEL, connections=4, times=SOON)
            async with Client(limits, concurrency=4, servers=pool) as client:
                process = Process(SharedCalls(client), is_cached=False)
                async with process.client:
                    await process.client.complete(request(0))
                    waiting = asyncio.Event()
                    send = process.client._lent._transport(url).send

                    async def hold(*_: Any, **__: Any) -> str:
                        waiting.set()
                        await asyncio.sleep(60)
                        raise AssertionError("never answered")

                    process.client._lent._transport(url).send = hold  # type: ignore[method-assign]
                    asked: list[asyncio.Task[Any]] = []
                    while not waiting.is_set():  # a busy machine may have taken this server for gone: then the other answers
                        asked.append(asyncio.create_task(process.client.complete(request(len(asked) + 1))))
                        await asyncio.sleep(0.01)
                    process.client._lent._transport(url).send = send  # type: ignore[method-assign]
                    pool._servers[url].give_up_requests()
                    return await asyncio.gather(*asked)

        replies = run(use)
    assert all(reply.content for reply in replies)


GONE = Fault("unanswered", "the connection failed", retryable=True)


@asynccontextmanager
async def pooled(*urls: str) -> AsyncIterator[tuple[SharedCalls, ServerPool, list[Outcome]]]:
    """Calls that are shared over several servers, and what they spend."""
    spent: list[Outcome] = []
    limits = Endpoint("http://127.0.0.1:9/v1", timeout_s=20.0, backoff_s=0.01, longest_backoff_s=0.05)
    pool = ServerPool(",".join(urls), limits, MODEL, connections=4, times=SOON)
    async with Client(limits, concurrency=4, servers=pool) as client:
        client.on_call = spent.append
        yield SharedCalls(client), pool, spent


def give_up(pool: ServerPool, address: str) -> None:
    """As of a server that answers nothing, not even a check, and does not come back."""
    server = pool._servers[address]
    server.state, server.until = "resting", float("inf")
    server.give_up_requests()


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("is_silent", [False, True])
def test_a_process_that_hears_at_once_of_a_server_and_of_its_end_asks_another(is_silent: bool) -> None:
    with serving() as one, serving() as other:

        async def use() -> Any:
            async with pooled(one, other) as (shared, pool, spent):
                process, held = Process(shared, is_cached=False), []
                async with process.client:
                    process.connected._tell = held.append
                    asked = asyncio.create_task(process.client.complete(request(1)))
                    await until(lambda: len(held) == 1)
                    give_up(pool, held[0].value)
                    await until(lambda: len(held) == 2)

                    async def send(*_: Any, **__: Any) -> Fault:
                        await asyncio.sleep(60 if is_silent else 0)
                        return GONE

                    process.client._lent._transport(held[0].value).send = send  # type: ignore[method-assign]
                    process.connected._tell = process._answer
                    for answered in held:
                        process.client.take(answered)
                    return (await asyncio.wait_for(asked, 10)).content, [answered.value for answered in held], spent

        content, (address, fault), spent = run(use)
    assert content
    assert address in (one, other)
    assert isinstance(fault, Fault)
    assert (spent.count("asked"), spent.count("failed")) == (2, 1)


def test_a_fault_of_a_server_that_was_given_up_is_answered_and_counted_once() -> None:
    with serving() as url:

        async def use() -> Any:
            async with pooled(url, f"http://127.0.0.1:{free_port()}/v1") as (shared, pool, spent):
                answers: list[Answered] = []
                connected = shared.connect(answers.append)
                connected.take(TakeServer(1))
                await until(lambda: len(answers) == 1)
                give_up(pool, url)
                await until(lambda: len(answers) == 2)
                connected.take(EndExchange(1, GONE))  # from a process that missed it
                return answers, spent

        answers, spent = run(use)
    assert [type(answered.value) for answered in answers] == [str, Fault, Fault]
    assert {answered.number for answered in answers} == {1}
    assert spent == ["asked", "failed"]


def test_a_call_is_counted_before_the_next_message_is_read() -> None:
    """The next one may say that the row is finished, after which the budget is looked at."""
    usage = Usage(prompt_tokens=30, completion_tokens=12)
    with serving() as url:

        async def use() -> Any:
            async with pooled(url, f"http://127.0.0.1:{free_port()}/v1") as (shared, pool, spent):
                answers: list[Answered] = []
                connected = shared.connect(answers.append)
                for number in (1, 2):
                    connected.take(TakeServer(number, is_call=number == 1))
                await until(lambda: len(answers) == 2)
                for number in (1, 2):
                    connected.take(EndExchange(number, Answer(None, "", "stop", usage, None)))
                at_once = list(spent)
                await until(lambda: not pool._servers[url].in_flight)
                return at_once, spent, pool._servers[url].tokens

        at_once, spent, tokens = run(use)
    assert at_once == spent == ["asked", usage]  # the second was no call
    assert tokens == 42


def test_the_error_of_a_call_is_raised_where_the_row_is() -> None:
    async def use() -> list[Outcome]:
        async with processes(1, f"http://127.0.0.1:{free_port()}/v1") as ([process], spent, _):
            with pytest.raises(ModelError, match="gave up after 4 attempts"):
                await process.client.complete(request(1))
            await asyncio.sleep(0.02)
            return spent

    assert run(use) == ["asked", "failed"] * 4


def test_a_count_of_tokens_takes_a_place_and_is_no_call() -> None:
    with serving() as url:

        async def use() -> Any:
            async with processes(1, url) as ([process], spent, client):
                counted = await TokenCounter(process.client, MODEL).count("Two words")
                await asyncio.sleep(0.02)
                return counted, spent, client.slots._value

        counted, spent, free = run(use)
    assert counted.counted_by == "server"
    assert spent == []
    assert free == 8


def test_answers_by_another_model_are_counted_where_the_servers_are() -> None:
    with canned(lambda _: Canned({**completion(), "model": "tiny-fallback"})) as (url, _):

        async def use() -> dict[str, int]:
            async with processes(2, url) as (made, _, client):
                await asyncio.gather(*(process.client.complete(request(i)) for i, process in enumerate(made)))
                await asyncio.sleep(0.05)
                return dict(client.other_models)

        assert run(use) == {"tiny-fallback": 2}
