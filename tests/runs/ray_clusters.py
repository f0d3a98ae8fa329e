"""Ray clusters of several nodes on this machine, by Ray's own utility: on the loopback interface, without a dashboard."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

# Ray would listen on every interface and give its nodes the machine's address; drivers in other processes inherit this.
LOOPBACK = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
}
STORE_BYTES = 80_000_000  # of each node's object store; Ray takes no less
# A node that is killed is missed within a second instead of 20.
SOON = {
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 200,
    "health_check_failure_threshold": 3,
}


class Nodes:
    """The nodes of a cluster, of one CPU each; the head lives as long as the cluster."""

    def __init__(self, number: int) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True, head_node_args=_arguments(_system_config=SOON)
        )
        self.others: list[Any] = []
        for _ in range(number - 1):
            self.add()

    @property
    def address(self) -> str:
        """HOST:PORT of the head."""
        return str(self._cluster.address)

    def add(self) -> None:
        """Lets a node join."""
        self.others.append(self._cluster.add_node(**_arguments()))

    def kill(self) -> None:
        """Kills the node that joined first, as a machine that loses its power does."""
        self._cluster.remove_node(self.others.pop(0), allow_graceful=False)

    def holds_in_memory(self, text: str) -> bool:
        """Whether a text is in the memory of the process that keeps the cluster's records."""
        [server] = self._cluster.head_node.all_processes["gcs_server"]
        process = Path("/proc") / str(server.process.pid)
        with (process / "mem").open("rb") as memory:
            for line in (process / "maps").read_text().splitlines():
                area, rights, *_ = line.split()
                if rights.startswith("rw"):
                    first, last = (int(number, 16) for number in area.split("-"))
                    with suppress(OSError):  # it is the system's own, or has been given back
                        memory.seek(first)
                        if text.encode() in memory.read(last - first):
                            return True
        return False

    def close(self) -> None:
        self._cluster.shutdown()


def _arguments(**more: Any) -> dict[str, Any]:
    how = {
        "num_cpus": 1,
        "include_dashboard": False,
        "include_log_monitor": False,
        "no_monitor": True,
    }
    return {**how, "node_ip_address": "127.0.0.1", "object_store_memory": STORE_BYTES, **more}


@contextmanager
def cluster(number: int) -> Iterator[Nodes]:
    """A cluster of so many nodes, ended with the block."""
    with mock.patch.dict(os.environ, LOOPBACK):
        from ray._private import ray_constants

        # It says what the environment said when Ray was imported, which another test may have done before.
        with mock.patch.object(ray_constants, "ENABLE_RAY_CLUSTER", False):
            nodes = Nodes(number)
            try:
                yield nodes
            finally:
                nodes.close()
