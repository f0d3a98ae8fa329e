"""The server of core/features/server/server.py, noting how long it takes for each script: run as a module, it starts as `make app` does.

It is measured here, since a browser notes a message only once it has drawn what came before.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import IO, Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from core.base.config import REPOSITORY
from core.features.server import server
from core.ui import start

FILE = "PERTURBDESK_TEST_SCRIPT_TIMES"
_SHORT = 200  # bytes of a message that may say that a script has finished; longer ones are not read


class Times:
    """ASGI middleware: from each request of a script to its end, in seconds, a line each in a file.

    What a page asks for by itself is left out.
    """

    def __init__(self, app: ASGIApp, file: IO[str]) -> None:
        self.app = app
        self.file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        asked = []

        async def receive_noted() -> Message:
            message = await receive()
            if message.get("bytes") and _asks(BackMsg.FromString(message["bytes"])):
                asked.append(time.monotonic())
            return message

        async def send_noted(message: Message) -> None:
            await send(message)
            content = message.get("bytes") or b""
            if asked and 0 < len(content) <= _SHORT and _ends(ForwardMsg.FromString(content)):
                print(time.monotonic() - asked[0], file=self.file, flush=True)
                asked.clear()

        await self.app(scope, receive_noted, send_noted)


def _asks(message: Any) -> bool:
    return message.WhichOneof("type") == "rerun_script" and not message.rerun_script.is_auto_rerun


def _ends(message: Any) -> bool:
    return (
        message.WhichOneof("type") == "script_finished"
        and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
    )


if __name__ == "__main__":
    start.main(Path(__file__))
elif FILE in os.environ:  # for the server that was started so; a test imports this for the name
    app = st.App(
        REPOSITORY / "app.py",
        middleware=[
            Middleware(Times, file=open(os.environ[FILE], "a")),  # noqa: SIM115
            *server.app._user_middleware,
        ],
        lifespan=server.app._user_lifespan,
        on_script_error=server.app._on_script_error,
    )
