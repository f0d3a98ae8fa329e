"""What a reader's browser may send, whatever its page shows: the messages of every widget of an editor's page.

The widgets are those that a walk finds. `soak/test_random_messages.py` walks through more pages, and sends what no widget would.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ui.change_watch import API_KEY, changes_since
from tests.ui.page_client import CLIENT_SECRET, COOKIE_SECRET, browsing
from tests.ui.shared_server import ADA, EVE, SharedServer, sharing
from tests.ui.widget_walk import Step, walk

SECRETS = (API_KEY, COOKIE_SECRET, CLIENT_SECRET)
PAGES = ("debates", "launch", "report")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    with sharing(tmp_path_factory.mktemp("shared")) as server:
        yield server


def send(shared: SharedServer, email: str, step: Step) -> bytes:
    """Open the place of a widget in a new browser and use the widget, in fields the model server's address; what was received."""
    place = step.place
    with browsing(shared.address, shared.cookie(email)) as client:
        for states in (place.states, *step.uses(shared.model.address)):
            client.run(place.page, place.query, states)
        return bytes(client.received)


def test_a_reader_sends_what_an_editor_may_and_changes_nothing(shared: SharedServer) -> None:
    with browsing(shared.address, shared.cookie(ADA)) as editor:
        found = walk(editor, PAGES, f"run={shared.run.id}", deep=False)
        steps = [step for step in found if step.widget.kind in ("button", "text_area") and step.widget.label != "Sign out"]
    assert {"Ask again", "Estimate", "Add note", "Start run", "Save report"} <= {step.widget.label for step in steps}
    before = shared.snapshot()
    for step in steps:
        received = send(shared, EVE, step)
        assert not [secret for secret in SECRETS if secret.encode() in received], step
    assert shared.snapshot() == before
    [note] = [step for step in steps if step.widget.label == "Add note"]
    send(shared, ADA, note)  # the same from one who may
    assert changes_since(shared.workspace, len(before.tables["trail"])) == [(ADA, "note")]
