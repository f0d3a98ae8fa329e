"""Answers of status 1xx, which come before an answer and mean nothing here: a server may send a few, not a stream of them.

The client of aiohttp reads as many as come, and runs nothing else meanwhile.

Long texts are read in a thread, one at a time, so that what else goes on has its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from httpx2 import AsyncClient


T = TypeVar("T")
_SHORT = 1 << 16  # characters that are read in no time


MOST_INTERIM = 20
_PART_BYTES = 4 << 10  # that are read at a time until the answer begins


def limit_interim_answers(base: type[AsyncClient]) -> type[AsyncClient]:
    """Return the class of a client of aiohttp whose connections close after more than MOST_INTERIM such answers to a request."""

    class LimitedClient(base):  # type: ignore[misc, valid-type]
        def _init_transport(self, *arguments: Any, **options: Any) -> Any:
            return _limit(super()._init_transport(*arguments, **options))

        def _init_proxy_transport(self, *arguments: Any, **options: Any) -> Any:
            return _limit(super()._init_proxy_transport(*arguments, **options))

    return LimitedClient


def _limit(transport: Any) -> Any:
    """Have each session of a transport make its connections by our protocol: aiohttp has no public way to choose it."""
    if not hasattr(transport, "get_client"):  # given by whoever made the client
        return transport
    get_client, protocol = transport.get_client, _protocol()

    def get_limited() -> Any:
        session = get_client()
        session.connector._factory = partial(protocol, loop=asyncio.get_running_loop())
        return session

    transport.get_client = get_limited
    return transport


def _protocol() -> Any:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.http_exceptions import BadHttpMessage

    class LimitedProtocol(ResponseHandler):
        _interim, _has_begun = 0, False

        def set_response_params(self, **options: Any) -> None:
            self._interim, self._has_begun = 0, False
            super().set_response_params(**options)

        def feed_data(self, data: Any, size: int = 0) -> None:
            if 100 <= data[0].code < 200:
                self._interim += 1
            else:
                self._has_begun = True
            super().feed_data(data, size)

        def data_received(self, data: bytes) -> None:
            while len(data) > _PART_BYTES and not self._has_begun and self._interim <= MOST_INTERIM:
                super().data_received(data[:_PART_BYTES])
                data = data[_PART_BYTES:]
            if self._interim <= MOST_INTERIM:
                super().data_received(data)
            if self._interim > MOST_INTERIM and self.transport is not None:
                self.transport.abort()
                self.set_exception(BadHttpMessage(f"more than {MOST_INTERIM} answers of status 1xx"))

    return LimitedProtocol


async def read_aside(read: Callable[[str], T], text: str) -> T:
    """Return the value of a function of a text; a long text is read in the thread."""
    if len(text) <= _SHORT:
        return read(text)
    return await asyncio.get_running_loop().run_in_executor(_reader(), read, text)


@lru_cache(maxsize=1)
def _reader() -> ThreadPoolExecutor:
    """Return one thread: several that parse at a time would keep Python to themselves for as long as all of them take."""
    return ThreadPoolExecutor(1, "long texts")
