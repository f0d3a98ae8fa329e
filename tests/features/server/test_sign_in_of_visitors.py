"""A shared server with sign-in: the anonymous see nothing, a reader changes nothing, an editor's name is on what they do.

The suite signs in two people at a provider; who is sent what without a browser is tests/features/server/test_sessions.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.base.config import Settings
from core.runs.workspace import Workspace, open_workspace
from core.store import changes, runs
from tests import worlds
from tests.ui.conftest import OpenTab, settle, then
from tests.ui.provider import providing, sign_in
from tests.ui.serving import Server, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
ADA, BOB = "ada@lab.example", "bob@lab.example"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The secrets of an app whose provider knows an editor and a reader."""
    people = {
        "ada": {"email": ADA, "name": "Ada Byron"},
        "bob": {"email": BOB.upper(), "name": "Bob"},
    }
    with providing(people, tmp_path_factory.mktemp("secrets")) as file:
        yield file


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace that the tests of this file change."""
    workspace = open_workspace(
        Settings(
            workspace=tmp_path_factory.mktemp("shared") / "workspace", author="whoever runs it"
        )
    )
    worlds.import_small(workspace)
    return workspace


@pytest.fixture(scope="module")
def server(shared: Workspace, secrets: Path) -> Iterator[Server]:
    roles = {"PERTURBDESK_EDITORS": ADA, "PERTURBDESK_READERS": BOB}
    with serving(
        shared.settings.workspace, PERTURBDESK_SECRETS_FILE=str(secrets), **roles
    ) as started:
        yield started


def shown(page: Page) -> list[str]:
    """All text on screen, line by line, but for the link that Streamlit hides at the top of each page."""
    lines = page.locator("body").inner_text().splitlines()
    return [line for line in map(str.strip, lines) if line and line != "Skip to main content"]


SIGN_IN = [
    "Sign in",
    "This workspace is shared with people chosen by the person who runs this server.",
    "Sign in",
]


def add_note(page: Page, text: str) -> None:
    """Write a note on the row that is open, and wait until it stands there."""
    notes = page.locator(".st-key-notes summary")
    if "Notes (0)" in notes.inner_text():  # with notes, of another test, it is open
        notes.click()
    page.get_by_label("Add a note").fill(text)
    add = page.get_by_role("button", name="Add note")
    then(
        page, lambda: add.press("Enter")
    )  # the form slides open: a click while it does may hit what was there before
    page.locator(".st-key-notes").get_by_text(text).wait_for()


def open_debates(page: Page, server: Server) -> None:
    page.goto(server.url("rows"))
    settle(page)


@pytest.mark.soak
@pytest.mark.parametrize(
    "read", [("rows",), pytest.param(("rows", "data", "run"), marks=pytest.mark.soak)], ids=len
)
def test_an_editor_and_a_reader_at_the_same_time(
    open_tab: OpenTab, server: Server, shared: Workspace, read: Sequence[str]
) -> None:
    ada, bob = open_tab(), open_tab()
    sign_in(ada, server, "ada")
    with shared.store.read() as db:
        [debate] = [run for run in runs.list_all(db) if run.name == "debate"]
    linked = f"{server.url('rows')}?run={debate.id}&row=Pa_Gb"
    sign_in(bob, server, "bob", linked)
    assert bob.url.startswith(linked)
    assert bob.get_by_role("heading", name="Pa").first.is_visible()
    assert f"Signed in as Ada Byron <{ADA}>, editor" in [
        line.replace("\u2060", "") for line in shown(ada)
    ]
    assert f"Signed in as Bob <{BOB}>, reader" in [
        line.replace("\u2060", "") for line in shown(bob)
    ]
    open_debates(ada, server)
    text = f"by one who may, {len(read)}"
    add_note(ada, text)
    assert ada.get_by_label("Author").count() == 0
    for name in read:
        bob.goto(server.url(name))
        settle(bob)
        assert (
            bob.get_by_label("Add a note").count()
            == bob.get_by_test_id("stFileUploader").count()
            == 0
        ), name
        for action in ("Start", "Save", "Delete", "Rename", "Undo", "Import", "Add note"):
            assert (
                bob.get_by_test_id("stMain")
                .get_by_role("button", name=action, disabled=False)
                .count()
                == 0
            ), (name, action)
    ada.get_by_role("button", name="Sign out").click()
    ada.wait_for_url("**/end_session**")  # the provider's own page
    open_debates(ada, server)
    assert shown(ada) == SIGN_IN
    with shared.store.read() as db:
        note = db.execute("SELECT author, text FROM note WHERE text = ?", [text]).fetchone()
        authors = changes.latest(db)["author"].tolist()
    assert note == (f"Ada Byron <{ADA}>", text)
    assert authors[0] == f"Ada Byron <{ADA}>"
    assert not [author for author in authors if BOB in author.lower()]
