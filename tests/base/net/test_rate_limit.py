"""No source is asked faster than it allows, as the server sees it: by coroutines, by processes, with and without a file."""

from __future__ import annotations

import asyncio
import heapq
import subprocess
import sys
import time
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.config import REPOSITORY
from core.base.net import retry as rate_limit
from core.base.net.response_cache import MAX_WAIT_S, CachedResponse, ResponseCache
from core.base.net.retry import RateLimit
from core.base.types import Pair
from core.evidence.packs import Packs
from core.evidence.registry import gather
from core.evidence.source_client import SourceClient
from tests.evidence.fake_sources import ARTICLES, LIVE, NOTHING, most_in_a_second, run_with_client
from tests.fakes import sources as testing
from tests.strength import examples

ALLOWED = {"mygene": 1, "string": 1, "pubmed": 3}
ROWS = [Pair(f"P{i}_G{i}", f"P{i}", f"G{i}", None, "test") for i in range(16)]
ROWS_WORLD = testing.fake_data(
    [symbol for row in ROWS for symbol in (row.pert, row.gene)], ARTICLES
)


async def sixteen(client: SourceClient) -> list[str]:
    """The statuses of sixteen rows' answers, asked for at once."""
    return await at_once(client, ROWS)


async def at_once(client: SourceClient, rows: Sequence[Pair]) -> list[str]:
    client.expect((row.pert for row in rows), (row.gene for row in rows))
    found = await asyncio.gather(*(gather(row, Packs(), NOTHING, LIVE, client) for row in rows))
    return [item.status for items in found for item in items]


@pytest.mark.soak
def test_sixteen_rows_at_once_and_then_once_more(tmp_path: Path) -> None:
    faster = 7.0  # 7, 7 and 21 requests a second
    with testing.serve_fake_sources(ROWS_WORLD) as server:
        assert set(run_with_client(server, tmp_path, sixteen, rate_factor=faster)) <= {
            "ok",
            "empty",
        }
        for source, allowed in ALLOWED.items():
            times = server.times(source)
            assert most_in_a_second(times) <= faster * allowed, source
            assert len(times) >= 2, source
        assert len(server.times("mygene")) == 2  # the version, and all 32 symbols
        assert (
            len(server.times("string")) == 5
        )  # the version, perturbations and genes, each by name and by partners
        assert len(server.times("pubmed")) == 16 * 3
        came = len(server.requests)
        assert set(run_with_client(server, tmp_path, sixteen)) <= {"ok", "empty"}
        assert len(server.requests) == came


@pytest.mark.soak
def test_the_real_rates(tmp_path: Path) -> None:
    async def work(client):
        await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(sixteen(client))), 3.5)

    with testing.serve_fake_sources(ROWS_WORLD) as server:
        with pytest.raises(TimeoutError):
            run_with_client(server, tmp_path, work, rate_factor=1.0)
        counts = {source: len(server.times(source)) for source in ALLOWED}
        assert all(
            most_in_a_second(server.times(source)) <= allowed for source, allowed in ALLOWED.items()
        )
    assert counts["mygene"] == 2
    assert 3 <= counts["string"] <= 4
    assert 8 <= counts["pubmed"] <= 12  # three at 0, 1.05, 2.1 and 3.15 s


@pytest.mark.soak
def test_a_key_raises_pubmeds_rate_alone(tmp_path: Path) -> None:
    with testing.serve_fake_sources(ROWS_WORLD) as server:
        run_with_client(server, tmp_path, sixteen, rate_factor=2.0, api_key="sk-of-ncbi")
        assert 10 < most_in_a_second(server.times("pubmed")) <= 20
        assert most_in_a_second(server.times("mygene")) <= 2


OTHER = """
import sys
from pathlib import Path
from tests.fakes.sources import FakeServer
from tests.base.net.test_rate_limit import ROWS, ROWS_WORLD, at_once
from tests.evidence.fake_sources import run_with_client
server = FakeServer(ROWS_WORLD)
server.address = sys.argv[1]
print("here", flush=True)
sys.stdin.readline()
run_with_client(server, Path(sys.argv[2]), lambda client: at_once(client, ROWS[int(sys.argv[3]) :][:4]), rate_factor=2.0)
"""


@pytest.mark.soak
def test_processes_share_a_rate(tmp_path: Path) -> None:
    with testing.serve_fake_sources(ROWS_WORLD) as server:
        command = [sys.executable, "-c", OTHER, server.address, str(tmp_path)]
        others = [
            subprocess.Popen(
                [*command, first],
                cwd=REPOSITORY,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for first in ("0", "4")
        ]
        for other in others:
            assert other.stdout.readline() == "here\n"
        for other in others:
            other.stdin.write("go\n")
            other.stdin.flush()
        for other in others:
            other.communicate()
        assert [other.returncode for other in others] == [0, 0]
        assert len(server.times("mygene")) >= 3  # each asks for the version
        for source, allowed in ALLOWED.items():
            assert most_in_a_second(server.times(source)) <= 2 * allowed, source


@pytest.mark.few(1)
@pytest.mark.parametrize("file", ["none", "unusable", "deleted"])
def test_without_a_file_this_process_still_keeps_the_rate(tmp_path: Path, file: str) -> None:
    folder = tmp_path / "cache"
    if file == "none":
        folder = None
    elif file == "unusable":
        (tmp_path / "cache").write_text("no folder")

    async def work(client):
        asked = asyncio.ensure_future(at_once(client, ROWS[:8]))
        while file == "deleted" and not asked.done():
            await asyncio.sleep(0.1)
            for path in (tmp_path / "cache").glob("http.sqlite*"):
                path.unlink(missing_ok=True)
        assert set(await asked) <= {"ok", "empty"}

    with testing.serve_fake_sources(ROWS_WORLD) as server:
        run_with_client(server, folder, work, rate_factor=7.0)
        for source, allowed in ALLOWED.items():
            assert most_in_a_second(server.times(source)) <= 7 * allowed, source
        if file != "deleted":
            assert len(server.times("mygene")) == 2  # what the file could not take is remembered


def test_a_serial_source_answers_one_before_the_next_is_sent(tmp_path: Path) -> None:
    async def two(rate_limit):
        said = []

        async def one(name):
            async with rate_limit.turn() as take:
                await take()
                said.append(f"{name} sent")
                await asyncio.sleep(0.02)
                said.append(f"{name} answered")

        await asyncio.gather(one("a"), one("b"))
        return said

    cache = ResponseCache(tmp_path / "http.sqlite")
    assert asyncio.run(two(RateLimit("string", 1_000, True, cache))) == [
        "a sent",
        "a answered",
        "b sent",
        "b answered",
    ]
    assert asyncio.run(two(RateLimit("pubmed", 1_000, False, cache))) == [
        "a sent",
        "b sent",
        "a answered",
        "b answered",
    ]


def test_who_gives_up_lets_the_next_in_line(tmp_path: Path) -> None:
    async def work():
        rate_limit = RateLimit("mygene", 50, False, ResponseCache(tmp_path / "http.sqlite"))

        async def leave():
            async with rate_limit.turn():
                raise KeyError

        with pytest.raises(KeyError):
            await leave()
        async with asyncio.timeout(1), rate_limit.turn() as take:
            await take()

    asyncio.run(work())


def test_a_source_that_wants_time_gets_it_from_every_process(tmp_path: Path) -> None:
    async def work():
        mine, others = (
            RateLimit("mygene", 1_000, False, ResponseCache(tmp_path / "http.sqlite"))
            for _ in range(2)
        )
        start = time.time()
        others.block(0.3)
        async with mine.turn() as take:
            await take()
        return time.time() - start

    assert 0.3 <= asyncio.run(work()) < 2


@pytest.mark.parametrize("jump_s", [86_400.0, -86_400.0], ids=["a day ahead", "a day back"])
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "of one process"])
def test_a_clock_that_jumps_by_a_day_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump_s: float, shared: bool
) -> None:
    """Turns and blocks from before the jump; after it the rate holds again."""
    now, slept = [time.time()], list[float]()

    async def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(rate_limit.time, "time", lambda: now[0])
    cache = ResponseCache(tmp_path / "http.sqlite") if shared else None
    limit = RateLimit("mygene", 1.0, False, cache, sleep)

    async def ask():
        async with limit.turn() as take:
            await take()

    async def work():
        async with limit.turn() as take:
            await take()
            limit.block(500)
            now[0] += jump_s
        await ask()
        waited_s = sum(slept)
        await ask()
        assert waited_s <= rate_limit.MARGIN + 0.01
        assert 1.0 <= sum(slept) - waited_s <= 2 * rate_limit.MARGIN

    asyncio.run(work())


@pytest.mark.parametrize("days", [1, -1])
def test_an_answer_from_another_day_is_still_an_answer(tmp_path: Path, days: int) -> None:
    response = CachedResponse("text", "v1", datetime.now(UTC) + timedelta(days=days))
    assert ResponseCache(tmp_path / "http.sqlite").put("key", response)
    assert ResponseCache(tmp_path / "http.sqlite").get("key") == response


def test_the_turn_of_a_process_that_died_is_free_again(tmp_path: Path) -> None:
    cache, now = ResponseCache(tmp_path / "http.sqlite"), time.time()
    assert cache.take_turn("mygene", now, now + 60) == now
    assert cache.take_turn("mygene", now + 59, now + 120) == now + 60
    assert cache.take_turn("mygene", now + 60, now + 120) == now + 60
    # by a clock that was an hour ahead
    cache.set_turn("mygene", now + 3_600)
    assert cache.take_turn("mygene", now, now + 1) == now
    assert MAX_WAIT_S < 3_600


class OwnClock:
    """A clock that only moves while everybody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, id(woken), woken))
        await woken

    async def run(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        while not task.done():
            for _ in range(20):  # until nobody has anything left to do at this time
                await asyncio.sleep(0)
            if not task.done():
                self.now, _, woken = heapq.heappop(self._sleepers)
                woken.set_result(None)
        await task


@pytest.mark.soak
@examples(30)
@given(
    per_s=st.sampled_from([0.5, 1.0]),
    delays=st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3)), min_size=2, max_size=12),
    processes=st.integers(1, 3),
)
def test_no_request_arrives_too_soon_however_late_each_is_delivered(
    tmp_path_factory: pytest.TempPathFactory,
    per_s: float,
    delays: list[tuple[float, float]],
    processes: int,
) -> None:
    """Each request takes some time to arrive and its answer some to come back, on a clock of our own."""
    clock, arrived = OwnClock(), []
    folder = tmp_path_factory.mktemp("permits")
    limits = [
        RateLimit("s", per_s, False, ResponseCache(folder / "http.sqlite"), clock.sleep)
        for _ in range(processes)
    ]

    async def ask(place, way_there, way_back):
        async with limits[place % processes].turn() as take:
            await take()
            await clock.sleep(way_there)
            arrived.append(clock.now)
            await clock.sleep(way_back)

    async def ask_all():
        await asyncio.gather(*(ask(place, *each) for place, each in enumerate(delays)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.base.net.retry.time.time", lambda: clock.now)
        asyncio.run(clock.run(ask_all()))
    assert len(arrived) == len(delays)
    assert all(sum(start <= at < start + 1 / per_s for at in arrived) == 1 for start in arrived)
