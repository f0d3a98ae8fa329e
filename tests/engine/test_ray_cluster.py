"""A connection to a Ray cluster that fails, without a cluster; test_ray.py has real ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from core.engine.ray_cluster import Cluster, check_cluster
from core.errors import StateError, Unreachable


def test_a_host_that_cannot_be_one_is_said_so() -> None:
    with pytest.raises(Unreachable, match=r"ray address a\.\.b:6379: no connection \(.*label empty.*expected the HOST:PORT"):
        check_cluster("a..b:6379")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module, whose clusters are neither joined nor left."""
    import ray

    monkeypatch.setattr(ray, "init", lambda **_: None)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    return ray


def test_an_error_of_rays_own_says_that_no_cluster_could_be_joined(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: Any) -> None:
        raise ray.exceptions.AuthenticationError("the token is not that of the cluster")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(
        Unreachable, match=r"ray address auto: no cluster could be joined \(.*the token is not that of the cluster"
    ):
        Cluster("auto")


def test_what_the_object_store_does_not_take_is_said_so(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def put(_value: object) -> None:
        raise ray.exceptions.ObjectStoreFullError("no room")

    monkeypatch.setattr(ray, "put", put)
    cluster = Cluster("auto")
    try:
        with pytest.raises(StateError, match=r"ray: what all need cannot be put into the object store \(.*no room"):
            cluster.share(1)
    finally:
        cluster.close()
