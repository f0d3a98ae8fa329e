"""Access control of a shared server, decided before a request's body is read.

Streamlit opens sessions, takes uploads and shows its metrics to everyone: the sign-in on a page
protects only that page's content. Here each request is matched to the route that the app would take
for it, and routes that are not listed are refused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError
from itsdangerous import BadData, TimestampSigner
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config, runtime
from streamlit.auth_util import get_origin_from_redirect_uri
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette import starlette_routes as routes
from streamlit.web.server.starlette import starlette_websocket as websocket
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from core.base.config import CALLBACK, Settings, fold_address
from core.base.errors import DeskError, InputError
from core.base.file_io import read_file, replace_file
from core.base.log import record_error
from core.base.records import parse
from core.runs.workspace import Person
from core.ui.sign_in import ENFORCED, Account, account_of, may_upload_with

HEALTH = f"/{routes.ROUTE_HEALTH}"
METRICS = f"/{routes.ROUTE_METRICS}"
UPLOAD = f"/{routes._ROUTE_UPLOAD_FILE}"
STREAM = f"/{websocket._ROUTE_WEBSOCKET_STREAM}"
STATIC = ""  # Streamlit's own page and scripts, which are the same everywhere
FOR_ALL = {
    STATIC,
    HEALTH,
    f"/{routes.ROUTE_HOST_CONFIG}",
    "/auth/login",
    "/auth/logout",
    f"/{CALLBACK}",
}
FOR_PEOPLE = {
    METRICS,
    f"/{routes._ROUTE_MEDIA}",
    f"/{routes._ROUTE_COMPONENTS_V1}",
    f"/{routes._ROUTE_COMPONENTS_V2}",
}
_DEFAULT_PORTS = {"http": 80, "https": 443}
_Refusal = tuple[int, str]
_SIGN_IN_FIRST: _Refusal = (401, "Sign in first.")
_NOT_FOR_YOU: _Refusal = (403, "You may not open this, or a shared server does not offer it.")


def check_access(app: ASGIApp, settings: Settings) -> ASGIApp:
    """Return ASGI middleware of a shared server that passes allowed requests.

    Anybody may request what the sign-in needs, people with a role what pages need, and people who
    may change something may upload files into their own session.
    """
    global _sign_outs
    ENFORCED.set()
    _sign_outs = SignOuts(settings.data / "signed_out.json")

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            headers = Headers(scope=scope)
            expected = (
                served_origin(settings)
                or f"{'https' if scope['scheme'] == 'wss' else 'http'}://{headers.get('host')}"
            )
            path, _ = route_of(scope)
            if not (path == STREAM and headers.getlist("origin") == [expected]):
                await send({"type": "websocket.close", "code": 1008})
                return
        elif scope["type"] == "http" and (refusal := _refuse(scope, settings)):
            status, text = refusal
            await PlainTextResponse(text, status)(scope, receive, send)
            return
        await app(scope, receive, send)

    return serve


def _refuse(scope: Scope, settings: Settings) -> _Refusal | None:
    """Return the reason for refusing a request; None if it is allowed."""
    path, parameters = route_of(scope)
    reads = scope["method"] in ("GET", "HEAD")
    if path != HEALTH and not websocket.is_host_allowed(Headers(scope=scope).get("host")):
        return _NOT_FOR_YOU
    if path in FOR_ALL and reads:
        return None
    person = person_at(scope, settings)
    if settings.sign_in and person is None:
        return _SIGN_IN_FIRST
    if path in FOR_PEOPLE and reads:
        return None if settings.sign_in or path != METRICS else _NOT_FOR_YOU
    if path != UPLOAD or scope["method"] not in ("PUT", "DELETE"):
        return _NOT_FOR_YOU
    # people who may change something may upload files into their own session
    may_change = may_upload_with(settings) and (person is None or person.role == "editor")
    session = runtime.get_instance().get_app_session(parameters["session_id"])
    is_own = session is not None and owner_of(session, settings) == email_of(person)
    return None if may_change and is_own else _NOT_FOR_YOU


def route_of(scope: Scope) -> tuple[str | None, dict[str, str]]:
    """Return the path of a request's route, below the base address, and its parameters; None
    without a route.

    As in Starlette's router, it is the first route that matches, else the first with this path for
    other methods.
    """
    partial: tuple[str | None, dict[str, str]] = (None, {})
    base = config.get_option("server.baseUrlPath").strip("/")
    for route in scope["app"].routes:
        match, found = route.matches(scope)
        if match is Match.NONE:
            continue
        named = (route.path.removeprefix(f"/{base}") if base else route.path, found["path_params"])
        if match is Match.FULL:
            return named
        partial = partial if partial[0] is not None else named
    return partial


def person_at(scope: Scope, settings: Settings) -> Person | None:
    """Return who sent a request, by the cookie that Streamlit signed when they signed in; None if
    nobody has a role."""
    return person_with(HTTPConnection(scope).cookies) if settings.sign_in else None


def sessions() -> list[AppSession]:
    """Return Streamlit's sessions: those with an open tab, and those that wait for a
    reconnection."""
    while True:
        try:
            return [info.session for info in runtime.get_instance()._session_mgr.list_sessions()]
        except KeyError:  # one of them expired meanwhile
            continue


def uploaded_files() -> MemoryUploadedFileManager:
    """Return the store of all sessions' uploads."""
    manager = runtime.get_instance().uploaded_file_mgr
    assert isinstance(manager, MemoryUploadedFileManager)
    return manager


def email_of(person: Person | None) -> str:
    """Return the email that identifies a person; empty if there is none."""
    return "" if person is None else person.email


def owner_of(session: AppSession, settings: Settings) -> str:
    """Return the email of the person who opened a Streamlit session; empty if unknown, and on
    servers without sign-in."""
    account = account_of(session._user_info) if settings.sign_in else None
    return "" if account is None else email_of(person_of_account(account))


def served_origin(settings: Settings) -> str | None:
    """Return a shared server's origin in a browser's spelling; None if neither the base address nor
    the sign-in states it."""
    address = settings.base_url or get_origin_from_redirect_uri()
    if not address:
        return None
    parts = urlsplit(address)
    host = parts.hostname or ""
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}" + (
        f":{parts.port}" if parts.port not in (None, _DEFAULT_PORTS.get(parts.scheme)) else ""
    )


SIGNED_IN = USER_COOKIE_NAME  # a long one has further parts
_LARGEST_FILE = 16_000_000  # bytes of the file of sign-outs
_EVERYBODY = "everybody"  # no identity of a person


class SignOuts:
    """Until when the sign-ins of each person have ended; Streamlit itself only asks the browser to
    delete its cookie.

    There is one time for each e-mail address, and only somebody who has signed in with it can set
    it, so that nobody fills the file. It outlives a restart.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._until: dict[str, float] = {}
        try:
            if file.exists():
                self._until = parse(dict[str, float], read_file(file, _LARGEST_FILE), str(file))
        except (DeskError, OSError) as error:
            # nobody knows any more who signed out: all sign in again
            record_error("who signed out", error)
            self.add(_EVERYBODY, time.time())

    def ended(self, email: str, issued: float) -> bool:
        """Return whether a sign-in of this time, in seconds, has ended."""
        return issued <= max(self._until.get(of, 0.0) for of in (email, _EVERYBODY))

    def add(self, email: str, issued: float) -> None:
        """End every sign-in of a person up to one of this time."""
        if self.ended(email, issued):
            return
        self._until[email] = issued
        try:
            replace_file(self._file, json.dumps(self._until).encode(), durable=True)
        except OSError as error:  # ended all the same, until the server stops
            record_error("the time of a sign-out", error)


_sign_outs: SignOuts | None = None  # of the server


def sign_out(cookies: Mapping[str, str]) -> None:
    """End the sign-in at a browser and all earlier ones of its person, in every tab and copy of
    their cookies."""
    claims = claims_at(cookies)
    if claims and _sign_outs is not None:
        _sign_outs.add(_identity(claims), issued_at(cookies) or 0.0)


def claims_at(cookies: Mapping[str, str]) -> dict[str, Any]:
    """Return the provider's claims about the signed-in person; none without a cookie, with a
    forged, expired or foreign one, with another spelling of it, and after a sign-out.
    """
    origin, issued = get_origin_from_redirect_uri(), issued_at(cookies)
    if not origin or issued is None:
        return {}
    cookie = websocket._get_signed_cookie_with_chunks(dict(cookies), SIGNED_IN)
    claims = websocket._parse_decoded_user_cookie(cookie, origin) if cookie else {}
    has_ended = _sign_outs is not None and _sign_outs.ended(_identity(claims), issued)
    return {} if has_ended else claims


def issued_at(cookies: Mapping[str, str]) -> float | None:
    """Return when a sign-in's cookie was signed, in seconds; None without one, and where a part of
    it is not exactly as it was signed (its decoder overlooks some characters)."""
    times = []
    for name, value in cookies.items():
        if name.startswith(SIGNED_IN):
            signer = TimestampSigner(get_cookie_secret(), salt=name)
            try:
                sent = value.encode("ascii")
                _, at = signer.unsign(sent, return_timestamp=True)
            except (BadData, UnicodeEncodeError):
                return None
            signed, _, signature = sent.rpartition(b".")
            if signer.get_signature(signed) != signature:
                return None
            times.append(at.timestamp())
    return min(times, default=None)


def _identity(claims: Mapping[str, Any]) -> str:
    """Return who somebody is for `SignOuts`; accounts without an address are one, and have no
    role."""
    return f"address {fold_address(str(claims.get('email', '')))}"


def person_with(cookies: Mapping[str, str]) -> Person | None:
    """Return the signed-in person with a role; None without one, and while the file of secrets
    cannot be read."""
    account = account_of(claims_at(cookies))
    return None if account is None else person_of_account(account)


def person_of_account(account: Account) -> Person | None:
    """Return the person with the account's present role; None without one, and while the roles
    cannot be read."""
    try:
        return account.person()
    except InputError as error:
        record_error("the roles", error)
        return None


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
                sign_out(cookies)
            await app(scope, receive, send)
            return
        was_signed_in = sign_in and bool(claims_at(cookies))
        if sign_in and not was_signed_in:
            scope = {**scope, "headers": _without_sign_in(scope["headers"])}

        async def receive_checked() -> Message:
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                if was_signed_in and not claims_at(cookies):
                    await send({"type": "websocket.close", "code": SIGN_IN_ENDED})
                    return {"type": "websocket.disconnect", "code": SIGN_IN_ENDED}
                is_person = not sign_in or person_with(cookies) is not None
                if (checked := _check(message, is_person=is_person)) is not None:
                    return checked

        await app(scope, receive_checked, send)

    return serve


def _check(message: Message, *, is_person: bool) -> Message | None:
    """Return a message in its permitted form; None if it is refused. is_person: whether a person
    with a role sent it."""
    sent = BackMsg()
    try:
        sent.ParseFromString(message["bytes"])
    except (DecodeError, KeyError, TypeError):  # a text, or what no page sends
        return None
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
