"""One exchange with a model server through the `openai` package: the text of its answer, or a fault."""

from __future__ import annotations

import importlib.util
from typing import Any, Literal

from core.llm.answers import error_message_of
from core.llm.endpoint import Endpoint
from core.net.transport import ConnectionFailed, Fault, HttpResponse, exchange, fault_of_status, open_http_client

Method = Literal["GET", "POST"]


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
