"""Processes of a cluster that predict rows, with a cluster of this process in Ray's place; test_ray.py has real ones."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from core.engine import ray_backend, ray_nodes
from core.engine.backend import Reports
from core.engine.ray_actor import PredictRow, RowActor
from core.engine.ray_backend import RayBackend
from core.engine.ray_cluster import ClusterNode
from core.engine.spec import ExecutionSettings
from core.errors import StateError
from core.evidence.label_view import LabelView
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.methods.base import Context, RowMethod
from core.methods.row_feed import RowFeed
from core.net.server_access import ServerAccess
from core.types import Failed, Pair, RowResult
from tests.engine.methods import Asking, Base, constant
from tests.fakes.scripted import MODEL, serving

KEY = "sesame-1234"
PAIR = Pair("a_b", "a", "b", None, "test")


class LocalRayError(Exception):
    """What Ray raises where a process died."""


class LocalActor:
    """A `RowActor` of this process, whose methods are called as those of Ray's handles. begin: waits, or fails. ends_it: whether
    the process dies of a row."""

    def __init__(self, actor: RowActor, begin: Callable[[], Awaitable[object]], ends_it: Callable[[str], bool]) -> None:
        self.begun: list[object] = []
        self._actor = actor

        async def begin_later(*arguments: Any) -> str:
            self.begun += arguments
            await begin()
            return await actor.begin(*arguments)

        self.begin = SimpleNamespace(remote=begin_later)
        self.collect = SimpleNamespace(remote=self._collect)
        self.deliver = SimpleNamespace(remote=self._deliver)
        self._ends_it = ends_it
        self._dies = asyncio.Event()

    def _deliver(self, data: bytes) -> None:
        pairs = [message.pair for message in pickle.loads(data) if isinstance(message, PredictRow)]
        if any(self._ends_it(pair.gene) for pair in pairs):
            self._dies.set()
        else:
            asyncio.get_running_loop().create_task(self._actor.deliver(data))

    async def _collect(self) -> bytes:
        told, dies = (asyncio.ensure_future(each) for each in (self._actor.collect(), self._dies.wait()))
        await asyncio.wait((told, dies), return_when=asyncio.FIRST_COMPLETED)
        dies.cancel()
        if told.done():
            return told.result()
        told.cancel()
        raise LocalRayError("The actor died.\nMore about it.")

    async def close(self) -> None:
        """Closes the connections, as the end of a process does."""
        if self._actor._client is not None:
            await self._actor._client.servers.close()


class LocalCluster:
    """One node of two CPUs. begins: of its processes, in their order."""

    ray = SimpleNamespace(exceptions=SimpleNamespace(RayError=LocalRayError), kill=lambda _: None)

    def __init__(
        self, *begins: Callable[[], Awaitable[object]], shares: bool = True, ends_it: Callable[[str], bool] = lambda _: False
    ) -> None:
        self.begins, self.shares, self.ends_it = list(begins), shares, ends_it
        self.made: list[tuple[Any, ...]] = []
        self.actors: list[LocalActor] = []
        self.n_looks = 0
        self.is_closed = False

    def nodes(self) -> tuple[ClusterNode, ...]:
        self.n_looks += 1
        return (ClusterNode("n", "127.0.0.1 (n)", 2),)

    def share(self, value: object) -> object:
        if not self.shares:
            raise StateError("ray: the object store is full")
        return value

    def start_actor(self, _node: ClusterNode, *arguments: Any) -> LocalActor:
        self.made.append(arguments)
        begin = self.begins.pop(0) if self.begins else at_once
        self.actors.append(LocalActor(RowActor(*arguments), begin, self.ends_it))
        return self.actors[-1]

    def close(self) -> None:
        self.is_closed = True


async def at_once() -> None:
    """Of a process that begins."""


async def not_at_all() -> None:
    """Of a process that cannot be started."""
    raise LocalRayError("no module named core")


@asynccontextmanager
async def working(
    monkeypatch: pytest.MonkeyPatch,
    cluster: LocalCluster,
    method: RowMethod,
    client: Client | None = None,
    rows: int = 1,
    log: Callable[[BaseException], object] = print,
) -> AsyncIterator[RayBackend]:
    """A backend on a cluster; what it says is printed. log: takes errors that nobody foresaw."""
    monkeypatch.setattr(ray_backend, "Cluster", lambda _address: cluster)
    monkeypatch.setattr(ray_backend, "WATCH_S", 0.01)
    context = Context((PAIR,), {}, lambda _: LabelView(()), {}, client, MODEL)
    settings = ExecutionSettings(client.endpoint.base_url if client else "", rows_in_flight=rows, backend="ray")
    async with RayBackend(method, context, settings, Reports(print, lambda _, error: log(error), str)) as backend:
        yield backend
    for actor in cluster.actors:
        await actor.close()


async def predict(backend: RayBackend) -> RowResult | Failed:
    return await asyncio.wait_for(backend.predict(PAIR, RowFeed(PAIR)), 20)


class Plain(Base):
    async def predict_row(self, pair: Pair, context: Context) -> RowResult:  # noqa: ARG002
        return constant(pair)


def test_the_key_is_no_part_of_what_an_actor_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray keeps that as long as the cluster lives, and not what the actor's methods are given."""
    cluster = LocalCluster()

    async def use(url: str) -> RowResult | Failed:
        async with (
            Client(Endpoint(url, ServerAccess.of(url, KEY))) as client,
            working(monkeypatch, cluster, Asking(), client) as backend,
        ):
            return await predict(backend)

    with serving() as url:
        row = asyncio.run(use(url))
    assert isinstance(row, RowResult)
    [made], [actor] = cluster.made, cluster.actors
    assert [type(argument).__name__ for argument in made] == ["SharedWork"]
    assert KEY not in repr(made[0].context) + repr(made[0].method)
    assert KEY.encode() in pickle.dumps(actor.begun)


def test_a_cluster_that_cannot_hold_what_rows_share_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = LocalCluster(shares=False)

    async def use() -> None:
        async with working(monkeypatch, cluster, Plain()):
            raise AssertionError("it began")

    with pytest.raises(StateError, match="the object store is full"):
        asyncio.run(use())
    assert cluster.is_closed


def test_a_process_that_is_still_starting_is_waited_for_where_another_could_not_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use() -> RowResult | Failed:
        goes_on = asyncio.Event()
        cluster = LocalCluster(not_at_all, goes_on.wait)
        async with working(monkeypatch, cluster, Plain(), rows=2 * ray_backend.ROWS_A_PROCESS) as backend:
            row = asyncio.create_task(predict(backend))
            while not backend.nodes or backend.nodes[0].state != "refused":
                await asyncio.sleep(0.005)
            looks = cluster.n_looks
            while cluster.n_looks < looks + 3:
                await asyncio.sleep(0.005)
            assert not row.done()
            goes_on.set()
            return await row

    assert isinstance(asyncio.run(use()), RowResult)


def test_a_run_ends_where_no_process_could_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use() -> RowResult | Failed:
        async with working(monkeypatch, LocalCluster(not_at_all), Plain()) as backend:
            return await predict(backend)

    with pytest.raises(StateError, match=r"ray: no node can predict rows: 127\.0\.0\.1 \(n\): .*\(no module named core\)"):
        asyncio.run(use())


class Failing(Base):
    async def predict_row(self, pair: Pair, context: Context) -> RowResult:  # noqa: ARG002
        return constant(pair, tokens=1 // (0 if pair.gene == "zero" else 1))


def test_rows_that_end_their_process_or_fail_as_nobody_foresaw_harm_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_backend, "MOST_LOSSES", 2)
    monkeypatch.setattr(ray_nodes, "REST_S", 0.01)
    pairs = [Pair(f"a_{gene}", "a", gene, None, "test") for gene in ("one", "once", "always", "zero", "two")]
    unforeseen: list[BaseException] = []
    ended: list[str] = []

    def ends_it(gene: str) -> bool:
        ended.append(gene)
        return gene == "always" or (gene == "once" and ended.count("once") == 1)

    async def use() -> tuple[list[RowResult | Failed], RayBackend]:
        async with working(monkeypatch, LocalCluster(ends_it=ends_it), Failing(), log=unforeseen.append) as backend:
            rows = await asyncio.wait_for(asyncio.gather(*(backend.predict(pair, RowFeed(pair)) for pair in pairs)), 20)
        return rows, backend

    rows, backend = asyncio.run(use())
    failed = {row.pair_id: row for row in rows if isinstance(row, Failed)}
    assert {pair_id: row.kind for pair_id, row in failed.items()} == {"a_always": "ProcessDied", "a_zero": "ZeroDivisionError"}
    assert failed["a_always"].message == ("2 processes died while they predicted it, the last: a process died (The actor died.)")
    assert [row.prediction.pair_id for row in rows if isinstance(row, RowResult)] == ["a_one", "a_once", "a_two"]
    [node] = backend.nodes
    assert (node.given_back, node.done) == (3, 4)
    [error] = unforeseen
    assert type(error).__name__ == "ZeroDivisionError"
    assert "constant(pair, tokens=1 // " in "".join(error.__notes__)
