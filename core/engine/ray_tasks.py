"""Calls a function once for each of many items on the nodes of a Ray cluster, for work that is not a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from core.engine.ray_cluster import Cluster, check_cluster
from core.errors import DeskError, StateError
from core.version import describe as describe_version

_WAITING = 2  # calls for each CPU: one that is worked on, one whose item travels meanwhile

Item = TypeVar("Item")
Shared = TypeVar("Shared")
Result = TypeVar("Result")


class RayTasks:
    """A connection to a Ray cluster that calls functions; as a context manager it ends the connection.

    address: as for `Cluster`. Raises what `check_cluster` and `Cluster` raise.
    """

    def __init__(self, address: str) -> None:
        check_cluster(address)
        self._cluster = Cluster(address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self._cluster.close()

    def call_each(self, function: Callable[[Item, Shared], Result], items: Iterable[Item], shared: Shared) -> Iterator[Result]:
        """Yield function(item, shared) for each item, in order. shared travels to each node once; few items are held at a time.

        A call whose process or node dies is made again elsewhere, three times at most. function: of a module. Raise the
        `DeskError` that it raises, and StateError for all else, and for nodes with another version.
        """
        ray = self._cluster.ray
        call = ray.remote(_call_checked)
        everywhere = self._cluster.share(shared)
        most = _WAITING * max(1, sum(node.cpus for node in self._cluster.nodes()))
        waiting: deque[Any] = deque()
        try:
            for item in items:
                waiting.append(call.remote(describe_version(), function, item, everywhere))
                if len(waiting) >= most:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            for left in waiting:
                ray.cancel(left)

    def _result(self, reference: Any) -> Any:
        errors = self._cluster.ray.exceptions
        try:
            return self._cluster.ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, DeskError):
                raise error.cause from None
            raise StateError(f"ray: {type(error.cause).__name__}: {error.cause}") from error
        except errors.RayError as error:
            raise StateError(f"ray: {' '.join(str(error).split())}") from error


def _call_checked(version: str, function: Callable[[Item, Shared], Result], item: Item, shared: Shared) -> Result:
    """Call a function on a node. Raise StateError if other code than the caller's runs here."""
    if describe_version() != version:
        raise StateError(f"ray: a node has PerturbDesk {describe_version()}, expected {version} as here")
    return function(item, shared)
