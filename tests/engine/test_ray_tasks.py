"""Calls on the nodes of a cluster, with this process in Ray's place; test_ray.py has real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.cells import differential_expression
from core.engine import ray_tasks
from core.engine.ray_cluster import ClusterNode
from core.engine.ray_tasks import RayTasks
from core.errors import InputError, StateError
from tests import commands
from tests.cells.cases import write_case

ADDRESS = "127.0.0.1:6379"


class LocalRayError(Exception):
    """What Ray raises where a process died."""


class LocalTaskError(LocalRayError):
    """What Ray raises where the function raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class LocalRay:
    """Calls a function when its result is asked for. begun, ended: the number of calls. cancelled: calls."""

    exceptions = SimpleNamespace(RayError=LocalRayError, RayTaskError=LocalTaskError)

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self.cancelled: list[object] = []

    def remote(self, function: Callable[..., object]) -> SimpleNamespace:
        def begin(*arguments: Any) -> Callable[[], object]:
            self.begun += 1
            return lambda: function(*arguments)

        return SimpleNamespace(remote=begin)

    def get(self, call: Callable[[], object]) -> object:
        self.ended += 1
        try:
            return call()
        except LocalRayError:
            raise
        except Exception as error:
            raise LocalTaskError(error) from error

    def cancel(self, call: object) -> None:
        self.cancelled.append(call)


class LocalCluster:
    """Two nodes of one CPU each."""

    def __init__(self) -> None:
        self.ray, self.is_closed = LocalRay(), False

    def nodes(self) -> tuple[ClusterNode, ...]:
        return tuple(ClusterNode(name, f"127.0.0.1 ({name})", 1) for name in ("a", "b"))

    def share(self, value: object) -> object:
        return value

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCluster]:
    """The cluster that `RayTasks` finds, which it has to leave."""
    found = LocalCluster()
    monkeypatch.setattr(ray_tasks, "check_cluster", lambda _address: None)
    monkeypatch.setattr(ray_tasks, "Cluster", lambda _address: found)
    yield found
    assert found.is_closed


def square(number: int, plus: int) -> int:
    if number == plus:
        raise InputError(f"number {number}: got {plus}, expected another")
    if number < 0:
        raise LocalRayError("the node\n  died")
    return 1 // number if number < 1 else number**2 + plus


def test_calls_come_back_in_order_and_few_are_held(cluster: LocalCluster) -> None:
    with RayTasks(ADDRESS) as tasks:
        for found, number in zip(tasks.call_each(square, range(1, 25), 100), range(1, 25), strict=True):
            assert found == number**2 + 100
            assert cluster.ray.begun - cluster.ray.ended <= 3
    assert cluster.ray.begun == 24


@pytest.mark.parametrize(
    ("number", "kind", "message"),
    [
        (3, InputError, r"^number 3: got 3, expected another$"),
        (0, StateError, r"^ray: ZeroDivisionError: "),
        (-1, StateError, r"^ray: the node died$"),
    ],
)
def test_a_call_that_fails_ends_the_others(cluster: LocalCluster, number: int, kind: type[Exception], message: str) -> None:
    with RayTasks(ADDRESS) as tasks, pytest.raises(kind, match=message):
        list(tasks.call_each(square, [number, 5, 6], 3))
    assert len(cluster.ray.cancelled) == 2


def test_other_code_on_a_node_is_refused(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = iter(("0.0.1", "0.0.2", "0.0.2"))
    monkeypatch.setattr(ray_tasks, "describe_version", lambda: next(versions))
    with RayTasks(ADDRESS) as tasks, pytest.raises(StateError, match=r"a node has PerturbDesk 0\.0\.2, expected 0\.0\.1 as here"):
        list(tasks.call_each(square, [1], 3))
    assert cluster.ray.ended == 1


@pytest.mark.soak
def test_labels_of_cells_are_those_of_one_process(cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differential_expression, "DENSE_VALUES", 50_000)  # several parts of the genes
    write_case(tmp_path / "screen.h5ad")
    for place, where in (("here", []), ("there", ["--backend", "ray", "--ray-address", ADDRESS])):
        commands.core_json(tmp_path / place, "cells", "labels", str(tmp_path / "screen.h5ad"), "--name", "screen", *where)
    ours, theirs = (sorted((tmp_path / place / "data" / "cells").rglob("*.*")) for place in ("here", "there"))
    assert [path.name for path in ours] == [path.name for path in theirs] != []
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(ours, theirs, strict=True))
    assert cluster.ray.begun > 1
    done = commands.core(tmp_path / "here", "cells", "labels", "screen.h5ad", "--name", "s", "--ray-address", "auto")
    assert (done.status, "--ray-address: got auto, but the backend is local" in done.err) == (1, True)
