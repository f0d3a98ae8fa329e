"""Check the messages to sessions of a shared server before Streamlit acts on them.

Streamlit reads the sign-in once, when a browser connects. It runs callbacks and fragments, and
makes files for downloads, without running the page, which checks the sign-in. So every message is
checked here first.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from core.features.server import access
from core.features.server.access import SIGNED_IN

MESSAGES_FOR_ALL = frozenset({"rerun_script", "stop_script", "app_heartbeat"})
MESSAGES_FOR_PEOPLE = MESSAGES_FOR_ALL | {"file_urls_request", "backend_operation_request"}
OPERATIONS = frozenset({"deferred_file", "dataframe_chunk"})
SIGN_IN_ENDED = 4001  # a custom code: the browser reconnects with its present cookie


def check_messages(app: ASGIApp, *, sign_in: bool) -> ASGIApp:
    """Return ASGI middleware that passes the messages of pages, but none that clear caches or ask
    about the checkout.

    With a sign-in, people without a role get only whole pages, which show the sign-in, and a
    session ends with its sign-in.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        cookies = HTTPConnection(scope).cookies if scope["type"] != "lifespan" else {}
        if scope["type"] != "websocket":
            if (
                scope["type"] == "http"
                and scope["path"].endswith("/auth/logout")
                and SIGNED_IN in cookies
            ):
                access.sign_out(cookies)
            await app(scope, receive, send)
            return
        was_signed_in = sign_in and bool(access.claims_at(cookies))
        if sign_in and not was_signed_in:
            scope = {**scope, "headers": _without_sign_in(scope["headers"])}

        async def receive_checked() -> Message:
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                if was_signed_in and not access.claims_at(cookies):
                    await send({"type": "websocket.close", "code": SIGN_IN_ENDED})
                    return {"type": "websocket.disconnect", "code": SIGN_IN_ENDED}
                is_person = not sign_in or access.person_with(cookies) is not None
                if (checked := _check(message, is_person=is_person)) is not None:
                    return checked

        await app(scope, receive_checked, send)

    return serve


def _check(message: Message, *, is_person: bool) -> Message | None:
    """Return a message in its permitted form; None if it is refused. is_person: whether a person
    with a role sent it."""
    sent = BackMsg()
    try:
        sent.ParseFromString(message.get("bytes") or b"")
    except DecodeError:
        return message  # Streamlit ends such a connection
    kind = sent.WhichOneof("type")
    if kind not in (MESSAGES_FOR_PEOPLE if is_person else MESSAGES_FOR_ALL):
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
