"""What uploads may take, of memory and of time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message
from websockets.exceptions import ConnectionClosed, InvalidStatus

from core.base.config import Settings
from core.features.server import limits as upload_limits
from core.features.server.limits import NOBODYS_MESSAGE, NOBODYS_TABS, PERSONS_TABS, UploadLimits
from core.runs.workspace import Workspace
from tests.ui.serving import Server, serving
from tests.ui.shared_server import ADA, BOB, CARL
from tests.ui.strangers import (
    BOUNDARY,
    MB,
    Visitor,
    begin,
    exchange,
    noise,
    one_part,
    rss_mb,
    run_script,
)


def wait_for(condition: Callable[[], bool]) -> None:
    """Until something that a server does by itself has happened."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def in_pieces(megabytes: float) -> Iterator[bytes]:
    body = one_part(noise(megabytes))
    yield from (body[at : at + MB] for at in range(0, len(body), MB))


@pytest.mark.soak
def test_a_file_a_person_and_all_have_their_limits(shared_server: Server) -> None:
    ada, carl = Visitor(shared_server, ADA), Visitor(shared_server, CARL)
    with ada.session() as first, ada.session() as second, carl.session() as other:
        assert (
            ada.upload(first, noise(4.2)) == ada.upload(first, in_pieces(5.2)) == 413
        )  # 4 MB a file
        wait_for(
            lambda: ada.upload(first, noise(3.5)) == 204
        )  # what tabs of other tests held may not be gone yet
        assert ada.upload(second, in_pieces(1.5)) == 204
        assert (
            ada.upload(second, noise(1.5)) == ada.upload(first, in_pieces(1.5)) == 413
        )  # 6 MB in all her tabs
        wait_for(lambda: carl.upload(other, noise(3)) == 204)
        assert (
            carl.upload(other, noise(1.5)) == carl.upload(other, in_pieces(1.5)) == 413
        )  # 9 MB in everybody's
        assert carl.upload(other, noise(0.5)) == 204


@pytest.mark.soak
def test_what_a_session_held_is_gone_when_it_ends(shared_server: Server) -> None:
    ada = Visitor(shared_server, ADA)
    with ada.socket() as opened:
        assert ada.upload(begin(opened), noise(3.5)) == 204
    with ada.session() as another:
        assert ada.upload(another, noise(3.5)) == 413  # more than her limit, as long as it is kept
        wait_for(lambda: ada.upload(another, noise(3.5)) == 204)


@pytest.mark.soak
def test_a_file_that_comes_after_its_sessions_end_is_gone_too(shared_server: Server) -> None:
    ada = Visitor(shared_server, ADA)
    with ada.socket() as opened:
        session = begin(opened)

        def closing():
            body = one_part(noise(3.5))
            yield body[:MB]
            opened.close()
            time.sleep(3.5)  # its end: it is kept for 1 s, and looked for every 2 s
            yield body[MB:]

        assert ada.upload(session, closing()) == 204
    with ada.session() as another:
        wait_for(lambda: ada.upload(another, noise(3.5)) == 204)


@pytest.mark.soak
def test_a_body_of_many_parts_is_refused(shared_server: Server) -> None:
    ada, before = Visitor(shared_server, ADA), rss_mb(shared_server)
    part = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n'.encode()
        + noise(0.0002)
        + b"\r\n"
    )
    with ada.session() as session:
        assert ada.upload(session, iter([part * 5000])) == 400
    assert rss_mb(shared_server) - before < 40


@pytest.mark.soak
def test_a_length_that_lies_brings_nothing_in(shared_server: Server) -> None:
    """What follows a body is the next request; a body that is shorter than it says is waited for, and then is none."""
    ada = Visitor(shared_server, ADA)
    with ada.session() as session:
        lines = [f"PUT /_stcore/upload_file/{session}/a HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in ada.headers.items()]
        lines += [f"Content-Type: multipart/form-data; boundary={BOUNDARY}"]
        body = one_part(noise(1))

        def send(length):
            return exchange(
                ada.place, "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode(), body
            )

        ada.uploaded.append(f"/_stcore/upload_file/{session}/a")
        assert b" 204 " in send(str(len(body)))
        for length in ("20", str(2 * len(body)), str(100 * MB), "-1", "12, 13"):
            assert b" 204 " not in send(length), length


@pytest.mark.soak
def test_on_ones_own_machine_there_is_a_limit_too(small_workspace: Workspace) -> None:
    with serving(
        small_workspace.settings.workspace,
        PERTURBDESK_UPLOAD_TOTAL_MB="30",
        PERTURBDESK_TAB_KEPT_S="0",
    ) as own:
        visitor = Visitor(own)
        with visitor.socket() as opened:
            session, _ = run_script(opened)
            before = rss_mb(own)
            assert visitor.upload(session, noise(28)) == 204
            assert visitor.upload(session, noise(3)) == 413
        wait_for(lambda: rss_mb(own) - before < 20)
        assert visitor.ask("POST", "/_stcore/agent/mcp", noise(50))[0] >= 400
        assert rss_mb(own) - before < 20


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> UploadLimits:
    async def unused(*_: object) -> None: ...

    monkeypatch.setattr(upload_limits, "_stored_bytes", lambda *_: 0)
    return UploadLimits(unused, Settings())


def receive_all(limits: UploadLimits, pieces: list[tuple[float, bytes]]) -> int:
    """What an upload of pieces, each after a pause in seconds, ends with: 200, or the status that it is refused with."""

    async def run() -> int:
        left = iter(pieces)

        async def receive() -> Message:
            pause, body = next(left)
            await asyncio.sleep(pause)
            return {"type": "http.request", "body": body, "more_body": True}

        upload = upload_limits._Upload(limits, "", receive)
        try:
            for _ in pieces:
                await upload.receive()
        except HTTPException as refused:
            return refused.status_code
        return 200

    return asyncio.run(run())


def test_a_file_that_does_not_come_is_not_waited_for(
    limits: UploadLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_limits, "PAUSE_S", 0.05)
    assert receive_all(limits, [(0, b"a"), (0, b"b")]) == 200
    assert receive_all(limits, [(0, b"a"), (60, b"b")]) == 408


def test_a_file_that_comes_byte_by_byte_is_not_waited_for(
    limits: UploadLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_limits, "GRACE_S", 0.05)
    assert receive_all(limits, [(0.03, b"a")] * 5) == 408
    assert receive_all(limits, [(0.03, b"a" * 10**7)] * 5) == 200


def active_sessions(server: Server) -> int:
    """How many sessions have a tab, as the server's own metrics count them."""
    text = Visitor(server, ADA).ask("GET", "/_stcore/metrics?families=active_sessions")[1].decode()
    return int(
        next(line.split()[-1] for line in text.splitlines() if line.startswith("active_sessions "))
    )


@pytest.mark.soak
def test_who_has_not_signed_in_sends_little(shared_server: Server) -> None:
    """What is too large is not even read: the memory that a message of many megabytes would take is not taken."""
    for visitor, size, closed in (
        (Visitor(shared_server), NOBODYS_MESSAGE + 1, True),
        (Visitor(shared_server, BOB), 200_000, False),
    ):
        with visitor.socket() as opened:
            message = (
                b"\x00" * size
            )  # no message of Streamlit's: it closes with 1002 what it has read
            opened.send(message)
            with pytest.raises(ConnectionClosed) as ended:
                opened.recv(30)
            assert (ended.value.rcvd.code == 1009) == closed
    before = rss_mb(shared_server)
    with pytest.raises(ConnectionClosed), Visitor(shared_server).socket() as opened:
        opened.send(iter([noise(1)] * 100))  # one message in a hundred frames
        opened.recv(30)
    assert rss_mb(shared_server) - before < 20


@pytest.mark.soak
def test_the_oldest_tab_without_a_sign_in_gives_way(shared_server: Server) -> None:
    """So that whoever wants to sign in can, however many others are there; and people who signed in are not affected."""
    before = active_sessions(shared_server)
    with Visitor(shared_server, BOB).socket() as bobs, ExitStack() as stack:
        nobody = Visitor(shared_server)
        opened = [stack.enter_context(nobody.socket()) for _ in range(NOBODYS_TABS + 5)]
        for gone in opened[:5]:
            with pytest.raises(ConnectionClosed):
                gone.recv(30)
        for stays in (opened[5], opened[-1], bobs):
            assert run_script(stays)[0]
        assert active_sessions(shared_server) <= before + NOBODYS_TABS + 1
    wait_for(lambda: active_sessions(shared_server) == before)


@pytest.mark.soak
def test_a_person_has_a_limited_number_of_tabs(shared_server: Server) -> None:
    ada = Visitor(shared_server, ADA)
    with ExitStack() as stack:
        for _ in range(PERSONS_TABS):
            stack.enter_context(ada.socket())
        with pytest.raises(InvalidStatus), ada.socket():
            pass
        with Visitor(shared_server, BOB).session() as session:
            assert session
    with ada.session() as session:
        assert session
