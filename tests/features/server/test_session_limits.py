"""What sessions may take, and what is left of them."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from core.features.server.limits import NOBODYS_MESSAGE, NOBODYS_TABS, PERSONS_TABS
from tests.features.server.test_upload_limits import wait_for
from tests.ui.serving import Server
from tests.ui.shared_server import ADA, BOB
from tests.ui.strangers import Visitor, noise, rss_mb, run_script


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
            assert ended.value.rcvd is not None
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
