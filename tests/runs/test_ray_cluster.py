"""A connection to a Ray cluster that fails, without a cluster; test_ray.py has real ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import StateError, Unreachable
from core.runs.ray_cluster import Cluster, check_cluster


def test_a_host_that_cannot_be_one_is_said_so() -> None:
    with pytest.raises(
        Unreachable,
        match=r"ray address a\.\.b:6379: no connection \(.*label empty.*expected the HOST:PORT",
    ):
        check_cluster("a..b:6379")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module, whose clusters are neither joined nor left."""
    import ray

    monkeypatch.setattr(ray, "init", lambda **_: None)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    return ray


def test_an_error_of_rays_own_says_that_no_cluster_could_be_joined(
    ray: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(**_):
        raise ray.exceptions.AuthenticationError("the token is not that of the cluster")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(
        Unreachable,
        match=r"ray address auto: cannot join a cluster \(.*the token is not that of the cluster",
    ):
        Cluster("auto")


def test_what_the_object_store_does_not_take_is_said_so(
    ray: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(_value):
        raise ray.exceptions.ObjectStoreFullError("no room")

    monkeypatch.setattr(ray, "put", put)
    cluster = Cluster("auto")
    try:
        with pytest.raises(StateError, match=r"ray: .*no room"):
            cluster.share(1)
    finally:
        cluster.close()


def test_a_cluster_that_is_started_here_is_closed_to_others_and_gets_no_secret(
    ray: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}

    def init(**how):
        folder = Path(how["_temp_dir"])
        (folder / "session_1").mkdir()
        seen.update(folder=folder, mode=folder.stat().st_mode & 0o777, environment=dict(os.environ))

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setenv("PERTURBDESK_API_KEY", "sk-of-the-lab-0123")
    cluster = Cluster("")
    assert seen["mode"] == 0o700
    assert "PERTURBDESK_API_KEY" not in seen["environment"]
    assert len(seen["environment"]["RAY_AUTH_TOKEN"]) == 64
    assert os.environ["PERTURBDESK_API_KEY"] == "sk-of-the-lab-0123"
    cluster.close()
    assert not seen["folder"].exists()
