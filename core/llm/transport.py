"""One HTTP exchange with a server: its text, or what went wrong. Nothing is repeated here."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.llm.answers import message_of
from core.llm.endpoint import Endpoint
from core.llm.errors import ModelError, Refused, Unanswered
from core.net.retry import retry_after_s

if TYPE_CHECKING:
    from openai import APIStatusError

PASSING = frozenset({408, 409, 429})


@dataclass(frozen=True, slots=True)
class Fault:
    """An exchange that brought nothing.

    passing: sending it again may help. status: None where no answer came. wait_s: how long the server asks to wait.
    """

    kind: type[ModelError]
    message: str
    passing: bool
    status: int | None = None
    wait_s: float | None = None
    raw: str = ""


class Wire:
    """Connections to one server, kept open; for one event loop. Neither a fault nor an answer holds the key."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        from httpx2 import Limits, Response, Timeout
        from openai import AsyncOpenAI, DefaultAioHttpClient, DefaultAsyncHttpxClient

        self.endpoint = endpoint
        self._response = Response
        timeout = Timeout(None, connect=endpoint.connect_timeout_s)  # a whole answer is timed in `send`
        # The client of aiohttp needs a third less time a call; openai carries it, aiohttp is optional.
        of_kind = DefaultAioHttpClient if importlib.util.find_spec("aiohttp") else DefaultAsyncHttpxClient
        self._openai = AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key or "none",
            max_retries=0,
            timeout=timeout,
            http_client=of_kind(
                timeout=timeout,
                limits=Limits(max_connections=connections, max_keepalive_connections=connections),
                trust_env=not endpoint.is_local,
            ),
        )

    async def close(self) -> None:
        await self._openai.close()

    async def send(self, method: Literal["GET", "POST"], url: str, body: str | None = None) -> str | Fault:
        """The text of a 2xx answer. url: a path below the endpoint's, or a whole address."""
        from openai import APIConnectionError, APIStatusError

        try:
            async with asyncio.timeout(self.endpoint.timeout_s):
                response = await self._exchange(method, url, body)
        except APIStatusError as error:
            return self._of_status(error)
        except TimeoutError:
            return self._passing(f"no answer within {self.endpoint.timeout_s:g} s")
        except APIConnectionError as error:
            return self._passing(f"the connection failed ({_cause(error)})")
        return self.endpoint.scrub(response.content.decode("utf-8", "replace"))

    async def _exchange(self, method: Literal["GET", "POST"], url: str, body: str | None) -> Any:
        if method == "GET":
            return await self._openai.get(url, cast_to=self._response)
        return await self._openai.post(url, cast_to=self._response, content=(body or "").encode())

    def _passing(self, message: str) -> Fault:
        return Fault(Unanswered, self.endpoint.scrub(message), passing=True)

    def _of_status(self, error: APIStatusError) -> Fault:
        raw = self.endpoint.scrub(error.response.content.decode("utf-8", "replace"))
        passing = error.status_code in PASSING or error.status_code >= 500
        return Fault(
            Unanswered if passing else Refused,
            f"HTTP {error.status_code} ({message_of(raw)})",
            passing,
            error.status_code,
            retry_after_s(error.response.headers, time.time()) if passing else None,
            raw,
        )


def _cause(error: BaseException) -> str:
    """What lies behind an error of openai's, whose own text says only that there is one."""
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__
