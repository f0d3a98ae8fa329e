"""The app behind a content-security policy, so that no text on its pages can make the browser
contact another server.

Its page also tells the browser where the server is.
"""

from __future__ import annotations

import logging
import re
import sys
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote, unquote

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime.pages_manager import PagesManager

from core.base.config import CALLBACK, REPOSITORY, load_settings
from core.base.log import record_error, scrub_output
from core.base.net.server_access import redirect_uri
from core.features.server import preparing
from core.features.server.access import SIGNED_IN, check_access, check_messages
from core.features.server.limits import SessionLimits, UploadLimits, ending_sessions
from core.ui.background import background

# While a page computes, each message to the browser waits for its thread to yield: by default 5 ms.
sys.setswitchinterval(0.0005)

# The router names all pages. Until it has run once, Streamlit would take those of pages/ for all,
# and tell the first visitor of another one that there is no such page.
PagesManager.uses_pages_directory = False

# By default, Streamlit's page first tries its own address as the server's, fails, waits 0.1 s, and
# tries the folder.
BASE_SCRIPT = 'window.__streamlit={BACKEND_BASE_URL:new URL(".",location.href).href}'
_PAGE = Path(st.__file__).with_name("static").joinpath("index.html").read_bytes()
_PAGE_WITH_BASE = _PAGE.replace(b"<head>", f"<head><script>{BASE_SCRIPT}</script>".encode(), 1)


def _inline_script_hashes() -> str:
    """Return the hashes of the inline scripts in Streamlit's page and of our own: no other inline
    script may run."""
    scripts = re.findall(r"<script>(.*?)</script>", _PAGE_WITH_BASE.decode(), re.DOTALL)
    return " ".join(
        f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts
    )


POLICY = (
    f"default-src 'self'; script-src 'self' blob: {_inline_script_hashes()}; connect-src 'self';"
    " img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; font-src 'self' data:;"
    " worker-src 'self' blob:; frame-ancestors 'none'; object-src 'none'"
)
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
}
OPENED = "opened_before_sign_in"  # our cookie
_COOKIE = "Path=/; HttpOnly; SameSite=Lax"
# a path of this server: printable ASCII, no backslash, no second slash that begins a host
_OWN_ADDRESS = re.compile(r"/(?!/)[ -\[\]-~]*")


def add_security_headers(app: ASGIApp, address: str = "") -> ASGIApp:
    """Return ASGI middleware that adds HEADERS to every response, and restricts cookies to HTTPS if
    the app is reached by HTTPS."""
    is_secure = address.startswith("https:")

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (name, value + b"; Secure")
                    if is_secure
                    and name.lower() == b"set-cookie"
                    and b"; secure" not in value.lower()
                    else (name, value)
                    for name, value in message.get("headers", [])
                ]
                message["headers"] = [*headers, *HEADERS.items()]
            await send(message)

        await app(scope, receive, with_headers if scope["type"] == "http" else send)

    return serve


def add_base_script(app: ASGIApp) -> ASGIApp:
    """Return ASGI middleware that adds BASE_SCRIPT to Streamlit's page, and to no other file."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        started: list[Message] = []  # waits for the body, which determines the length

        async def with_script(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
                return
            if started:
                start = started.pop()
                if message.get("body") == _PAGE:
                    message["body"] = _PAGE_WITH_BASE
                    MutableHeaders(scope=start)["content-length"] = str(len(_PAGE_WITH_BASE))
                await send(start)
            await send(message)

        is_page = scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", "")
        if is_page:
            background().rest()
            # a compressed page cannot be changed
            del MutableHeaders(scope=scope)["accept-encoding"]
        await app(scope, receive, with_script if is_page else send)

    return serve


def return_after_sign_in(app: ASGIApp) -> ASGIApp:
    """Return ASGI middleware that stores, in a cookie, the address opened before the sign-in, and
    redirects to it afterwards.

    Streamlit itself redirects to the first page. The cookie is read once, and never redirects to
    another server.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        request = Request(scope)
        path, cookies = request.url.path, request.cookies

        async def with_address(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if path.endswith(f"/{CALLBACK}") and "location" in headers:
                    address = unquote(cookies.get(OPENED, ""))
                    if _OWN_ADDRESS.fullmatch(address):
                        headers["location"] = address
                    headers.append("set-cookie", f"{OPENED}=; {_COOKIE}; Max-Age=0")
                elif SIGNED_IN not in cookies and headers.get("content-type", "").startswith(
                    "text/html"
                ):
                    opened = quote(f"{path}?{request.url.query}".rstrip("?"))
                    headers.append("set-cookie", f"{OPENED}={opened}; {_COOKIE}; Max-Age=600")
            await send(message)

        await app(scope, receive, with_address)

    return serve


_SETTINGS = load_settings()
scrub_output(_SETTINGS)
# The log has the errors of pages; on standard error they would come again, with tracebacks.
logging.getLogger("streamlit.error_util").addFilter(lambda record: record.exc_info is None)
_FOR_OTHERS = [
    Middleware(check_access, settings=_SETTINGS),
    Middleware(SessionLimits, settings=_SETTINGS),
    Middleware(check_messages, sign_in=_SETTINGS.sign_in),
]


@asynccontextmanager
async def _serving(_: object) -> AsyncIterator[None]:
    preparing.begin()
    async with ending_sessions(_SETTINGS):
        yield


app = st.App(
    REPOSITORY / "app.py",
    middleware=[
        Middleware(
            add_security_headers, address=_SETTINGS.base_url or redirect_uri(_SETTINGS.secrets_file)
        ),
        *(_FOR_OTHERS if _SETTINGS.is_shared else []),
        Middleware(UploadLimits, settings=_SETTINGS),
        *([Middleware(return_after_sign_in)] if _SETTINGS.sign_in else []),
        Middleware(add_base_script),
    ],
    lifespan=_serving,
    # such as one in a widget's callback
    on_script_error=partial(record_error, "an error that no page foresaw"),
)
