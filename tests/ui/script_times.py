"""How long a server takes for the scripts of one tab, read off the messages on the browser's network."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

if TYPE_CHECKING:
    from playwright.sync_api import Page

_SHORT = 400  # characters of a message that may say that a script has finished; longer ones are not read


class ScriptTimes:
    """Listens to a tab. seconds: from each request of a script to its end; what the page asks for by itself is left out."""

    def __init__(self, page: Page) -> None:
        self.seconds: list[float] = []
        self._asked: float | None = None
        session = page.context.new_cdp_session(page)
        session.on("Network.webSocketFrameSent", self._sent)
        session.on("Network.webSocketFrameReceived", self._received)
        session.send("Network.enable")

    def _sent(self, event: dict[str, Any]) -> None:
        message = BackMsg.FromString(_payload(event))
        if message.WhichOneof("type") == "rerun_script" and not message.rerun_script.is_auto_rerun:
            self._asked = self._asked or event["timestamp"]

    def _received(self, event: dict[str, Any]) -> None:
        if self._asked is None or len(event["response"]["payloadData"]) > _SHORT:
            return
        message = ForwardMsg.FromString(_payload(event))
        if message.WhichOneof("type") == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.seconds.append(event["timestamp"] - self._asked)
            self._asked = None


def _payload(event: dict[str, Any]) -> bytes:
    return base64.b64decode(event["response"]["payloadData"])
