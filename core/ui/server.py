"""The app behind a content-security policy, so that no text that it shows can make the browser contact another server."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.config import REPOSITORY
from core.log import record_error


def _inline_script_hashes() -> str:
    """The hashes of the inline scripts in the installed Streamlit's page: no other inline script may run."""
    page = Path(st.__file__).with_name("static") / "index.html"
    scripts = re.findall(r"<script>(.*?)</script>", page.read_text("utf-8"), re.DOTALL)
    return " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)


POLICY = (
    f"default-src 'self'; script-src 'self' blob: {_inline_script_hashes()}; connect-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; font-src 'self' data:; worker-src 'self' blob:; frame-ancestors 'none'; object-src 'none'"
)
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
}


class SecurityHeaders:
    """ASGI middleware that adds HEADERS to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS.items()]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


def _record(error: Exception) -> None:
    """Record an error that no page foresaw, such as one in a widget's callback; Streamlit shows it."""
    record_error("an error that no page foresaw", error)


app = st.App(REPOSITORY / "app.py", middleware=[Middleware(SecurityHeaders)], on_script_error=_record)
