"""Browsers without a browser: requests and websockets of anybody, signed in or not, honest or not, at a local server."""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from uuid import uuid4

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    generate_xsrf_token_string,
)
from websockets.sync.client import ClientConnection, connect

from tests.ui.page_client import COOKIE_SECRET
from tests.ui.serving import Server

MAL = "mal@lab.example"  # has no role
LIMITS = {
    "PERTURBDESK_UPLOAD_FILE_MB": "4",
    "PERTURBDESK_UPLOAD_PERSON_MB": "6",
    "PERTURBDESK_UPLOAD_TOTAL_MB": "9",
}
BOUNDARY = "a-boundary-of-a-test"
MB = 2**20


@dataclass
class Visitor:
    """Somebody at a server, with cookies like those that it sets. email: who signed in, nobody by default."""

    server: Server
    email: str = ""
    secret: str = COOKIE_SECRET
    verified: bool = True
    xsrf: str = field(default_factory=generate_xsrf_token_string)
    uploaded: list[str] = field(default_factory=list)

    @property
    def place(self) -> tuple[str, int]:
        parts = urlsplit(self.server.address)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    @property
    def origin(self) -> str:
        return "http://{}:{}".format(*self.place)

    @property
    def headers(self) -> dict[str, str]:
        claims = {
            "email": self.email,
            "email_verified": self.verified,
            "is_logged_in": True,
            "origin": self.origin,
        }
        signed = create_signed_value(self.secret, "_streamlit_user", json.dumps(claims)).decode()
        user = f"; _streamlit_user={signed}" if self.email else ""
        return {"Cookie": f"_streamlit_xsrf={self.xsrf}{user}", "X-Xsrftoken": self.xsrf}

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, bytes]:
        """Send a request, its path as it is; the status and the body of the answer."""
        connection = http.client.HTTPConnection(*self.place, timeout=30)
        chunked = body is not None and not isinstance(body, bytes)
        try:
            connection.request(method, path, body, self.headers | headers, encode_chunked=chunked)  # type: ignore[arg-type]
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def upload(
        self, session: str, content: bytes | Iterator[bytes], method: str = "PUT", **headers: str
    ) -> int:
        """Upload a file as Streamlit's page does; the status."""
        kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        chunks = {} if isinstance(content, bytes) else {"Transfer-Encoding": "chunked"}
        body = one_part(content) if isinstance(content, bytes) else content
        self.uploaded.append(f"/_stcore/upload_file/{session}/{uuid4()}")
        return self.ask(method, self.uploaded[-1], body, **kind, **chunks, **headers)[0]

    @contextmanager
    def socket(
        self, path: str = "/_stcore/stream", **headers: str | None
    ) -> Iterator[ClientConnection]:
        """A websocket as a page opens it. Raises websockets' InvalidStatus if it is refused."""
        sent = {
            "Origin": self.origin,
            "Cookie": self.headers["Cookie"],
        } | headers
        given = {name: value for name, value in sent.items() if value is not None}
        protocols = ["streamlit", self.xsrf]
        address = "ws://{}:{}".format(*self.place) + path
        options = {
            "max_size": None,
            "max_queue": None,
            "compression": None,
        }  # what nobody reads does not keep it from closing
        with connect(
            address, additional_headers=given, subprotocols=protocols, **options
        ) as opened:  # type: ignore[arg-type]
            yield opened

    @contextmanager
    def session(self) -> Iterator[str]:
        """A page whose script runs; its session's id. When the block ends the session has no tab, and nothing that this visitor
        uploaded."""
        with self.socket() as opened:
            try:
                yield begin(opened)
            finally:
                for path in self.uploaded:
                    self.ask("DELETE", path)


def begin(opened: ClientConnection) -> str:
    """Ask for the page; the session's id, which its script begins with."""
    ask_for_page(opened)
    while True:
        frame = opened.recv(30)
        assert isinstance(frame, bytes)
        got = ForwardMsg.FromString(frame)
        if got.WhichOneof("type") == "new_session":
            return got.new_session.initialize.session_id


def ask_for_page(opened: ClientConnection) -> None:
    message = BackMsg()
    message.rerun_script.query_string = ""
    opened.send(message.SerializeToString())


def run_script(opened: ClientConnection) -> tuple[str, str]:
    """Ask for the page, and wait until its script has ended; the session's id, and what was sent of the page."""
    ask_for_page(opened)
    session = texts = ""
    while True:
        frame = opened.recv(30)
        assert isinstance(frame, bytes)
        got = ForwardMsg.FromString(frame)
        if got.WhichOneof("type") == "new_session":
            session = got.new_session.initialize.session_id
        elif got.WhichOneof("type") == "script_finished":
            return session, texts
        else:
            texts += str(got)


def one_part(content: bytes) -> bytes:
    """The body of a form with one file."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


def rss_mb(server: Server) -> float:
    """The memory of a server's process."""
    return float(psutil.Process(server.process.pid).memory_info().rss / MB)


def noise(megabytes: float) -> bytes:
    """Bytes that take the memory that they seem to."""
    return os.urandom(round(megabytes * MB))


def exchange(place: tuple[str, int], *pieces: bytes) -> bytes:
    """Send bytes as they are; all that the server answers until it is silent for a second or closes."""
    with socket.create_connection(place, 10) as opened:
        with suppress(
            BrokenPipeError, ConnectionResetError
        ):  # it has answered before it has read everything
            for piece in pieces:
                opened.sendall(piece)
        opened.settimeout(1)
        answer = b""
        with suppress(TimeoutError, ConnectionResetError):
            while got := opened.recv(65536):
                answer += got
        return answer
