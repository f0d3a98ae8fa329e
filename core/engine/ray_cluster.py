"""A Ray cluster: whether a run can be worked on there, the connection to it, and its nodes. Ray is imported when it is needed.

A cluster started here ends with this process, listens on the loopback interface only, and has neither dashboard nor usage
statistics.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import secrets
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import Any, cast

from filelock import FileLock, Timeout

from core.config import REPOSITORY
from core.engine.spec import ExecutionSettings
from core.environment import without_secrets
from core.errors import InputError, MissingPackage, StateError, Unreachable
from core.log import LOGGER
from core.methods.base import Method, RowMethod
from core.packages import require_package

REQUIREMENTS = "requirements-cluster.txt"
CONNECT_S = 5.0
OWN_STORE_BYTES = 200_000_000  # of shared memory, for the data that all rows need
_LONGEST_LINE = 300  # characters of a message of Ray
_PURPOSE = "the backend ray"
# Sockets lie in this folder, and their paths may have 107 bytes: it cannot be a folder of the user's choice.
_TEMPORARY = "/tmp"
_PREFIX = "perturbdesk-ray-"
_LOCK = "driver.lock"  # locked as long as the driver lives
_YOUNG_S = 60.0  # within which a process of an earlier version may not yet name its folder


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A living node of a cluster. id: Ray's. address: its IP address and the beginning of its id, since several may share one."""

    id: str
    address: str
    cpus: int


def check_ray(settings: ExecutionSettings, method: Method, options: Mapping[str, Any]) -> None:
    """Raise an error if Ray cannot run this method with these options.

    Raise InputError if the method predicts all rows at once or asks public sources, MissingPackage without Ray, and Unreachable
    if no cluster listens at the address.
    """
    if not isinstance(method, RowMethod):
        raise InputError(f"backend: got ray, but {method.name} predicts all rows at once, on one machine; expected local")
    sources = options.get("sources", "packs")
    if sources != "packs":
        raise InputError(
            f"backend: got ray, but sources is {sources}, whose rate limits one process has to observe; expected "
            "sources packs or backend local"
        )
    check_cluster(settings.ray_address)


def check_cluster(address: str) -> None:
    """Raise MissingPackage without Ray, and Unreachable if no cluster listens at the address."""
    if importlib.util.find_spec("ray") is None:
        raise MissingPackage(f"{_PURPOSE} needs the package ray, which is not installed: pip install -r {REQUIREMENTS}")
    if address not in ("", "auto"):
        _check_listens(address)


def _check_listens(address: str) -> None:
    """Raise Unreachable if no connection to HOST:PORT can be made; Ray itself would try for a minute."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, UnicodeError) as error:  # of an invalid host, such as a..b
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        expected = "expected the HOST:PORT that `ray start --head` prints, or auto"
        raise Unreachable(f"ray address {address}: no connection ({why}), {expected}") from error


@cache
def _own_environment() -> dict[str, str]:
    """Return the environment that makes Ray listen on the loopback interface only and require this process's token.

    By default, Ray stores the token in the user's home. It reads it once in a process.
    """
    return {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def _log_lines(data: Mapping[str, Any], *_: object, **__: object) -> None:
    """Write a message of Ray into the workspace's log."""
    for line in data["lines"]:
        LOGGER.info("ray: %s", shorten(line, _LONGEST_LINE))  # at a blank, so that no secret is cut in two and missed


def remove_left_folders(temporary: Path = Path(_TEMPORARY)) -> None:
    """Remove the folders of clusters whose driver has ended, with Ray's logs and sockets.

    Folders of other users and folders in use stay.
    """
    for folder in temporary.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = folder.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not _is_used(folder, about.st_mtime):
                shutil.rmtree(folder)


def _is_used(folder: Path, changed_at: float) -> bool:
    """Return whether the driver of a cluster lives.

    A cluster of an earlier version has no lock, but its processes name its folder.
    """
    if (folder / _LOCK).exists():
        try:
            with FileLock(folder / _LOCK, timeout=0):
                return False
        except Timeout:
            return True
    if abs(time.time() - changed_at) < _YOUNG_S:  # or the clock was set back since
        return True
    return any(str(folder).encode() in _command_line(process) for process in Path("/proc").glob("[0-9]*/cmdline"))


def _command_line(process: Path) -> bytes:
    try:
        return process.read_bytes()
    except OSError:  # it has ended
        return b""


class Cluster:
    """The connection of this process to a Ray cluster; a process can have one only.

    address: HOST:PORT, "auto" for the one that runs on this machine, or "" to start one. Raises MissingPackage without Ray, and
    Unreachable if the cluster cannot be joined or started. It takes seconds: call it in a thread.
    """

    def __init__(self, address: str) -> None:
        # Ray and its processes read it when Ray is imported.
        environment = {"RAY_USAGE_STATS_ENABLED": "0"} | ({} if address else _own_environment())
        self._before = {name: os.environ.get(name) for name in environment}
        os.environ |= environment
        self.ray = require_package("ray", _PURPOSE, REQUIREMENTS)
        logging.getLogger("ray").setLevel(logging.ERROR)
        # Ray prints messages of its processes on standard output, where a command writes its JSON.
        self.ray._private.worker.print_to_stdstream = _log_lines
        self._folder, self._lock = "", cast(FileLock | None, None)
        try:
            self._start() if not address else self._join(address)
        except (self.ray.exceptions.RayError, RuntimeError, ValueError, OSError) as error:
            self.close()
            why = " ".join(str(error).split())
            which = f"ray address {address}: cannot join a cluster" if address else "ray: cannot start a cluster here"
            raise Unreachable(f"{which} ({why})") from error

    def _start(self) -> None:
        from ray._private import ray_constants

        ray_constants.ENABLE_RAY_CLUSTER = False  # as the environment says, if Ray was imported before
        remove_left_folders()
        self._folder = tempfile.mkdtemp(prefix=_PREFIX, dir=_TEMPORARY)  # readable by this user only
        self._lock = FileLock(Path(self._folder, _LOCK))
        self._lock.acquire()
        self._init(
            address="local",
            include_dashboard=False,
            object_store_memory=OWN_STORE_BYTES,
            _node_ip_address="127.0.0.1",
            _temp_dir=self._folder,
        )
        for session in Path(self._folder).glob("session_*"):
            if session.is_dir() and not session.is_symlink():
                session.chmod(0o700)  # the folder around it is closed too

    def _join(self, address: str) -> None:
        if address != "auto":
            from ray._private.services import canonicalize_bootstrap_address

            # Ray replaces a loopback address by this machine's own, and retries for minutes if no cluster listens there.
            _check_listens(canonicalize_bootstrap_address(address) or address)
        self._init(address=address)

    def _init(self, **how: Any) -> None:
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
        if self._folder:
            with contextlib.suppress(OSError):
                shutil.rmtree(self._folder)
            if self._lock is not None:
                self._lock.release()

    def nodes(self) -> tuple[ClusterNode, ...]:
        """Return the living nodes that have CPUs."""
        return tuple(
            ClusterNode(node["NodeID"], f"{node['NodeManagerAddress']} ({node['NodeID'][:6]})", int(node["Resources"]["CPU"]))
            for node in self.ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
        )

    def start_actor(self, node: ClusterNode, *arguments: Any) -> Any:
        """Start a process on a node that predicts rows (see `RowActor`); return its handle. It is not restarted if it dies.

        arguments: those of `RowActor`; values from `share` are one object for all processes of a node.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        from core.engine.ray_actor import RowActor

        there = NodeAffinitySchedulingStrategy(node.id, soft=False)
        options = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": there}
        return self.ray.remote(RowActor).options(**options).remote(*arguments)

    def share(self, value: Any) -> Any:
        """Put a value into the cluster's object store, which copies it to each node once; return its reference.

        Raise StateError if that fails.
        """
        try:
            return self.ray.put(value)
        except self.ray.exceptions.RayError as error:
            why = " ".join(str(error).split())
            raise StateError(f"ray: cannot put the shared data into the object store ({why})") from error
