"""The client of public sources: what it keeps, what it never keeps, and how it fails."""

from __future__ import annotations

import asyncio
import logging
import socket
import sqlite3
import time
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from core import __version__
from core.base.config import MYGENE, PUBMED, STRING, Settings, load_settings
from core.base.errors import DeskError, InputError
from core.base.net.response_cache import CachedResponse, ResponseCache
from core.evidence.sources import (
    SiteName,
    SourceError,
    SourceGarbled,
    SourceRefused,
    SourceSettings,
    SourceSilent,
    source_settings_of,
)
from core.evidence.tools import gene_info
from tests.evidence.fake_sources import LIVE, WORLD, ask, run_with_client
from tests.fakes import sources as testing
from tests.fakes.sources import FakeServer, FaultName

TOOL_OF = {
    "mygene": "gene_info",
    "string": "protein_interactions",
    "pubmed": "literature",
}
KEY = "sk-of-ncbi-0123456789"


def kept_in(folder: Path) -> list[tuple[Any, ...]]:
    with sqlite3.connect(folder / "http.sqlite") as db:
        return db.execute("SELECT key, status, version, retrieved_at FROM answer").fetchall()


def of(source: SiteName, symbol: str = "Jak1") -> Any:
    return lambda client: ask(client, TOOL_OF[source], symbol)


def timeout_of(fault: FaultName, seconds: float) -> dict[str, float]:
    """The settings for a fault: a source that does not answer is left soon, and no other, however busy this machine is."""
    return {"timeout_s": seconds} if fault == "hang" else {}


def test_answers_are_kept_by_method_url_and_parameters_with_their_date_and_version(
    tmp_path: Path,
) -> None:
    before = datetime.now(UTC)
    with testing.serve_fake_sources(WORLD) as server:
        found = run_with_client(server, tmp_path, of("mygene"))
        ((key, status, version, retrieved_at),) = kept_in(tmp_path)
        assert key.startswith(f'POST {server.address}/mygene/query {{"fields": ')
        assert '"q": "Jak1"' in key
        assert (status, version) == (200, testing.MYGENE_VERSION)
        assert before <= datetime.fromisoformat(retrieved_at) <= datetime.now(UTC)
        assert found.retrieved_at == datetime.fromisoformat(retrieved_at)
        assert found.source == f"mygene.info 20260101, retrieved {found.retrieved_at:%Y-%m-%d}"
        assert run_with_client(server, tmp_path, of("mygene")) == found
        assert [one.path for one in server.requests] == [
            "metadata",
            "query",
        ]  # a second run asks for nothing, not even a version


def test_what_is_expected_comes_along_up_to_a_thousand_and_each_is_kept_for_itself(
    tmp_path: Path,
) -> None:
    many = [f"P{number}" for number in range(1_500)]

    async def work(client):
        client.expect(["Jak1", "not one, but two"], many)
        await ask(client, "gene_info", "Jak1")
        await ask(client, "gene_info", "P7")
        client.expect([], ["P1499"])

    with testing.serve_fake_sources(WORLD) as server:
        run_with_client(server, tmp_path, work)
        assert [
            len(one.params.get("q", "").split(","))
            for one in server.requests
            if one.path == "query"
        ] == [1_000]
        statuses = [status for _, status, _, _ in kept_in(tmp_path)]
        assert (statuses.count(200), statuses.count(404)) == (1, 999)
        run_with_client(server, tmp_path, of("mygene", "P998"))
        assert len(server.times("mygene")) == 2
        run_with_client(server, tmp_path, of("mygene", "P1200"))
        assert len(server.times("mygene")) == 4


def test_two_who_ask_for_the_same_at_the_same_time_make_one_request(tmp_path: Path) -> None:
    async def work(client):
        return list(
            await asyncio.gather(*(ask(client, name, "Jak1") for name in LIVE for _ in range(5)))
        )

    with testing.serve_fake_sources(WORLD) as server:
        found = run_with_client(server, tmp_path, work)
        assert len({repr(item) for item in found}) == len(LIVE)
        assert len(server.requests) == len(
            {(one.path, *one.params.items()) for one in server.requests}
        )


def test_who_gives_up_waiting_takes_the_answer_from_nobody(tmp_path: Path) -> None:
    async def work(client):
        first = asyncio.ensure_future(ask(client, "gene_info", "Jak1"))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(ask(client, "gene_info", "Jak1"))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    with testing.serve_fake_sources(WORLD) as server:
        assert run_with_client(server, tmp_path, work).status == "ok"
        assert len(server.requests) == 2


def test_leaving_ends_what_is_under_way(tmp_path: Path) -> None:
    async def work(client):
        waiting = asyncio.ensure_future(ask(client, "gene_info", "Stat1"))
        await asyncio.sleep(0.05)
        waiting.cancel()

    with testing.serve_fake_sources(WORLD) as server:
        server.fail("mygene", "hang")
        start = time.monotonic()
        run_with_client(server, tmp_path, work, timeout_s=60.0)
        assert time.monotonic() - start < 30


def test_offline_opens_no_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(client):
        return [await ask(client, name, symbol) for symbol in ("Jak1", "Stat1") for name in LIVE]

    with testing.serve_fake_sources(WORLD) as server:
        for name in LIVE:
            run_with_client(server, tmp_path, lambda client, name=name: ask(client, name, "Jak1"))
        came = len(server.requests)

        def refuse(*_):
            raise AssertionError("a socket was opened")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket.socket, "connect_ex", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        found = run_with_client(server, tmp_path, work, "offline")
        assert [item.status for item in found] == ["ok", "ok", "empty", "ok", *["offline"] * 4]
        assert found[4].source == "mygene.info: not in the cache, and this run asks nobody"
        assert [(item.body, item.retrieved_at) for item in found[4:]] == [({}, None)] * 4
        monkeypatch.undo()
        assert len(server.requests) == came


@pytest.mark.few(3)
@pytest.mark.parametrize("source", TOOL_OF)
@pytest.mark.parametrize(
    "fault", ["busy", "unavailable", "error", "dropped", "hang", "garbage", "shape", "half"]
)
def test_what_fails_in_passing_is_asked_again(
    tmp_path: Path, source: SiteName, fault: FaultName
) -> None:
    with testing.serve_fake_sources(WORLD) as server:
        run_with_client(server, tmp_path / "without", of(source))
        without = len(server.times(source))
        server.fail(source, fault, fault)
        assert (
            run_with_client(server, tmp_path / "with", of(source), **timeout_of(fault, 1.0)).status
            == "ok"
        )
        assert len(server.times(source)) == without + without + 2


KINDS = {
    "busy": SourceSilent,
    "error": SourceSilent,
    "hang": SourceSilent,
    "dropped": SourceSilent,
    "garbage": SourceGarbled,
    "shape": SourceGarbled,
    "refused": SourceRefused,
    "moved": SourceRefused,
}


@pytest.mark.few(6)
@pytest.mark.parametrize("source", TOOL_OF)
@pytest.mark.parametrize("fault", KINDS)
def test_a_failure_is_typed_and_neither_kept_nor_told_as_evidence(
    tmp_path: Path, source: SiteName, fault: FaultName
) -> None:
    async def work(client):
        server.fail(source, *[fault] * 20)
        if source == "mygene":
            with pytest.raises(KINDS[fault]):
                await gene_info.fetch_genes(client, "Jak1")
        return await ask(client, TOOL_OF[source], "Jak1")

    with testing.serve_fake_sources(WORLD, retry_after="0.01") as server:
        found = run_with_client(
            server, tmp_path, work, retries=1, api_key=KEY, **timeout_of(fault, 0.1)
        )
        assert (found.status, found.body, found.retrieved_at) == ("error", {}, None)
        assert server.address not in found.source  # it is stored with the row, and passed on
        assert "expected an answer" in found.source
        assert KEY not in found.source
        assert "html" not in found.source
        assert kept_in(tmp_path) == []
    assert issubclass(SourceError, DeskError)


def test_a_404_is_nothing_known_only_where_a_site_answers_so(tmp_path: Path) -> None:
    """STRING says so of a protein without partners; of a path it says that nobody serves it."""
    with testing.serve_fake_sources(WORLD) as server:
        server.fail("mygene", "missing", "missing")  # the version, and the answer
        found = run_with_client(server, tmp_path / "mygene", of("mygene"))
        assert (found.status, "404" in found.source) == ("error", True)
        assert kept_in(tmp_path / "mygene") == []
        server.fail(
            "string", "none", "none", "missing"
        )  # the version and the proteins are told, their partners are not
        found = run_with_client(server, tmp_path / "string", of("string"))
        assert (found.status, found.source[:7]) == ("empty", "STRING ")


@pytest.mark.soak
def test_a_source_that_asks_for_time_is_left_alone_by_all(tmp_path: Path) -> None:
    async def work(client):
        await ask(client, "literature", "Jak1")
        server.fail("pubmed", "busy")
        return list(
            await asyncio.gather(
                *(ask(client, "literature", symbol) for symbol in ("Stat1", "Irf1", "Il6"))
            )
        )

    with testing.serve_fake_sources(WORLD, retry_after="0.8") as server:
        found = run_with_client(server, tmp_path, work)
        assert "error" not in {item.status for item in found}
        times = server.times("pubmed")
        longest = max(later - earlier for earlier, later in pairwise(times))
        assert longest >= 0.75
        held = next(
            place for place in range(1, len(times)) if times[place] - times[place - 1] == longest
        )
        in_time = [at for at in times[:held] if times[held - 1] - at < 0.5]
        assert len(in_time) <= 10  # those that were on their way before the answer came


def test_a_source_that_asks_for_too_much_time_is_given_up_at_once(tmp_path: Path) -> None:
    async def work(client):
        return [await ask(client, "gene_info", symbol) for symbol in ("Jak1", "Stat1")]

    with testing.serve_fake_sources(WORLD, retry_after="3600") as server:
        server.fail("mygene", "busy")
        found = run_with_client(server, tmp_path, work)
        assert [item.status for item in found] == ["error", "error"]
        assert "asks to be left alone for 3,600 s, expected at most 120" in found[0].source
        assert len(server.requests) == 1


def test_an_endless_answer_is_cut(tmp_path: Path) -> None:
    with testing.serve_fake_sources(WORLD) as server:
        # The real rate, so that only one query is sent before the error.
        found = run_with_client(server, tmp_path, of("pubmed"), max_bytes=50, rate_factor=0.3)
        assert found.status == "error"
        assert "an answer of more than 50 bytes" in found.source
        assert len(server.requests) == 1


def test_a_source_that_tells_no_version_is_used_without(tmp_path: Path) -> None:
    with testing.serve_fake_sources(WORLD) as server:
        server.fail("string", "refused")
        found = run_with_client(server, tmp_path, of("string"))
        assert (found.status, found.source[:18]) == ("ok", "STRING, retrieved ")


def test_who_asks_is_said_to_the_sources_and_to_nobody_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(client):
        found = [await ask(client, name, "Jak1") for name in LIVE]
        server.fail("pubmed", "refused")
        return [*found, await ask(client, "literature", "Stat1")]

    caplog.set_level(logging.DEBUG)
    with testing.serve_fake_sources(WORLD) as server:
        found = run_with_client(server, tmp_path, work, api_key=KEY, contact="me@example.org")
        of_pubmed = [one.params for one in server.requests if one.source == "pubmed"]
        assert all(
            (one["tool"], one["email"], one["api_key"]) == ("perturbdesk", "me@example.org", KEY)
            for one in of_pubmed
        )
        asked_string = [
            one.params["caller_identity"] for one in server.requests if one.source == "string"
        ]
        assert set(asked_string) == {"perturbdesk me@example.org"}
        assert {one.user_agent for one in server.requests} == {
            f"PerturbDesk/{__version__} (mailto:me@example.org)"
        }
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for text in (
        caplog.text,
        repr(found),
        written.decode("latin-1"),
        repr(Settings(ncbi_api_key=KEY)),
        repr(SourceSettings(api_key=KEY)),
    ):
        assert KEY not in text
    assert "example.org" not in written.decode("latin-1")
    assert found[-1].status == "error"


def test_nothing_is_made_up_about_who_asks(tmp_path: Path) -> None:
    with testing.serve_fake_sources(WORLD) as server:
        run_with_client(server, tmp_path, of("pubmed"))
        assert all(
            "email" not in one.params and "api_key" not in one.params for one in server.requests
        )
        assert {one.user_agent for one in server.requests} == {f"PerturbDesk/{__version__}"}


@pytest.mark.soak
def test_answers_of_a_source_that_repeats_the_key_are_cleaned(tmp_path: Path) -> None:
    article = replace_title(f"A title with {KEY} of Jak1 in macrophages")
    with testing.serve_fake_sources(article) as server:
        found = run_with_client(server, tmp_path, of("pubmed"), api_key=KEY)
        assert found.body["passages"][0]["text"] == "A title with [key] of Jak1 in macrophages"


def replace_title(title: str) -> testing.FakeData:
    return replace(WORLD, articles=(WORLD.articles[0]._replace(title=title, parts=()),))


@pytest.mark.parametrize(
    "symbol", ["Jak1,Stat1", "Jak1 Stat1", 'Jak1" OR "a', "Jak1\rStat1", "Jak1[Author]", "x" * 100]
)
def test_what_would_be_taken_for_several_symbols_is_asked_of_nobody(
    tmp_path: Path, symbol: str
) -> None:
    async def work(client):
        client.expect([symbol], [symbol])
        return [await ask(client, name, symbol) for name in LIVE]

    with testing.serve_fake_sources(WORLD) as server:
        found = run_with_client(server, tmp_path, work)
        assert {item.status for item in found} == {"error"}
        assert server.requests == []


@pytest.mark.parametrize("damage", [b"", b"no database" * 99])
def test_a_damaged_cache_is_begun_anew(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "http.sqlite").write_bytes(damage)
    with testing.serve_fake_sources(WORLD) as server:
        assert run_with_client(server, tmp_path, of("mygene")).status == "ok"
        assert len(kept_in(tmp_path)) == 1


def test_an_answer_that_cannot_be_read_is_asked_for_again(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "http.sqlite")
    kept = CachedResponse("text ✓", "1", datetime.now(UTC))
    assert cache.put("k", kept)
    assert cache.get("k") == kept
    assert cache.put("k", kept._replace(body=None))
    assert cache.get("k") == kept._replace(body=None)
    cache.put("k", kept)
    with sqlite3.connect(cache.path) as db:
        db.execute("UPDATE answer SET body = 'x'")
    assert cache.get("k") is None
    assert "an answer that cannot be read" in cache.problems[0]


def test_settings_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = source_settings_of(load_settings(tmp_path))
    assert (plain.mygene, plain.string, plain.pubmed) == (MYGENE, STRING, PUBMED)
    assert plain.cache == tmp_path / "cache" / "http.sqlite"
    for name, value in {
        "MYGENE": "http://a/x",
        "STRING": "http://b",
        "PUBMED": "http://c",
        "CONTACT": "x@y.z",
    }.items():
        monkeypatch.setenv(f"PERTURBDESK_{name}", value)
    monkeypatch.setenv("PERTURBDESK_NCBI_API_KEY", KEY)
    given = source_settings_of(load_settings(tmp_path))
    assert (given.mygene, given.string, given.pubmed) == ("http://a/x", "http://b", "http://c")
    assert (given.contact, given.api_key) == ("x@y.z", KEY)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mygene": "ftp://a"},
        {"string": "http://me:secret@host"},
        {"pubmed": "http://host/?api_key=secret"},
        {"pubmed": "http://[::"},
        {"contact": "a\nb"},
        {"rate_factor": 2.0},
        {"rate_factor": 0.0},
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError) as refused:
        SourceSettings(**wrong)
    assert next(iter(wrong)) in str(refused.value)
    assert "secret" not in str(refused.value)


def test_nobody_listens(tmp_path: Path) -> None:
    server = FakeServer(WORLD)
    server.address = "http://127.0.0.1:9"  # nobody listens there
    found = run_with_client(server, tmp_path, of("mygene"), retries=0)
    assert (found.status, "the connection failed (ConnectError)" in found.source) == ("error", True)
