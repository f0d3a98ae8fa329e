"""A browser's side of a page without a browser: signs in by a cookie, sends what widgets would send, and reads what is drawn."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from itsdangerous import TimestampSigner, URLSafeTimedSerializer
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.ui.serving import WAIT_S

COOKIE_SECRET = "a-secret-of-a-test-that-nobody-else-knows"
CLIENT_SECRET = "the-client-secret-of-a-test"
USER_COOKIE = "_streamlit_user"
# Of [auth]: nobody is led to the provider, since each signs in by a cookie.
AUTH = f"""[auth]
redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
cookie_secret = "{COOKIE_SECRET}"
client_id = "perturbdesk"
client_secret = "{CLIENT_SECRET}"
server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"
"""
LAYOUT = ("expandable", "popover", "tab_container", "dialog")  # blocks that may be widgets
UPLOAD = b"id,pert,gene,label\nwalk_a,Aaa,Bbb,up\n"
_ENDS_AGAIN = ForwardMsg.ScriptFinishedStatus.Value("FINISHED_EARLY_FOR_RERUN")


class _SignerOf(TimestampSigner):
    """Signs as if it were another time. age_s: how long ago."""

    age_s = 0.0

    def get_timestamp(self) -> int:
        return int(time.time() - self.age_s)


def cookie_of(
    address: str, email: str, name: str = "", age_s: float = 0.0, *, verified: bool = True
) -> str:
    """What a browser's cookie holds once somebody has signed in at the server with this address, which was `age_s` ago."""
    user = {
        "email": email,
        "name": name,
        "origin": address,
        "is_logged_in": True,
        "provider": "default",
    }
    user |= {} if verified else {"email_verified": False}
    signer = type("Signer", (_SignerOf,), {"age_s": age_s})
    return str(
        URLSafeTimedSerializer(COOKIE_SECRET, salt=USER_COOKIE, signer=signer).dumps(
            json.dumps(user)
        )
    )


@dataclass(frozen=True)
class Widget:
    """A widget as a page drew it. proto: its element or its block."""

    kind: str
    id: str
    label: str
    form: str
    fragment: str
    proto: Any = field(repr=False, compare=False)

    @property
    def is_disabled(self) -> bool:
        return bool(getattr(self.proto, "disabled", False))


@dataclass(frozen=True)
class Drawn:
    """What came of one run of a script."""

    messages: Sequence[ForwardMsg]

    @property
    def widgets(self) -> list[Widget]:
        """Every widget, in the order in which it was first drawn."""
        return list(
            {
                widget.id: widget for message in self.messages for widget in _widgets_of(message)
            }.values()
        )

    @property
    def text(self) -> str:
        """All that its messages say."""
        return "\n".join(map(str, self.messages))

    @property
    def fragments(self) -> list[str]:
        """The ids of the parts of the page that run by themselves."""
        return list(
            dict.fromkeys(
                message.delta.fragment_id for message in self.messages if message.delta.fragment_id
            )
        )


def _widgets_of(message: ForwardMsg) -> Iterator[Widget]:
    if message.WhichOneof("type") != "delta":
        return
    delta = message.delta
    element = delta.new_element if delta.WhichOneof("type") == "new_element" else delta.add_block
    if delta.WhichOneof("type") not in ("new_element", "add_block"):
        return
    kind = element.WhichOneof("type")
    proto = getattr(element, kind) if kind else None
    if (
        kind is None
        or not getattr(proto, "id", "")
        or (delta.WhichOneof("type") == "add_block" and kind not in LAYOUT)
    ):
        return
    yield Widget(
        kind,
        proto.id,
        str(getattr(proto, "label", "")),
        str(getattr(proto, "form_id", "")),
        delta.fragment_id,
        proto,
    )
    if kind == "bidi_component":  # what it does once, rather than what it is
        yield Widget(
            "events", f"{proto.id}__events", proto.component_name, "", delta.fragment_id, proto
        )


def state_of(widget: Widget, text: str = "walked") -> WidgetState:
    """Another value than the one that the page drew a widget with, as its browser sends it. text: for what is typed."""
    state, proto = WidgetState(id=widget.id), widget.proto
    if widget.kind in ("button", "download_button"):
        state.trigger_value = True
    elif widget.kind == "checkbox":
        state.bool_value = not proto.default
    elif widget.kind in ("expandable", "popover"):
        state.bool_value = True
    elif widget.kind in ("text_input", "text_area"):
        state.string_value = text
    elif widget.kind in ("selectbox", "radio", "tab_container"):
        state.string_value = proto.options[-1] if getattr(proto, "options", None) else text
    elif widget.kind == "button_group":
        state.string_array_value.data[:] = [proto.options[-1].content] if proto.options else []
    elif widget.kind == "multiselect":
        state.string_array_value.data[:] = list(proto.options[:1])
    elif widget.kind == "number_input":
        state.double_value = proto.default + (proto.step or 1)
    elif widget.kind == "slider":
        state.double_array_value.data[:] = [proto.max] * len(proto.default)
    elif widget.kind == "dataframe":
        state.string_value = json.dumps({"selection": {"rows": [0], "columns": [], "cells": []}})
    elif widget.kind == "events":
        state.json_trigger_value = json.dumps([{"event": "row", "value": text}])
    else:
        state.json_value = json.dumps({"row": text, "items": [], "value": text})
    return state


class PageClient:
    """One browser's session: a websocket, with a cookie or none. received: every byte that came over it."""

    def __init__(self, address: str, cookie: str = "", session: str = "") -> None:
        self.address = address
        self.cookie = cookie
        self.received = bytearray()
        self.session = ""
        self._n = count()
        with urllib.request.urlopen(
            urllib.request.Request(f"{address}/_stcore/health"), timeout=WAIT_S
        ) as response:
            found = re.search(
                r"(_streamlit_xsrf)=([^;]+)", str(response.headers.get("set-cookie", ""))
            )
        self.xsrf = found[2] if found else ""
        self._socket: ClientConnection = connect(
            f"{address.replace('http', 'ws', 1)}/_stcore/stream",
            origin=address,  # type: ignore[arg-type]
            subprotocols=[
                "streamlit",
                *([self.xsrf] if self.xsrf else []),
                *([session] if session else []),
            ],  # type: ignore[list-item]
            additional_headers={"Cookie": self.cookies},
            max_size=None,
            open_timeout=WAIT_S,
            proxy=None,
        )

    @property
    def cookies(self) -> str:
        """What this browser sends as its cookies."""
        return "; ".join(
            f"{name}={value}"
            for name, value in (("_streamlit_xsrf", self.xsrf), (USER_COOKIE, self.cookie))
            if value
        )

    def close(self) -> None:
        self._socket.close()

    def send(self, message: BackMsg) -> None:
        """Send a message as it is. Raise ConnectionClosed if the server has ended the session."""
        self._socket.send(message.SerializeToString())

    def send_bytes(self, content: bytes) -> None:
        self._socket.send(content)

    def receive(self, timeout_s: float = WAIT_S) -> ForwardMsg:
        """Return the next message. Raise TimeoutError if none comes, ConnectionClosed if none will."""
        content = self._socket.recv(timeout_s)
        assert isinstance(content, bytes)
        self.received += content
        message = ForwardMsg()
        message.ParseFromString(content)
        if message.WhichOneof("type") == "new_session":
            self.session = message.new_session.initialize.session_id
        return message

    def run(
        self,
        page: str = "",
        query: str = "",
        states: Sequence[WidgetState] = (),
        fragment: str = "",
    ) -> Drawn:
        """Run the script of a page, or a part of it, with these values of widgets, and return what it drew until it ended."""
        message = BackMsg()
        message.rerun_script.page_name = page
        message.rerun_script.query_string = query
        message.rerun_script.fragment_id = fragment
        message.rerun_script.widget_states.widgets.extend(states)
        message.rerun_script.context_info.url = f"{self.address}/{page}"
        self.send(message)
        return self.read_run()

    def read_run(self) -> Drawn:
        """Return what the next run of the script draws until it ends, with what it draws when it begins again by itself."""
        messages = []
        while True:
            message = self.receive()
            kind = message.WhichOneof("type")
            if messages or kind == "new_session":  # else the end of an earlier run
                messages.append(message)
            if messages and kind == "script_finished" and message.script_finished != _ENDS_AGAIN:
                return Drawn(messages)

    def file_request(self, file: str) -> BackMsg:
        """The message that asks for a file to be made, by the id that the page gave its button."""
        message = BackMsg()
        message.backend_operation_request.deferred_file.file_id = file
        message.backend_operation_request.session_id = self.session
        return message

    def ask(self, message: BackMsg, kind: str, timeout_s: float = WAIT_S) -> ForwardMsg:
        """Send a message and return the answer of this kind, whatever else comes before it."""
        self.send(message)
        while (answer := self.receive(timeout_s)).WhichOneof("type") != kind:
            pass
        return answer

    def is_ignored(self, message: BackMsg) -> bool:
        """Whether a message has no answer: what is sent after it is answered first."""
        self.ask(
            BackMsg(app_heartbeat=True), "heartbeat_ack"
        )  # after what a run sends when it has ended
        self.send(message)
        self.send(BackMsg(app_heartbeat=True))
        return self.receive().WhichOneof("type") == "heartbeat_ack"

    def wait_until_closed(self) -> int:
        """Return the code with which the server ends the session. Raise TimeoutError if it does not."""
        try:
            while True:
                self.receive()
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006

    def get(self, path: str) -> tuple[int, bytes]:
        """Ask for a file as this browser would; return the status and the content."""
        request = urllib.request.Request(f"{self.address}{path}", headers={"Cookie": self.cookies})
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()


@contextmanager
def browsing(address: str, cookie: str = "", session: str = "") -> Iterator[PageClient]:
    """A browser's session for as long as a block lasts."""
    client = PageClient(address, cookie, session)
    try:
        yield client
    finally:
        client.close()
