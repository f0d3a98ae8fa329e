"""What reaches the sessions of a shared server, over the websocket: who may do what, whatever the page on screen shows.

The widgets are those that a walk finds. `soak/test_random_messages.py` walks through every page, and sends what no widget would.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed

from core.features.server.access import SIGN_IN_ENDED
from tests.ui.change_watch import API_KEY, changes_since
from tests.ui.page_client import CLIENT_SECRET, COOKIE_SECRET, browsing, cookie_of, state_of
from tests.ui.serving import WAIT_S
from tests.ui.shared_server import ADA, EVE, SharedServer, write_roles
from tests.ui.strangers import Visitor, one_part
from tests.ui.widget_walk import PAGES as PAGES_BY_ADDRESS
from tests.ui.widget_walk import Step, walk

SECRETS = (API_KEY, COOKIE_SECRET, CLIENT_SECRET)
PAGES = ("rows", "run", "share")


@pytest.fixture
def shared(shared_workspace: SharedServer) -> Iterator[SharedServer]:
    """A shared server with the roles that it began with."""
    yield shared_workspace
    write_roles(shared_workspace.secrets)


def names_in(shared: SharedServer) -> list[bytes]:
    """What only people with a role may be sent: the names of datasets, runs and rows, and where the workspace is."""
    with shared.workspace.store.read() as db:
        rows = db.execute(
            "SELECT id FROM run UNION SELECT name FROM run UNION SELECT pair_id FROM pair"
        ).fetchall()
    return [str(shared.workspace.settings.workspace).encode(), *(name.encode() for (name,) in rows)]


@pytest.mark.few(2)
@pytest.mark.parametrize("page", PAGES_BY_ADDRESS)
def test_who_has_not_signed_in_is_sent_the_sign_in_and_nothing_else(
    shared: SharedServer, page: str
) -> None:
    with browsing(shared.address) as nobody:
        assert [each.label for each in nobody.run(page).widgets] == ["Sign in"]
        assert not [name for name in names_in(shared) if name in nobody.received]
    with browsing(shared.address, shared.cookie(EVE)) as reader:  # what is looked for is there
        reader.run(page)
        assert [name for name in names_in(shared) if name in reader.received]


@pytest.mark.parametrize(("verified", "why"), [(True, "has no access"), (False, "is not verified")])
def test_who_has_no_role_is_told_why(shared: SharedServer, verified: bool, why: str) -> None:
    email = ADA if not verified else "mal@lab.example"
    with browsing(shared.address, cookie_of(shared.address, email, verified=verified)) as client:
        drawn = client.run("rows")
        assert why in drawn.text
        assert [each.label for each in drawn.widgets] == ["Sign out"]
        assert not [name for name in names_in(shared) if name in client.received]


def send(shared: SharedServer, email: str, step: Step) -> bytes:
    """Open the place of a widget in a new browser and use the widget, in fields the model server's address; what was received."""
    place = step.place
    with browsing(shared.address, shared.cookie(email)) as client:
        for states in (place.states, *step.uses(shared.model.address)):
            client.run(place.page, place.query, states)
        return bytes(client.received)


@pytest.mark.soak
def test_a_reader_sends_what_an_editor_may_and_changes_nothing(shared: SharedServer) -> None:
    with browsing(shared.address, shared.cookie(ADA)) as editor:
        found = walk(editor, PAGES, f"run={shared.run.id}", deep=False)
        steps = [
            step
            for step in found
            if step.widget.kind in ("button", "text_area") and step.widget.label != "Sign out"
        ]
    assert {"Ask again", "Estimate", "Add note", "Start run", "Save report"} <= {
        step.widget.label for step in steps
    }
    before = shared.snapshot()
    for step in steps:
        received = send(shared, EVE, step)
        assert not [secret for secret in SECRETS if secret.encode() in received], step
    assert shared.snapshot() == before
    [note] = [step for step in steps if step.widget.label == "Add note"]
    send(shared, ADA, note)  # the same from one who may
    assert changes_since(shared.workspace, len(before.tables["trail"])) == [(ADA, "note")]


@pytest.mark.soak
def test_a_role_that_is_taken_away_is_gone_at_the_next_message(shared: SharedServer) -> None:
    """Of a page that stands open: its form, its callbacks and its parts, without a new start."""
    with browsing(shared.address, shared.cookie(ADA)) as client:
        page, query = "rows", f"run={shared.run.id}"
        drawn = client.run(page, query)
        [note] = [each for each in drawn.widgets if each.label == "Add note"]
        [text] = [each for each in drawn.widgets if each.id.endswith("note_text")]
        before = shared.snapshot()
        states = [state_of(text, "by one who may no longer"), state_of(note)]
        shared.set_roles([], [ADA])
        assert (
            "reader" in client.run(page, query, states, fragment=note.fragment).text
        )  # the part runs, and so does the page
        assert "Add note" not in [each.label for each in client.run(page, query, states).widgets]
        assert shared.snapshot() == before
        shared.set_roles([ADA], [])
        assert "Add note" in [each.label for each in client.run(page, query).widgets]
        shared.set_roles([], [])
        for fragment in (note.fragment, ""):
            found = client.run(page, query, states, fragment=fragment)
            assert "has no access" in found.text
            assert [each.label for each in found.widgets] == ["Sign out"]
        assert shared.snapshot() == before


def test_a_callback_asks_for_the_role(shared: SharedServer) -> None:
    """It runs before the page, with the workspace that the page was drawn with: here, an answer about a text."""
    with browsing(shared.address, shared.cookie(ADA)) as client:
        query = f"run={shared.run.id}&tab=Label"
        drawn = client.run("arguments", query)
        [reader] = [
            each
            for each in drawn.widgets
            if each.kind == "bidi_component" and each.proto.component_name == "reader"
        ]
        content = json.loads(reader.proto.json or reader.proto.mixed.json)
        given = {
            "n": 1,
            "key": content["texts"][0]["key"],
            "act": "answer",
            "answer": content["answers"][0],
        }
        before = shared.snapshot()
        shared.set_roles([], [ADA])
        client.run(
            "arguments",
            query,
            [WidgetState(id=reader.id, json_value=json.dumps({"items": [given]}))],
        )
        assert shared.snapshot() == before
        shared.set_roles([ADA], [])
        client.run("arguments", query)
        given["n"] = 2
        client.run(
            "arguments",
            query,
            [WidgetState(id=reader.id, json_value=json.dumps({"items": [given]}))],
        )
        assert len(shared.snapshot().tables["text_label"]) == len(before.tables["text_label"]) + 1


def test_files_are_for_people_with_a_role(shared: SharedServer) -> None:
    """The address of a file, and the message that asks for one to be made, are those of a page that stood open."""
    with browsing(shared.address, shared.cookie(EVE)) as client:
        drawn = client.run("scores", f"run={shared.run.id}")
        file = next(each.proto.deferred_file_id for each in drawn.widgets if each.label == "CSV")
        client.ask(
            BackMsg(app_heartbeat=True), "heartbeat_ack"
        )  # the run has ended on the server, too, and dropped old files
        wanted = client.file_request(file)
        address = client.ask(
            wanted, "backend_operation_response"
        ).backend_operation_response.deferred_file.url
        assert client.get(address)[0] == 200
        with browsing(shared.address) as nobody:
            assert nobody.get(address)[0] == 401
            nobody.run()
            assert nobody.is_ignored(nobody.file_request(file))
        shared.set_roles([ADA], [])
        assert client.get(address)[0] == 401
        assert client.is_ignored(wanted)


@pytest.mark.soak
def test_who_signs_out_is_out_in_every_tab(shared: SharedServer) -> None:
    cookie = shared.cookie(ADA, age_s=60)
    with browsing(shared.address, cookie) as tab, browsing(shared.address, cookie) as other:
        assert "editor" in tab.run().text
        other.get("/auth/logout")
        tab.send(BackMsg(app_heartbeat=True))
        assert tab.wait_until_closed() == SIGN_IN_ENDED
    for session in ("", tab.session):
        with browsing(
            shared.address, cookie, session
        ) as copied:  # what somebody may have kept of it
            assert [each.label for each in copied.run("rows").widgets] == ["Sign in"]
    with browsing(shared.address, shared.cookie(ADA)) as again:
        assert "editor" in again.run().text


@pytest.mark.soak
def test_a_session_ends_with_its_cookie(shared: SharedServer) -> None:
    """Streamlit takes it for a day longer than the browser keeps it."""
    with browsing(shared.address, shared.cookie(ADA, age_s=31 * 24 * 3600 - 8)) as client:
        assert "editor" in client.run().text
        deadline = time.monotonic() + WAIT_S
        with pytest.raises(ConnectionClosed):
            while time.monotonic() < deadline:
                client.ask(BackMsg(app_heartbeat=True), "heartbeat_ack")
                time.sleep(0.2)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["clear_cache", "load_git_info", "set_run_on_save"])
@pytest.mark.parametrize("email", [ADA, EVE, ""])
def test_messages_that_no_page_sends_do_nothing(
    shared: SharedServer, email: str, kind: str
) -> None:
    """One would empty the caches of everybody, another tells what is in the checkout."""
    with browsing(shared.address, shared.cookie(email) if email else "") as client:
        client.run()
        assert client.is_ignored(BackMsg(**{kind: True}))
    assert (
        shared.server.log.read_text().count("serves ") == 1
    )  # the server has not looked for its workspace again


@pytest.mark.soak
def test_a_broken_file_of_secrets_lets_nobody_in(shared: SharedServer) -> None:
    with browsing(shared.address, shared.cookie(ADA)) as client:
        client.run()
        shared.secrets.write_text("PERTURBDESK_EDITORS = [", "utf-8")
        found = client.run("rows", f"run={shared.run.id}")
        assert "cannot be read" in found.text
        assert not found.widgets


def test_who_loses_their_role_in_the_middle_of_an_upload_imports_nothing(
    shared: SharedServer,
) -> None:
    """What had begun to come may arrive, and goes with the tab: no page of that person takes it."""
    ada = Visitor(shared.server, ADA, secret=COOKIE_SECRET)
    before = shared.snapshot()

    def half_and_half():
        whole = one_part(b"id,pert,gene,label\nx_y,x,y,up\n")
        yield whole[: len(whole) // 2]
        shared.set_roles([], [ADA])
        yield whole[len(whole) // 2 :]

    with ada.session() as session:
        status = ada.upload(session, half_and_half())
        assert status in (204, 403)
        assert ada.upload(session, b"another") == 403
    with browsing(shared.address, shared.cookie(ADA)) as client:
        drawn = client.run("data", "tab=Import")
        assert "reader" in drawn.text
        assert not [each for each in drawn.widgets if each.kind == "file_uploader"]
    assert shared.snapshot() == before


def test_what_no_page_sends_leaves_no_traceback(shared: SharedServer) -> None:
    """Texts, bytes that are no message, and a widget's value of another kind, from nobody and from a reader."""
    with browsing(shared.address) as nobody:
        nobody._socket.send("text")
        nobody.send_bytes(b"\xff\x00garbage")
        assert "Sign in" in nobody.run().text
    with browsing(shared.address, shared.cookie(EVE)) as reader:
        seed = next(
            each
            for each in reader.run("fuse", f"run={shared.run.id}").widgets
            if each.kind == "number_input"
        )
        sent = BackMsg()
        sent.rerun_script.page_name = "fuse"
        sent.rerun_script.widget_states.widgets.add(id=seed.id, string_value="x")
        reader.send(sent)
        while reader.receive(WAIT_S).WhichOneof("type") != "script_finished":
            pass
    assert "Traceback" not in shared.server.log.read_text()
