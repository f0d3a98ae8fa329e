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

from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes

from core.base.config import Settings
from core.base.file_limits import give_memory_back
from core.features.server.access import email_of, owner_of, person_at, sessions, uploaded_files

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
