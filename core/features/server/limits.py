"""Limits of sessions: the number of tabs, the time without a sign-in, the size of messages. Ended
sessions are freed.

Streamlit keeps a session for a while after its tab has closed, since the browser may reconnect. It
forgets expired sessions only when new ones start, and frees their memory only when Python collects
garbage.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes

from core.base.config import Settings
from core.base.file_limits import give_memory_back
from core.features.server.access import (
    UPLOAD,
    email_of,
    owner_of,
    person_at,
    route_of,
    sessions,
    uploaded_files,
)

NOBODYS_TABS = 50  # most that are open at once without a sign-in; the oldest is closed
NOBODYS_S = 900.0  # how long each stays open
NOBODYS_MESSAGE = 64_000  # bytes; the sign-in needs a few hundred
PERSONS_TABS = 30  # of one person
EVERYBODYS_TABS = 300  # where nobody signs in
_SWEEP_S = 2.0


class SessionLimits:
    """ASGI middleware that bounds the websockets of a shared server, each of which is a session."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings
        self._tabs: Counter[str] = Counter()  # by person
        self._nobodys: list[asyncio.Timeout] = []  # the oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        who = email_of(person_at(scope, self.settings))
        if self.settings.sign_in and not who:
            _limit_messages(receive, NOBODYS_MESSAGE)
            await self._serve_nobody(scope, receive, send)
        else:
            _limit_messages(receive, get_max_widget_state_size_bytes())
            await self._serve(who, scope, receive, send)

    async def _serve(self, who: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a tab of a person, unless they have too many."""
        if self._tabs[who] >= (PERSONS_TABS if who else EVERYBODYS_TABS):
            await send({"type": "websocket.close", "code": 1008})
            return
        self._tabs[who] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._tabs[who] -= 1

    async def _serve_nobody(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a tab without a sign-in, until its time is over or too many others are open."""
        try:
            async with asyncio.timeout(NOBODYS_S) as limit:
                self._nobodys.append(limit)
                for oldest in self._nobodys[:-NOBODYS_TABS]:
                    if not oldest.expired():
                        oldest.reschedule(0)
                try:
                    await self.app(scope, receive, send)
                finally:
                    self._nobodys.remove(limit)
        except TimeoutError:
            with suppress(OSError, RuntimeError):  # it has closed meanwhile
                await send({"type": "websocket.close", "code": 1008})
        finally:
            close_nobodys_sessions(self.settings)


def _limit_messages(receive: Receive, size: int) -> None:
    """Limit the bytes of a websocket's messages.

    ASGI passes whole messages only, however large, so the limit is set on uvicorn's connection,
    which `receive` belongs to.
    """
    connection = getattr(getattr(receive, "__self__", None), "conn", None)
    if connection is not None:
        connection.max_message_size = size


@asynccontextmanager
async def ending_sessions(settings: Settings) -> AsyncIterator[None]:
    """While the server runs, close sessions whose tab has not reconnected, and delete files without
    a session."""
    sweeping = asyncio.create_task(_sweep(settings))
    try:
        yield
    finally:
        sweeping.cancel()


async def _sweep(settings: Settings) -> None:
    left: dict[str, float] = {}  # sessions without a tab, and since when
    while True:
        await asyncio.sleep(_SWEEP_S)
        now = time.monotonic()
        left = {session.id: left.get(session.id, now) for session in _without_tab()}
        held = set(uploaded_files().file_storage)
        for session, since in left.items():
            if now - since >= settings.tab_kept_s:
                runtime.get_instance().close_session(session)
        close_nobodys_sessions(settings)
        for session in held - {session.id for session in sessions()}:
            # also files that arrived after their session ended
            uploaded_files().remove_session_files(session)
        if held - set(uploaded_files().file_storage):
            gc.collect()
            give_memory_back()


def close_nobodys_sessions(settings: Settings) -> None:
    """Close sessions that have neither a tab nor a person who may come back."""
    for session in _without_tab() if settings.sign_in else ():
        if not owner_of(session, settings):
            runtime.get_instance().close_session(session.id)


def _without_tab() -> list[AppSession]:
    return [
        session
        for session in sessions()
        if not runtime.get_instance().is_active_session(session.id)
    ]


PAUSE_S = 20.0  # the longest wait for the next piece of a file
GRACE_S = 20.0  # after this many seconds, the average speed must be at least
SLOWEST = 16_000  # bytes a second on average
_MB = 2**20
_LAST = {"connection": "close"}


class UploadLimits:
    """ASGI middleware that refuses an upload, before or while it arrives, that would exceed the
    memory limits of the settings, or that is too slow.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings
        self.arriving: Counter[str] = Counter()  # bytes, by person

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "PUT" or route_of(scope)[0] != UPLOAD:
            await self.app(scope, receive, send)
            return
        who = email_of(person_at(scope, self.settings))
        length = Headers(scope=scope).get("content-length", "")
        if refusal := self._refuse(who, int(length) if length.isdecimal() else 0):
            await PlainTextResponse(refusal, 413)(scope, receive, send)
            return
        upload = _Upload(self, who, receive)
        try:
            await self.app(scope, upload.receive, send)
        finally:
            self.arriving[who] -= upload.bytes

    def _refuse(self, who: str, more: int) -> str:
        """Return why `more` bytes of a person are refused; empty if they are accepted."""
        settings = self.settings
        if (
            settings.is_shared
            and self.arriving[who] + _stored_bytes(settings, who) + more
            > settings.upload_person_mb * _MB
        ):
            return (
                f"Your uploads would take more than {settings.upload_person_mb} MB. Close other"
                " tabs with uploads."
            )
        if self.arriving.total() + _stored_bytes(settings) + more > settings.upload_total_mb * _MB:
            return (
                f"All uploads together would take more than {settings.upload_total_mb} MB. Try"
                " again later."
            )
        return ""

    def count(self, who: str, arrived: int) -> None:
        """Count the received bytes. Raise HTTPException if there are too many."""
        self.arriving[who] += arrived
        if refusal := self._refuse(who, 0):
            raise HTTPException(413, refusal)


class _Upload:
    """The body of one upload. bytes: the number received so far."""

    def __init__(self, limits: UploadLimits, who: str, receive: Receive) -> None:
        self.limits, self.who, self._receive = limits, who, receive
        self.bytes = 0
        self.began = asyncio.get_running_loop().time()

    async def receive(self) -> Message:
        """Return the next piece. Raise HTTPException if it does not come, if the upload is too
        slow, or if it is too large."""
        try:
            async with asyncio.timeout(PAUSE_S):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(
                408, f"No data of the file arrived for {PAUSE_S:.0f} s.", _LAST
            ) from None
        arrived = len(message.get("body", b""))
        self.bytes += arrived
        self.limits.count(self.who, arrived)
        seconds = asyncio.get_running_loop().time() - self.began
        if message.get("more_body") and seconds > GRACE_S and self.bytes < SLOWEST * seconds:
            raise HTTPException(
                408, f"The upload was slower than {SLOWEST:,} bytes a second.", _LAST
            )
        return message


def _stored_bytes(settings: Settings, who: str | None = None) -> int:
    """Return the bytes of uploads in sessions: a person's, or by default everybody's."""
    manager = uploaded_files()
    owned = (
        None
        if who is None
        else {session.id for session in sessions() if owner_of(session, settings) == who}
    )
    held = [
        files
        for session, files in list(manager.file_storage.items())
        if owned is None or session in owned
    ]
    return sum(len(file.data) for files in held for file in list(files.values()))
