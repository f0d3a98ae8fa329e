from __future__ import annotations

import asyncio
import json
import math
import time
from typing import Any
from urllib.parse import quote

import pytest

from core.errors import InputError
from core.llm.endpoint import Endpoint, ModelTransport
from core.net.transport import Fault
from tests.llm.canned import KEY, Canned, serving

URL = "http://127.0.0.1:8000/v1"
ODD_KEY = 'sk-a/b"c\\d'


def test_the_key_is_not_in_the_repr() -> None:
    assert "sk-" not in repr(Endpoint(URL, api_key=ODD_KEY))


def test_scrub_takes_the_key_out_however_it_is_spelled() -> None:
    endpoint = Endpoint(URL, api_key=ODD_KEY)
    in_json = json.dumps(ODD_KEY)[1:-1]
    for spelled in (ODD_KEY, in_json, in_json.replace("/", "\\/"), quote(ODD_KEY, safe="")):
        assert endpoint.scrub(f"wrong key <{spelled}>.") == "wrong key <[key]>."


@pytest.mark.parametrize("key", ["", "EMPTY", "none"])
def test_placeholders_are_no_secrets(key: str) -> None:
    assert Endpoint(URL, api_key=key).scrub("EMPTY, none") == "EMPTY, none"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8000/v1",
        "ftp://127.0.0.1/v1",
        "http:///v1",
        "http://[",
        "http://127.0.0.1:99999/v1",
        "http://me:open-sesame@127.0.0.1/v1",
        "http://127.0.0.1/v1?key=open-sesame",
        "http://127.0.0.1/v1#open-sesame",
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
        Endpoint(URL, api_key=key)
    assert "same" not in str(caught.value)


@pytest.mark.parametrize(
    "limits", [{"timeout_s": 0}, {"timeout_s": math.inf}, {"connect_timeout_s": -1}, {"retries": -1}, {"backoff_s": math.nan}]
)
def test_limits_that_are_none(limits: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"endpoint: {next(iter(limits))} is"):
        Endpoint(URL, **limits)


def send(url: str, path: str = "/chat/completions", body: str | None = "{}", **limits: Any) -> str | Fault:
    async def once() -> str | Fault:
        transport = ModelTransport(Endpoint(url, api_key=KEY, **limits), 1)
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


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_faults_that_pass(status: int) -> None:
    with serving(lambda _: Canned({"error": {"message": "later"}}, status, {"Retry-After": "3"})) as (url, asked):
        found = send(url)
    assert found == Fault("unanswered", f"HTTP {status} (later)", True, status, 3.0, '{"error": {"message": "later"}}')
    assert len(asked) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_faults_that_stay(status: int) -> None:
    with serving(lambda _: Canned("<b>no</b>", status, {"Retry-After": "3"})) as (url, _):
        assert send(url) == Fault("refused", f"HTTP {status} (<b>no</b>)", False, status, None, "<b>no</b>")


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_key_that_comes_back_is_hidden(status: int) -> None:
    with serving(lambda asked: Canned({"error": f"wrong {asked.key}"}, status)) as (url, _):
        found = send(url)
    assert "sesame" not in repr(found)
    assert "[key]" in repr(found)


def test_nobody_listens() -> None:
    with serving(lambda _: Canned("")) as (url, _):
        pass
    found = send(url)
    assert isinstance(found, Fault)
    assert (found.kind, found.retryable, found.status) == ("unanswered", True, None)
    assert found.message.startswith("the connection failed (")


def test_an_answer_that_ends_early() -> None:
    with serving(lambda _: Canned("{}", headers={"Content-Length": "100"})) as (url, _):
        found = send(url)
    assert isinstance(found, Fault)
    assert found.message.startswith("the connection failed (")


def test_an_answer_that_trickles_is_timed_as_a_whole() -> None:
    """Each byte comes in time, the answer never does."""

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await asyncio.sleep(0.01)

    async def once() -> tuple[str | Fault, float]:
        server = await asyncio.start_server(trickle, "127.0.0.1", 0)
        transport = ModelTransport(Endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", timeout_s=0.3), 1)
        start = time.monotonic()
        found = await transport.send("POST", "/chat/completions", "{}")
        seconds = time.monotonic() - start
        await transport.close()
        server.close()
        return found, seconds

    found, seconds = asyncio.run(once())
    assert found == Fault("unanswered", "no answer within 0.3 s", True)
    assert seconds >= 0.3


def test_no_proxy_comes_between_this_machine_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving(lambda _: Canned({})) as (url, _):
        assert send(url) == "{}"


def test_keys_of_the_environment_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")

    async def once(url: str) -> None:
        transport = ModelTransport(Endpoint(url), 1)
        await transport.send("GET", "/models")
        await transport.close()

    with serving(lambda _: Canned({})) as (url, asked):
        asyncio.run(once(url))
    assert asked[0].key == "Bearer none"
