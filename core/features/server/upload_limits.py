"""Limits of uploads: memory per person and in all, and time. The limit per file is Streamlit's."""

from __future__ import annotations

import asyncio
from collections import Counter

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.base.config import Settings
from core.features.server.access import (
    UPLOAD,
    email_of,
    owner_of,
    person_at,
    route_of,
    sessions,
    uploaded_files,
)

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
