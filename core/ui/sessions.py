"""What reaches the sessions of a shared server, before Streamlit acts on it.

Streamlit reads who signed in once, when a browser connects. It runs callbacks and fragments, and makes files for downloads,
without the page that would ask again. So every message is looked at here first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from google.protobuf.message import DecodeError
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

from core.errors import InputError
from core.log import record_error
from core.ui.shared.account import account_of

SIGNED_IN = "_streamlit_user"  # Streamlit's cookie, of which a long one has further parts
MOST_SIGNED_OUT = 10_000  # cookies that are remembered
FOR_EVERYBODY = frozenset({"rerun_script", "stop_script", "app_heartbeat"})
FOR_PEOPLE = FOR_EVERYBODY | {"file_urls_request", "backend_operation_request"}
OPERATIONS = frozenset({"deferred_file", "dataframe_chunk"})
SIGN_IN_ENDED = 4001  # a code of our own: the browser connects anew, with the cookie that it has then


class PageMessages:
    """ASGI middleware that lets through what pages send, and nothing that clears caches or asks about the checkout.

    With a sign-in, who has no role gets whole pages alone, which are the sign-in; a session ends with its sign-in; and files that
    pages made are for people with a role.
    """

    def __init__(self, app: ASGIApp, *, sign_in: bool) -> None:
        self.app = app
        self.sign_in = sign_in
        self._signed_out: dict[str, None] = {}  # hashes of cookies, the oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._serve_socket(scope, receive, send)
        elif scope["type"] == "http" and self.sign_in:
            await self._serve_file(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _serve_file(self, scope: Scope, receive: Receive, send: Send) -> None:
        cookies, path = HTTPConnection(scope).cookies, scope["path"]
        if path.endswith("/auth/logout") and SIGNED_IN in cookies:
            self._signed_out[_hash(cookies)] = None
            while len(self._signed_out) > MOST_SIGNED_OUT:
                self._signed_out.pop(next(iter(self._signed_out)))
        if "/media/" in path and not self._has_role(cookies):
            await PlainTextResponse("Sign in first.", 403)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        cookies = HTTPConnection(scope).cookies
        was_signed_in = self.sign_in and self._is_signed_in(cookies)
        if self.sign_in and not was_signed_in:
            scope = {**scope, "headers": _without_sign_in(scope["headers"])}

        async def receive_checked() -> Message:
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                if was_signed_in and not self._is_signed_in(cookies):
                    await send({"type": "websocket.close", "code": SIGN_IN_ENDED})
                    return {"type": "websocket.disconnect", "code": SIGN_IN_ENDED}
                if (checked := self._check(message, cookies)) is not None:
                    return checked

        await self.app(scope, receive_checked, send)

    def _check(self, message: Message, cookies: Mapping[str, str]) -> Message | None:
        """Return a message as it may go on; None if it may not."""
        sent = BackMsg()
        try:
            sent.ParseFromString(message.get("bytes") or b"")
        except DecodeError:
            return message  # Streamlit ends such a connection
        is_person = not self.sign_in or self._has_role(cookies)
        kind = sent.WhichOneof("type")
        if kind not in (FOR_PEOPLE if is_person else FOR_EVERYBODY):
            return None if kind is not None else message
        if kind == "backend_operation_request" and sent.backend_operation_request.WhichOneof("payload") not in OPERATIONS:
            return None
        if is_person or not sent.rerun_script.fragment_id:
            return message
        sent.rerun_script.fragment_id = ""  # a part of a page knows nothing of the sign-in
        return {"type": "websocket.receive", "bytes": sent.SerializeToString()}

    def _has_role(self, cookies: Mapping[str, str]) -> bool:
        account = account_of(_user_in(cookies)) if self._is_signed_in(cookies) else None
        try:
            return account is not None and account.person() is not None
        except InputError as error:
            record_error("the roles", error)
            return False

    def _is_signed_in(self, cookies: Mapping[str, str]) -> bool:
        """Whether a browser's cookie is Streamlit's, is not too old, and its person has not signed out."""
        return _hash(cookies) not in self._signed_out and bool(_user_in(cookies))


def _hash(cookies: Mapping[str, str]) -> str:
    return sha256(cookies.get(SIGNED_IN, "").encode()).hexdigest()


def _user_in(cookies: Mapping[str, str]) -> dict[str, Any]:
    """Return what the provider said of who signed in; empty if there is no cookie, or if it is forged or too old."""

    def read(name: str) -> bytes | None:
        value = cookies.get(name)
        return None if value is None else decode_signed_value(get_cookie_secret(), name, value.encode("latin-1", "replace"))

    found = get_cookie_with_chunks(read, SIGNED_IN)
    return json.loads(found) if found else {}


def _without_sign_in(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers without the cookies of a sign-in."""

    def keep(cookies: bytes) -> bytes:
        return b"; ".join(part for each in cookies.split(b";") if not (part := each.strip()).startswith(SIGNED_IN.encode()))

    return [(name, keep(value) if name.lower() == b"cookie" else value) for name, value in headers]
