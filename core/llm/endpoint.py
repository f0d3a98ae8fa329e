"""A model server: its address, key, time limits and retry policy, and one exchange with it through the `openai` package."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, field
from typing import Any, Literal

from core.errors import InputError
from core.llm.answers import error_message_of
from core.net.addresses import check_address, scrub
from core.net.retry import RetryPolicy
from core.net.transport import ConnectionFailed, Fault, HttpResponse, exchange, fault_of_status, open_http_client

Method = Literal["GET", "POST"]
EXAMPLE = "http://127.0.0.1:8000/v1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server; base_url ends in /v1.

    timeout_s: for one whole answer. connect_timeout_s: for making a connection. The other numbers: see `RetryPolicy`.
    Raises InputError if the address, the key or a number is invalid; its text never shows the key.
    """

    base_url: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 600.0
    connect_timeout_s: float = 5.0
    retries: int = 5
    backoff_s: float = 0.5
    longest_backoff_s: float = 30.0
    longest_wait_s: float = 120.0

    def __post_init__(self) -> None:
        check_address("endpoint", self.base_url, EXAMPLE)
        if not all("!" <= character <= "~" for character in self.api_key):
            raise InputError("endpoint: the key holds a space, a line break or no ASCII, expected printable ASCII (not shown)")
        for name in ("timeout_s", "connect_timeout_s"):
            _check(name, getattr(self, name), 0 < getattr(self, name) < math.inf, "seconds, more than 0")
        for name in ("retries", "backoff_s", "longest_backoff_s", "longest_wait_s"):
            _check(name, getattr(self, name), 0 <= getattr(self, name) < math.inf, "0 or more")

    @property
    def retry_policy(self) -> RetryPolicy:
        """When a failed call is sent again."""
        return RetryPolicy(self.retries, self.backoff_s, self.longest_backoff_s, self.longest_wait_s)

    def scrub(self, text: str) -> str:
        """The text without the key."""
        return scrub(text, self.api_key)


def _check(name: str, value: object, holds: bool, expected: str) -> None:
    if not holds:
        raise InputError(f"endpoint: {name} is {value!r}, expected {expected}")


class ModelTransport:
    """Connections to one model server, kept open, for one event loop. No answer and no fault holds the key."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        from httpx2 import Limits, Response, Timeout
        from openai import AsyncOpenAI, DefaultAioHttpClient, DefaultAsyncHttpxClient

        self.endpoint = endpoint
        self._response_type = Response
        timeout = Timeout(None, connect=endpoint.connect_timeout_s)
        self._openai = AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key or "none",
            max_retries=0,
            timeout=timeout,
            http_client=open_http_client(
                endpoint.base_url,
                # The client of aiohttp needs a third less time a call; openai carries it, aiohttp is optional.
                base=DefaultAioHttpClient if importlib.util.find_spec("aiohttp") else DefaultAsyncHttpxClient,
                timeout=timeout,
                limits=Limits(max_connections=connections, max_keepalive_connections=connections),
            ),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._openai.close()

    async def send(self, method: Method, url: str, body: str | None = None) -> str | Fault:
        """The text of an answer of status 2xx. url: a path below the endpoint's, or a whole address."""
        response = await exchange(lambda _: self._send(method, url, body), self.endpoint.timeout_s)
        if isinstance(response, Fault):
            return response
        text = self.endpoint.scrub(response.content.decode("utf-8", "replace"))
        if 200 <= response.status < 300:
            return text
        return fault_of_status(response, f" ({error_message_of(text)})", text)

    async def _send(self, method: Method, url: str, body: str | None) -> HttpResponse:
        from openai import APIConnectionError, APIStatusError

        response: Any
        try:
            if method == "GET":
                response = await self._openai.get(url, cast_to=self._response_type)
            else:
                response = await self._openai.post(url, cast_to=self._response_type, content=(body or "").encode())
        except APIStatusError as error:
            response = error.response
        except APIConnectionError as error:
            cause = error.__cause__ or error  # openai's own text says only that there was an error
            raise ConnectionFailed(self.endpoint.scrub(str(cause) or type(cause).__name__)) from None
        return HttpResponse(response.status_code, response.headers, response.content)
