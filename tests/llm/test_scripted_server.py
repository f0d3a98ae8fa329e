from __future__ import annotations

import asyncio
import json
import math
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from typing import Any

import pytest
from openai import OpenAI

from core.config import REPOSITORY
from core.errors import InputError
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.errors import ModelError, Refused, Truncated, Unanswered
from core.llm.logprobs import LetterProbabilities, letter_probabilities
from core.llm.messages import Message, Reply, Request
from core.llm.parsing import Unparsed
from core.llm.scripted_server import Faults, Script, request_counts, serving
from core.llm.scripted_text import read_prompt, scripted_probabilities
from core.net.server_access import ServerAccess

PROMPT = "A) up\nB) down\nC) none\nWhat does knockdown of {} do to Mmp14? Reply with <answer>letter</answer>."
RATE = 0.024


def request(number: int, **more: Any) -> Request:
    return Request("scripted", (Message("user", PROMPT.format(f"Gene{number}")),), seed=42, **more)


def outcomes(url: str, requests: list[Request], concurrency: int = 16, **limits: Any) -> list[Reply | ModelError]:
    async def one(client: Client, what: Request) -> Reply | ModelError:
        try:
            return await client.complete(what)
        except ModelError as error:
            return error

    async def ask() -> list[Reply | ModelError]:
        async with Client(Endpoint(url, backoff_s=0.001, **limits), concurrency=concurrency) as client:
            return await asyncio.gather(*(one(client, what) for what in requests))

    return asyncio.run(ask())


def contents(url: str, *requests: Request) -> list[str]:
    found = outcomes(url, list(requests))
    assert all(isinstance(one, Reply) for one in found), found
    return [one.content for one in found if isinstance(one, Reply)]


@pytest.mark.soak
def test_the_openai_package_is_served() -> None:
    with serving() as url, OpenAI(base_url=url, api_key="x", max_retries=0) as client:
        assert [model.id for model in client.models.list().data] == ["scripted"]
        found = client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": PROMPT}], seed=1, logprobs=True, top_logprobs=3
        )
    choice = found.choices[0]
    assert found.model == "scripted"
    assert choice.finish_reason == "stop"
    assert choice.logprobs is not None
    assert choice.logprobs.content is not None
    assert "".join(token.token for token in choice.logprobs.content) == choice.message.content
    assert all(len(token.top_logprobs) <= 3 for token in choice.logprobs.content)
    assert found.usage is not None
    assert found.usage.completion_tokens_details is not None
    assert 0 < (found.usage.completion_tokens_details.reasoning_tokens or 0) < found.usage.completion_tokens


@pytest.mark.soak
def test_the_same_requests_get_the_same_answers_and_other_seeds_others() -> None:
    requests = [request(number) for number in range(40)]
    with serving() as url:
        first, backwards = contents(url, *requests), contents(url, *requests[::-1])
    with serving(Script(seed=1)) as url:
        other = contents(url, *requests)
    assert first == backwards[::-1]
    assert first != other


@pytest.mark.soak
def test_seeds_of_a_request_count() -> None:
    with serving() as url:
        assert len(set(contents(url, *(Request("scripted", request(1).messages, seed=seed) for seed in range(40))))) == 3


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content", None])
def test_reasoning_under_either_name(name: Any) -> None:
    with serving(Script(reasoning=name)) as url:
        (reply,) = outcomes(url, [request(1)])
    assert isinstance(reply, Reply)
    assert bool(reply.reasoning) == (name is not None)
    assert (reply.usage.reasoning_tokens > 0) == (name is not None)


def test_reasoning_uses_up_the_budget_first() -> None:
    with serving() as url:
        (whole,) = outcomes(url, [request(1)])
        assert isinstance(whole, Reply)
        reasoning, all_ = whole.usage.reasoning_tokens, whole.usage.completion_tokens
        # Half of the reasoning, and twice that: no content. All but one token: cut; and twice that is enough.
        short, enough = outcomes(
            url, [request(1, max_completion_tokens=reasoning // 2), request(1, max_completion_tokens=all_ - 1)]
        )
    assert isinstance(short, Truncated)
    assert "no content" in str(short)
    assert isinstance(enough, Reply)
    assert (enough.content, enough.attempts) == (whole.content, 2)


def test_stop_strings_end_the_content() -> None:
    with serving() as url:
        (content,) = contents(url, request(1, stop=("</answer>",)))
        (whole,) = contents(url, request(1))
    assert whole == f"{content}</answer>"


def test_what_it_refuses() -> None:
    with serving(Script(api_key="sesame-sesame", max_model_len=50)) as url:
        (keyless,) = outcomes(url, [request(1)])
        long, other = outcomes(
            url,
            [request(1, max_completion_tokens=50), Request("gpt", request(1).messages)],
            access=ServerAccess.of(url, "sesame-sesame"),
        )
        assert contents(url) == []
    assert [type(one) for one in (keyless, long, other)] == [Refused] * 3
    assert "HTTP 401" in str(keyless)
    assert "maximum context length is 50" in str(long)
    assert "`gpt` does not exist, only `scripted`" in str(other)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("/v1/chat/completions", b"{", 400), ("/v1/chat/completions", b"[]", 400), ("/v1/else", b"{}", 404)],
)
def test_what_is_no_request(path: str, body: bytes, status: int) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with serving() as url, pytest.raises(urllib.error.HTTPError, match=f"HTTP Error {status}"):
        opener.open(urllib.request.Request(url.removesuffix("/v1") + path, data=body), timeout=5)


@pytest.mark.soak
def test_no_more_at_once_than_the_cap() -> None:
    with serving(Script(delay_s=0.02)) as url:
        outcomes(url, [request(number) for number in range(30)], concurrency=5)
        counts = request_counts(url)
    assert (counts["/v1/chat/completions"], counts["most at once"]) == (30, 5)


SAID = {
    "error": "HTTP 500 (Scripted: error.)",
    "unavailable": "HTTP 503",
    "busy": "HTTP 429",
    "busy_silent": "HTTP 429",
    "busy_absurd": "HTTP 429",
    "redirect": "HTTP 302, a redirect to http://127.0.0.1:9/login, which is not followed",
    "dropped": "the connection failed",
    "reset": "the connection failed",
    "wrong_length": "the answer broke off",
    "bad_chunks": "the connection failed",
    "huge": "an answer of more than 4,000,000 bytes",
    "bomb": "an answer of more than 4,000,000 bytes",
    "half": "no JSON",
    "null": "no choices",
    "html": "no JSON",
    "deep": "no JSON (nested too deeply)",
    "big_integer": "no JSON",
    "bad_utf8": "an answer that is not UTF-8",
    "no_choices": "no choices",
    "empty": "no content",
    "no_logprobs": "no log-probabilities of scripted",
    "hang": "no answer within 0.2 s",
    "drip": "no answer within 0.2 s",
}


@pytest.mark.few(26)
@pytest.mark.parametrize("fault", Faults.names())
def test_each_fault_alone(fault: str) -> None:
    """A server that always fails in one way gives a typed failure that says how, and no wrong answer."""
    script = Script(faults=Faults(**{fault: 1.0}), retry_after_s=0.01)
    with serving(script) as url:
        timeout_s = 0.2 if fault in ("hang", "drip") else 30.0
        [found] = outcomes(url, [request(1, top_logprobs=20)], retries=1, timeout_s=timeout_s)
        assert request_counts(url)[fault] == request_counts(url)["/v1/chat/completions"]
    if fault in SAID:
        assert isinstance(found, ModelError)
        assert SAID[fault] in str(found)
        final = fault in ("redirect", "huge", "bomb", "no_logprobs", "drip")  # a drip began in time: it would take as long again
        assert found.usage.attempts == (1 if final else 2)
    else:
        assert isinstance(found, Reply)
        assert found.logprobs is not None
        readable = fault in ("absurd_usage", "other_model")
        assert isinstance(letter_probabilities(found.logprobs, content=found.content), Unparsed) is not readable
        assert found.usage.uncounted == (fault == "absurd_usage")


@pytest.mark.soak
def test_waits_that_no_client_can_keep() -> None:
    script = Script(faults=Faults(busy_absurd=1.0))
    with serving(script) as url:
        found = outcomes(url, [request(number) for number in range(40)], retries=1, timeout_s=30.0)
    far = [one for one in found if "asks to wait 1,000,000,000 s, expected at most 120" in str(one)]
    assert {type(one) for one in found} == {Unanswered}
    assert 0 < len(far) < 40
    assert all(one.usage.attempts == (1 if one in far else 2) for one in found)


def test_a_seed_that_refuses_does_so_for_some_pairs_of_genes_and_however_often_it_is_asked() -> None:
    requests = [Request("scripted", request(number).messages, seed=seed) for number in range(40) for seed in (42, 43)]
    with serving(Script(refusing_seed=43, refused=0.3)) as url:
        first, again = contents(url, *requests), contents(url, *requests)
    with serving() as url:
        right = contents(url, *requests)
    assert first == again
    refusals = [content != good for content, good in zip(first, right, strict=True)]
    assert not any(refusals[::2])
    assert 3 < sum(refusals[1::2]) < 25


def test_shares_of_faults_that_are_none() -> None:
    with pytest.raises(InputError, match=r"sum to 1\.35, expected at most 1"):
        Faults.each(0.05)
    assert Faults.each(0.5, "error", "busy") == Faults(error=0.5, busy=0.5)


@pytest.mark.soak
def test_with_every_fault_now_and_then_each_row_is_right_or_a_typed_failure() -> None:
    """Faults that end an answer after seconds are left out: they have tests of their own."""
    quick = [name for name in Faults.names() if name not in ("hang", "drip")]
    script = Script(faults=Faults.each(RATE, *quick), retry_after_s=0.01)
    requests = [request(number, max_completion_tokens=500, top_logprobs=20) for number in range(250)]
    with serving(script) as url:
        found = Counter(map(verdict, outcomes(url, requests, concurrency=64, retries=3, timeout_s=60.0)))
        counts = request_counts(url)
    assert set(found) <= {"right", "no letter", "no number", "Truncated", "Unanswered", "Malformed", "NoLogprobs", "Refused"}
    assert found["right"] > 0.6 * len(requests)
    assert all(counts[name] > 0 for name in quick)
    assert counts["/v1/chat/completions"] > len(requests)


@pytest.mark.soak
def test_faults_do_not_depend_on_the_order_of_the_requests() -> None:
    faults = Faults(error=0.1, busy=0.1, dropped=0.1, half=0.1, empty=0.1, not_finite=0.1, wrong_format=0.1)
    requests = [request(number, top_logprobs=20) for number in range(60)]
    runs = []
    for order, concurrency in ((1, 1), (-1, 16)):
        with serving(Script(faults=faults, retry_after_s=0.01)) as url:
            found = outcomes(url, requests[::order], concurrency=concurrency, retries=2)[::order]
            runs.append(([(verdict(one), one.usage.attempts) for one in found], request_counts(url) | {"most at once": 0}))
    assert runs[0] == runs[1]


def verdict(found: Reply | ModelError) -> str:
    """Whether a row is right: its probabilities are those that the server drew; else why there are none."""
    if isinstance(found, ModelError):
        assert found.usage.attempts > 0
        return type(found).__name__
    assert found.logprobs is not None
    letters = letter_probabilities(found.logprobs, content=found.content)
    if isinstance(letters, Unparsed):
        return "no number" if "has no log-probability" in letters.reason else "no letter"
    assert isinstance(letters, LetterProbabilities)
    assert letters.probabilities == pytest.approx(scripted_probabilities(read_prompt(json.loads(found.request), 0)))
    assert math.isclose(sum(letters.probabilities.values()), 1)
    return "right"


def test_it_ends_while_clients_hang() -> None:
    body = request(1).text.encode()
    with serving(Script(faults=Faults(hang=1.0))) as url:
        port = int(url.removesuffix("/v1").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            while request_counts(url).get("hang") != 1:
                time.sleep(0.005)
            hanging = client.dup()
    with hanging:
        assert hanging.recv(100) == b""  # the server has left
    (gone,) = outcomes(url, [request(1)], retries=0)
    assert isinstance(gone, Unanswered)


@pytest.mark.soak
def test_as_a_command() -> None:
    command = [sys.executable, "-m", "core.llm.scripted_server", "--port", "0", "--seed", "0"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().split()[1]
            with serving() as own:
                assert contents(url, request(1)) == contents(own, request(1))
        finally:
            process.terminate()


def test_as_a_command_on_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "core.llm.scripted_server", "--port", port]
        found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=30)
    assert found.returncode == 1
    assert found.stderr.startswith(f"port {port}: cannot be served")
