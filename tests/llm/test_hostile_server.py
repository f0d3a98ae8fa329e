"""Whatever a hostile server sends, a call ends in time, as a reply or an error of a known kind, and nothing is read any further.

soak/test_faulty.py sends all of it, to workers in processes of their own.
"""

from __future__ import annotations

import asyncio

import pytest

from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.errors import Malformed, ModelError, Unanswered
from core.llm.health import check_health
from core.llm.messages import Message, Reply, Request
from tests import hostile_server
from tests.hostile_server import BODIES, HEAVY, RIGHT, SLOW, STREAMS

TIMEOUT_S = 1.0
QUICK = [mode for mode in STREAMS if mode not in HEAVY]
TIMED = [*SLOW, "bodydrip", "continues"]


def outcomes(
    url: str, modes: list[str], timeout_s: float, *, streamed: bool, retries: int = 1
) -> dict[str, Reply | ModelError]:
    async def one(mode: str) -> Reply | ModelError:
        async with Client(
            Endpoint(f"{url}/{mode}/v1", timeout_s=timeout_s, retries=retries, backoff_s=0.001)
        ) as client:
            try:
                return await client.complete(
                    Request("m", (Message("user", mode),)), (lambda _: None) if streamed else None
                )
            except ModelError as error:
                return error

    async def all_of_them() -> list[Reply | ModelError]:
        return await asyncio.gather(*map(one, modes))

    return dict(zip(modes, asyncio.run(all_of_them()), strict=True))


def test_a_stream_is_right_or_refused_by_name() -> None:
    with hostile_server.serving() as url:
        found = outcomes(url, QUICK, 60.0, streamed=True)
    assert {mode for mode, outcome in found.items() if isinstance(outcome, Reply)} == set(
        RIGHT
    ) - set(HEAVY)
    errors = {
        mode: outcome
        for mode, outcome in found.items()
        if isinstance(outcome, ModelError) and mode != "deepvalue"
    }
    assert {type(error) for error in errors.values()} == {Malformed}
    assert "in one line of a stream" in str(found["giantline"])
    assert errors["giantline"].usage.attempts == 1  # a longer one would come again
    assert errors["midjson"].usage.attempts == 2


@pytest.mark.soak
def test_an_answer_that_begins_and_does_not_end_is_given_up_in_time() -> None:
    with hostile_server.serving() as url:
        found = outcomes(
            url, TIMED, TIMEOUT_S, streamed=True, retries=9
        )  # for where nothing comes in time on a busy machine
    for mode, error in found.items():
        assert isinstance(error, Unanswered), mode
        assert f"no answer within {TIMEOUT_S:g} s" in str(error)
        assert mode == "continues" or "with 0 characters of content" in str(error)


@pytest.mark.soak
def test_a_body_is_cut_whether_a_stream_is_asked_for_or_not() -> None:
    modes = ["hugebody", "headers", "longheader", "trailers", "hugeerror"]
    assert set(modes) <= set(BODIES)
    with hostile_server.serving() as url:
        for streamed in (True, False):
            found = outcomes(url, modes, 60.0, streamed=streamed, retries=0)
            assert "an answer of more than 4,000,000 bytes" in str(found["hugebody"])
            assert "HTTP 500" in str(found["hugeerror"])
            assert len(str(found["hugeerror"])) < 1_000
            assert {mode for mode in modes if isinstance(found[mode], Unanswered)} == set(modes) - {
                "hugebody"
            }


def test_a_list_of_models_without_an_end_is_cut() -> None:
    with hostile_server.serving() as url:
        health = asyncio.run(check_health(Endpoint(f"{url}/models/v1")))
    assert "an answer of more than 4,000,000 bytes" in health.problem


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["hugebody", "endless"])
def test_nothing_is_downloaded_once_an_answer_is_given_up(mode: str) -> None:
    """The server stops sending while the client is still there, since its connection is closed."""

    async def ask(url):
        async with Client(Endpoint(f"{url}/{mode}/v1", timeout_s=TIMEOUT_S, retries=0)) as client:
            with pytest.raises(ModelError):
                await client.complete(Request("m", (Message("user", mode),)), lambda _: None)
            while hostile_server.OPEN:
                await asyncio.sleep(0.01)

    with hostile_server.serving() as url:
        asyncio.run(asyncio.wait_for(ask(url), 30.0))
