"""The connection to a Ray cluster: who may use it, how one starts here, and calls on its nodes. Ray
is imported when needed.

A cluster started here ends with this process, listens on the loopback interface only, and has no
dashboard.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import secrets
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

from core.base.config import REPOSITORY
from core.base.environment import describe as describe_version
from core.base.environment import without_secrets
from core.base.errors import (
    DeskError,
    InputError,
    MissingPackage,
    StateError,
    Unreachable,
    require_package,
)
from core.base.file_io import temporary_folder
from core.base.log import LOGGER
from core.base.types import Options
from core.methods.base import GathersDossier, Method, RowMethod
from core.runs.spec import ExecutionSettings

REQUIREMENTS = "requirements-cluster.txt"
CONNECT_S = 5.0
OWN_STORE_BYTES = 200_000_000  # of shared memory, for the data that all rows need
_PURPOSE = "the backend ray"
# A cluster of our own listens on the loopback interface only and requires a token, which Ray reads
# once in a process.
_OWN = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}


def check_ray(settings: ExecutionSettings, method: Method, options: Options) -> None:
    """Raise InputError if Ray cannot run this method with these options, and what `check_cluster`
    raises."""
    if not isinstance(method, RowMethod):
        raise InputError(
            f"backend: got ray, but {method.name} predicts all rows at once, on one machine;"
            " expected local"
        )
    sources = options.get("sources", "packs")
    if sources != "packs" and not isinstance(method, GathersDossier):
        why = (
            f"the model of {method.name} asks them while it works, and one process has to observe"
            " their rate limits"
        )
        raise InputError(
            f"backend: got ray, but sources is {sources}: {why}; expected sources packs or backend"
            " local"
        )
    check_cluster(settings.ray_address)


def check_cluster(address: str) -> None:
    """Raise MissingPackage without Ray, and Unreachable if nothing listens at HOST:PORT: Ray would
    try for a minute."""
    if importlib.util.find_spec("ray") is None:
        raise MissingPackage(
            f"{_PURPOSE} needs the package ray, which is not installed: pip install -r"
            f" {REQUIREMENTS}"
        )
    if address in ("", "auto"):
        return
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, UnicodeError) as error:  # of an invalid host, such as a..b
        why = getattr(error, "strerror", None) or error
        expected = "expected the HOST:PORT that `ray start --head` prints, or auto"
        raise Unreachable(f"ray address {address}: no connection ({why}), {expected}") from error


def refuse_other_version(version: str) -> None:
    """Raise StateError if other code than the driver's, of this version, runs here."""
    if describe_version() != version:
        raise StateError(
            f"ray: a node has PerturbDesk {describe_version()}, expected {version} as the driver"
        )


def _log_lines(data: Mapping[str, Any], *_: object, **__: object) -> None:
    """Write a message of Ray into the workspace's log, cut at a blank: no secret is cut in two and
    missed."""
    for line in data["lines"]:
        LOGGER.info("ray: %s", shorten(line, 300))


class Cluster:
    """The connection to a cluster, one in a process: at HOST:PORT, "auto" for that of this machine,
    or "" to start one.

    It takes seconds: call it in a thread. Raises MissingPackage without Ray, Unreachable if it
    can't be joined or started.
    """

    def __init__(self, address: str) -> None:
        check_cluster(address)
        # Ray and its processes read it when Ray is imported.
        environment = {"RAY_USAGE_STATS_ENABLED": "0"} | ({} if address else _OWN)
        self._before = {name: os.environ.get(name) for name in environment}
        os.environ |= environment
        self.ray = require_package("ray", _PURPOSE, REQUIREMENTS)
        logging.getLogger("ray").setLevel(logging.ERROR)
        # Ray prints messages of its processes on standard output, where a command writes its JSON.
        self.ray._private.worker.print_to_stdstream = _log_lines
        self._own = contextlib.ExitStack()
        try:
            self._connect(address)
        except (self.ray.exceptions.RayError, RuntimeError, ValueError, OSError) as error:
            self.close()
            which = (
                f"ray address {address}: cannot join a cluster"
                if address
                else "ray: cannot start a cluster here"
            )
            raise Unreachable(f"{which} ({' '.join(str(error).split())})") from error

    def _connect(self, address: str) -> None:
        how: dict[str, Any] = {"address": address}
        if not address:
            from ray._private import ray_constants

            # as the environment says, if Ray was imported before
            ray_constants.ENABLE_RAY_CLUSTER = False
            # For Ray's logs and sockets; a socket's path has at most 107 bytes.
            folder = self._own.enter_context(temporary_folder("ray", Path("/tmp")))
            how = {
                "address": "local",
                "_node_ip_address": "127.0.0.1",
                "include_dashboard": False,
                "_temp_dir": str(folder),
            }
            how["object_store_memory"] = OWN_STORE_BYTES
        elif address != "auto":
            from ray._private.services import canonicalize_bootstrap_address

            # Ray replaces a loopback address by this machine's own, and retries for minutes if no
            # cluster listens there.
            check_cluster(canonicalize_bootstrap_address(address) or address)
        # So that nodes with this checkout at the same path run it; other nodes need it installed.
        paths = self.ray.job_config.JobConfig(_py_driver_sys_path=[str(REPOSITORY)])
        with without_secrets(keep=("RAY_AUTH_TOKEN",)):  # Ray's processes get this environment
            self.ray.init(**how, job_config=paths, log_to_driver=False, configure_logging=False)

    def close(self) -> None:
        """End the connection, and the cluster if it was started here."""
        self.ray.shutdown()
        for name, value in self._before.items():
            os.environ.pop(name, None)
            os.environ |= {} if value is None else {name: value}
        self._own.close()

    def cpus(self) -> list[int]:
        """Return the CPUs of each living node that has some."""
        return [
            n
            for node in self.ray.nodes()
            if node["Alive"] and (n := int(node["Resources"].get("CPU", 0)))
        ]

    def share(self, value: Any) -> Any:
        """Put a value into the cluster's store, which copies it to each node once; return its
        reference, or raise StateError."""
        try:
            return self.ray.put(value)
        except self.ray.exceptions.RayError as error:
            raise self.error_of(error) from error

    def start_batch(self, function: Callable[..., Iterator[Any]], *arguments: Any) -> Any:
        """Start a generator as a task, without retries; return an async iterator of references to
        what it yields."""
        options = {
            "num_cpus": 1,
            "max_retries": 0,
            "num_returns": "streaming",
            "scheduling_strategy": "SPREAD",
        }
        return self.ray.remote(**options)(function).remote(*arguments)

    def call_each(
        self, function: Callable[[Any, Any], Any], items: Iterable[Any], shared: Any
    ) -> Iterator[Any]:
        """Yield function(item, shared) for each item, in order; few items are held at a time.

        A call whose process dies is made again, three times at most. Raise the function's
        DeskError, StateError for all else.
        """
        call, everywhere = self.ray.remote(_call_checked), self.share(shared)
        waiting: deque[Any] = deque()
        # for each CPU one that is worked on, one whose item travels meanwhile
        most = 2 * max(1, sum(self.cpus()))
        try:
            for item in items:
                waiting.append(call.remote(describe_version(), function, item, everywhere))
                if len(waiting) >= most:
                    yield self.ray.get(waiting.popleft())
            yield from map(self.ray.get, waiting)
        except self.ray.exceptions.RayError as error:
            raise self.error_of(error) from error

    def error_of(self, error: Any) -> DeskError:
        """Return the error that a task raised, StateError if it was none of ours."""
        cause = getattr(error, "cause", None)
        if isinstance(cause, DeskError):
            return cause
        what = (
            f"{type(cause).__name__}: {cause}"
            if isinstance(cause, Exception)
            else " ".join(str(error).split())
        )
        return StateError(f"ray: {what}")


def _call_checked(version: str, function: Callable[[Any, Any], Any], item: Any, shared: Any) -> Any:
    refuse_other_version(version)
    return function(item, shared)
