from __future__ import annotations

import asyncio
import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from httpx2 import AsyncClient, Response
from openai import AsyncOpenAI, DefaultAioHttpClient

from core.base.errors import InputError
from core.base.net.retry import Fault
from core.base.net.server_access import ServerAccess
from core.llm.call_settings import CallSettings
from core.llm.endpoint import Endpoint, ModelTransport
from core.llm.messages import Message, Request
from tests.fakes.http_server import (
    RawResponse,
    ReceivedRequest,
    ServerResponse,
    serve_in_thread,
)
from tests.llm.canned import KEY, Canned, serving

URL = "http://127.0.0.1:8000/v1"
ODD_KEY = 'sk-a/b"c\\d'


def test_the_key_is_not_in_the_repr() -> None:
    assert "sk-" not in repr(Endpoint(URL, ServerAccess.of(URL, ODD_KEY)))


def test_scrub_takes_the_key_out_however_it_is_spelled() -> None:
    endpoint = Endpoint(URL, ServerAccess.of(URL, ODD_KEY))
    in_json = json.dumps(ODD_KEY)[1:-1]
    for spelled in (ODD_KEY, in_json, in_json.replace("/", "\\/"), quote(ODD_KEY, safe="")):
        assert endpoint.scrub(f"wrong key <{spelled}>.") == "wrong key <[key]>."


@pytest.mark.parametrize("key", ["", "EMPTY", "none"])
def test_placeholders_are_no_secrets(key: str) -> None:
    assert Endpoint(URL, ServerAccess.of(URL, key)).scrub("EMPTY, none") == "EMPTY, none"


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8000/v1",
        "http://me:open-sesame@127.0.0.1/v1",
    ],
)
def test_addresses_that_are_none_or_hold_a_secret(url: str) -> None:
    with pytest.raises(InputError) as caught:
        Endpoint(url)
    assert "endpoint: " in str(caught.value)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-sesame\n", "sk sesame", "sk-sésame", "sk-sesame\x00"])
def test_keys_that_no_header_can_carry_are_not_shown(key: str) -> None:
    with pytest.raises(InputError, match="endpoint: the key holds") as caught:
        Endpoint(URL, ServerAccess.of(URL, key))
    assert "same" not in str(caught.value)


def send(
    url: str, path: str = "/chat/completions", body: str | None = "{}", **limits: Any
) -> str | Fault:
    async def once() -> str | Fault:
        transport = ModelTransport(Endpoint(url, ServerAccess.of(url, KEY), **limits), 1)
        try:
            return await transport.send("POST" if body is not None else "GET", path, body)
        finally:
            await transport.close()

    return asyncio.run(once())


def test_the_body_goes_out_as_it_is_with_the_key() -> None:
    with serving(lambda _: Canned({"ok": "ja ✓"})) as (url, asked):
        assert send(url, body='{"a":"„ü“"}') == '{"ok": "ja \\u2713"}'
        assert send(url, "/models", None) == '{"ok": "ja \\u2713"}'
        assert send(url, f"{url.removesuffix('/v1')}/tokenize", "1") == '{"ok": "ja \\u2713"}'
    assert [(a.path, a.body, a.key) for a in asked] == [
        ("/v1/chat/completions", {"a": "„ü“"}, f"Bearer {KEY}"),
        ("/v1/models", None, f"Bearer {KEY}"),
        ("/tokenize", 1, f"Bearer {KEY}"),
    ]


def test_nobody_listens() -> None:
    with serving(lambda _: Canned("")) as (url, _):
        pass
    found = send(url)
    assert isinstance(found, Fault)
    assert (found.kind, found.retryable, found.status) == ("unanswered", True, None)
    assert found.message.startswith("the connection failed (")


def test_keys_of_the_environment_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")

    async def once(url):
        transport = ModelTransport(Endpoint(url), 1)
        await transport.send("GET", "/models")
        await transport.close()

    with serving(lambda _: Canned({})) as (url, asked):
        asyncio.run(once(url))
    assert asked[0].key is None


def test_requests_are_those_of_the_openai_package_and_made_from_one_pattern(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    built = []
    build = AsyncClient.build_request

    def build_request(self, method, url, **options):
        built.append(str(url))
        return build(self, method, url, **options)

    async def answer(request, _):
        seen.append(request)
        return ServerResponse(200, b"{}")

    async def send_all(url):
        calls = CallSettings(extra_headers='{"X-Team": "b"}', api_version="2026-01-01")
        endpoint = Endpoint(url, ServerAccess.of(url, KEY), calls=calls)
        async with AsyncOpenAI(
            base_url=url,
            api_key=KEY,
            default_headers=calls.headers,
            default_query={"api-version": calls.api_version},
            http_client=DefaultAioHttpClient(),
        ) as package:
            await package.post("/chat/completions", cast_to=Response, content=b"{}")
            await package.get("/models", cast_to=Response)
        monkeypatch.setattr(AsyncClient, "build_request", build_request)
        transport = ModelTransport(endpoint, 2)
        for _ in range(2):
            assert await transport.send("POST", "/chat/completions", "{}") == "{}"
            assert await transport.send("GET", "/models") == "{}"
        await transport.close()

    with serve_in_thread(answer, "package") as address:
        asyncio.run(send_all(f"{address}/v1"))
        assert built == [f"{address}/v1/chat/completions", f"{address}/v1/models"]
    of_the_package = ("x-stainless-retry-count", "x-stainless-read-timeout")  # of its own retries
    sent = [
        (
            request.method,
            request.path,
            request.body,
            {name: text for name, text in request.headers.items() if name not in of_the_package},
        )
        for request in seen
    ]
    assert sent == sent[:2] * 3
    assert sent[0][1] == "/v1/chat/completions?api-version=2026-01-01"
    assert sent[0][3]["x-team"] == "b"


def test_connections_are_kept_and_no_more_than_requests_at_a_time() -> None:
    connections = []

    async def answer(_, reader):
        if reader not in connections:
            connections.append(reader)
        await asyncio.sleep(0.05)
        return ServerResponse(200, b"{}")

    async def send_all(url):
        transport, used = ModelTransport(Endpoint(url), 3), []
        for at_once in (1, 1, 3, 1, 3):
            each = (transport.send("POST", "/x", "{}") for _ in range(at_once))
            assert await asyncio.gather(*each) == ["{}"] * at_once
            used.append(len(connections))
        await transport.close()
        return used

    with serve_in_thread(answer, "connections") as address:
        assert asyncio.run(send_all(f"{address}/v1")) == [1, 1, 3, 3, 3]


def head(*lines: bytes, status: bytes = b"200 OK") -> bytes:
    """The head of a response with these header lines."""
    return (
        b"".join(line + b"\r\n" for line in (b"HTTP/1.1 " + status, b"Connection: close", *lines))
        + b"\r\n"
    )


TEXT = b'{"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}'
LENGTH = b"Content-Length: %d" % len(TEXT)
CHUNKED = b"Transfer-Encoding: chunked"
ZEROS = gzip.compress(bytes(10_000_000))
HOSTILE = {
    "nothing": (b"", "ServerDisconnectedError"),
    "no HTTP": (b"\x00\xff\xfe Bearer sk-open-sesame/9\r\n\r\n", "the answer breaks HTTP"),
    "reason": (head(LENGTH, status=b"200 \xff\xfe") + TEXT, "the answer breaks HTTP"),
    "status": (head(LENGTH, status=b"20000 OK") + TEXT, "the answer breaks HTTP"),
    "header": (head(LENGTH, b"Bearer sk-open-sesame/9") + TEXT, "the answer breaks HTTP"),
    "long header": (
        head(LENGTH, b"X: " + b"sk-open-sesame/9" * 100_000) + TEXT,
        "the answer breaks HTTP",
    ),
    "many headers": (
        head(LENGTH, *(b"X-%d: y" % i for i in range(100_000))) + TEXT,
        "the answer breaks HTTP",
    ),
    "huge length": (head(b"Content-Length: " + b"9" * 5_000) + TEXT, "the answer breaks HTTP"),
    "negative length": (head(b"Content-Length: -5") + TEXT, "the answer breaks HTTP"),
    "too long a length": (head(b"Content-Length: 5000") + TEXT, "the answer broke off"),
    "length and chunks": (
        head(b"Content-Length: 5", CHUNKED) + b"45\r\n" + TEXT,
        "the answer breaks HTTP",
    ),
    "chunks": (head(CHUNKED) + b"sk-open-sesame/9\r\n" + TEXT, "the answer "),
    "chunk that ends early": (head(CHUNKED) + b"ff\r\n" + TEXT, "the answer broke off"),
    "gzip": (
        head(LENGTH, b"Content-Encoding: gzip") + TEXT,
        "the answer is not compressed as it says",
    ),
    "deflate": (
        head(LENGTH, b"Content-Encoding: deflate") + TEXT,
        "the answer is not compressed as it says",
    ),
    "many encodings": (
        head(LENGTH, b"Content-Encoding: " + b", ".join([b"gzip"] * 1_500)) + TEXT,
        "the answer ",
    ),
    "bomb": (
        head(b"Content-Encoding: gzip", b"Content-Length: %d" % len(ZEROS)) + ZEROS,
        "more than 1,000,000 bytes",
    ),
    "no UTF-8": (
        head(LENGTH) + TEXT.replace(b'"A"', b'"\xff"'),
        "an answer that is not UTF-8 (byte 39 of 69)",
    ),
    "redirect": (
        head(
            LENGTH,
            b"Location: http://me:sk-open@elsewhere/sk-open-sesame/9?key=sk-open",
            status=b"302 Found",
        )
        + TEXT,
        "HTTP 302, a redirect to http://elsewhere/[key], which is not followed",
    ),
    "redirect to nowhere": (
        head(LENGTH, b"Location: http://[", status=b"301 Moved") + TEXT,
        "a redirect to http://[",
    ),
    "charset": (
        head(LENGTH, b"Content-Type: text/html; charset=zlib_codec", status=b"500 Oh") + TEXT,
        "HTTP 500",
    ),
    "deep": (head(b"Content-Length: 100000", status=b"500 Oh") + b"[" * 100_000, "HTTP 500 ([[["),
    "digits": (head(b"Content-Length: 5000", status=b"400 Oh") + b"9" * 5_000, "HTTP 400 (999"),
}


def send_each(answers: Sequence[bytes]) -> list[str | Fault]:
    """The outcome of one request for each answer, which is sent as it is, 16 at a time."""

    async def answer(request: ReceivedRequest, _: asyncio.StreamReader) -> RawResponse:
        return RawResponse([answers[int(request.path.rpartition("/")[2])]])

    async def all_of_them(url: str) -> list[str | Fault]:
        transport = ModelTransport(
            Endpoint(f"{url}/v1", ServerAccess.of(url, KEY), timeout_s=30.0, max_answer_mb=1.0), 16
        )
        places = asyncio.Semaphore(16)

        async def one(i: int) -> str | Fault:
            async with places:
                return await transport.send("POST", f"/{i}", "{}")

        found = await asyncio.gather(*map(one, range(len(answers))))
        await transport.close()
        return list(found)

    with serve_in_thread(answer, "hostile") as url:
        return asyncio.run(all_of_them(url))


@pytest.mark.few(1)
def test_whatever_a_server_sends_is_a_typed_fault_without_the_key() -> None:
    for (name, (_, said)), found in zip(
        HOSTILE.items(), send_each([raw for raw, _ in HOSTILE.values()]), strict=True
    ):
        assert isinstance(found, Fault), name
        assert "sk-open" not in repr(found), name
        assert "\n" not in found.message
        assert said in found.message, name
        final = name in ("bomb", "redirect", "redirect to nowhere", "digits")
        assert found.retryable is not final, name


@pytest.mark.soak
def test_no_damage_to_an_answer_escapes_its_type() -> None:
    """Answers of every kind, damaged at random places: bytes changed, cut out, doubled, or with other header lines between."""
    rng = random.Random(20261122)
    between = [b"\r\n", b"\x00", b": ", CHUNKED + b"\r\n", b"Content-Encoding: gzip\r\n", b"\xff"]
    damaged = []
    for _ in range(300):
        raw = bytearray(rng.choice(list(HOSTILE.values()))[0][:3_000]) or bytearray(b" ")
        for _ in range(rng.randint(1, 5)):
            place = rng.randrange(len(raw))
            match rng.randrange(4):
                case 0:
                    raw[place] = rng.randrange(256)
                case 1 if len(raw) > 30:
                    del raw[place : place + 20]
                case 2:
                    raw[place:place] = rng.choice(between)
                case _:
                    raw[place:place] = raw[:place]
        damaged.append(bytes(raw))
    assert all(isinstance(found, str | Fault) for found in send_each(damaged))


def test_how_much_an_answer_may_hold() -> None:
    here = Endpoint(URL)
    ask = Request("m", (Message("user", "?"),))
    assert here.max_answer_bytes() == here.max_answer_bytes(ask) == 4_000_000
    assert here.max_answer_bytes(replace(ask, max_completion_tokens=100_000)) == 4_000_000
    assert (
        here.max_answer_bytes(replace(ask, max_completion_tokens=1_000, top_logprobs=20))
        == 4_000_000
    )
    assert (
        here.max_answer_bytes(replace(ask, max_completion_tokens=32_000, top_logprobs=20))
        == 32_000 * 21 * 100
    )
    assert here.max_answer_bytes(replace(ask, top_logprobs=20)) == 4_000_000


def test_log_probabilities_as_vllm_writes_them_fit() -> None:
    """Tokens of 8 characters on average, which is long, with numbers of 19 digits."""
    entry = {"token": " perturb", "logprob": -12.345678901234567, "bytes": list(b" perturb")}
    token = json.dumps(entry | {"top_logprobs": [entry] * 20}, separators=(",", ":"))
    ask = Request("m", (Message("user", "?"),), max_completion_tokens=16_000, top_logprobs=20)
    assert 16_000 * (len(token) + 1) < Endpoint(URL).max_answer_bytes(ask)
