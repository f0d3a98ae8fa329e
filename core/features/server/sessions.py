"""Check the messages to sessions of a shared server before Streamlit acts on them.

Streamlit reads the sign-in once, when a browser connects. It runs callbacks and fragments, and
makes files for downloads, without running the page, which checks the sign-in. So every message is
checked here first.
"""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.message import DecodeError
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from core.features.server import access
from core.features.server.access import SIGNED_IN

FOR_EVERYBODY = frozenset({"rerun_script", "stop_script", "app_heartbeat"})
FOR_PEOPLE = FOR_EVERYBODY | {"file_urls_request", "backend_operation_request"}
OPERATIONS = frozenset({"deferred_file", "dataframe_chunk"})
SIGN_IN_ENDED = 4001  # a custom code: the browser reconnects with its present cookie


class PageMessages:
    """ASGI middleware that passes the messages of pages, but none that clear caches or ask about
    the checkout.

    With a sign-in, people without a role get only whole pages, which show the sign-in, and a
    session ends with its sign-in.
    """

    def __init__(self, app: ASGIApp, *, sign_in: bool) -> None:
        self.app = app
        self.sign_in = sign_in

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._serve_socket(scope, receive, send)
            return
        if scope["type"] == "http" and scope["path"].endswith("/auth/logout"):
            cookies = HTTPConnection(scope).cookies
            if SIGNED_IN in cookies:
                access.sign_out(cookies)
        await self.app(scope, receive, send)

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        cookies = HTTPConnection(scope).cookies
        was_signed_in = self.sign_in and bool(access.claims_at(cookies))
        if self.sign_in and not was_signed_in:
            scope = {**scope, "headers": _without_sign_in(scope["headers"])}

        async def receive_checked() -> Message:
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                if was_signed_in and not access.claims_at(cookies):
                    await send({"type": "websocket.close", "code": SIGN_IN_ENDED})
                    return {"type": "websocket.disconnect", "code": SIGN_IN_ENDED}
                if (checked := self._check(message, cookies)) is not None:
                    return checked

        await self.app(scope, receive_checked, send)

    def _check(self, message: Message, cookies: Mapping[str, str]) -> Message | None:
        """Return a message in its permitted form; None if it is refused."""
        sent = BackMsg()
        try:
            sent.ParseFromString(message.get("bytes") or b"")
        except DecodeError:
            return message  # Streamlit ends such a connection
        is_person = not self.sign_in or access.person_with(cookies) is not None
        kind = sent.WhichOneof("type")
        if kind not in (FOR_PEOPLE if is_person else FOR_EVERYBODY):
            return None if kind is not None else message
        if (
            kind == "backend_operation_request"
            and sent.backend_operation_request.WhichOneof("payload") not in OPERATIONS
        ):
            return None
        if is_person or not sent.rerun_script.fragment_id:
            return message
        sent.rerun_script.fragment_id = ""  # a fragment does not check the sign-in
        return {"type": "websocket.receive", "bytes": sent.SerializeToString()}


def _without_sign_in(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers without the cookies of a sign-in."""

    def keep(cookies: bytes) -> bytes:
        return b"; ".join(
            part
            for each in cookies.split(b";")
            if not (part := each.strip()).startswith(SIGNED_IN.encode())
        )

    return [(name, keep(value) if name.lower() == b"cookie" else value) for name, value in headers]
