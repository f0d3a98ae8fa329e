"""Who may do what in a workspace that several people share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.base.config import Settings
from core.base.errors import ReadOnly
from core.runs.actions import add_note
from core.runs.workspace import Person, Workspace, person_of
from core.store import changes, runs

SHARED = Settings(
    editors=("ada@lab.example", "both@lab.example"), readers=("bob@lab.example", "both@lab.example")
)


@pytest.mark.parametrize(
    ("email", "role"),
    [
        ("ada@lab.example", "editor"),
        (" Ada@Lab.Example ", "editor"),
        ("bob@lab.example", "reader"),
        ("both@lab.example", "editor"),
        ("eve@lab.example", None),
        ("ada@lab.example.evil.example", None),
        ("*", None),
        ("", None),
    ],
)
def test_an_address_has_the_role_that_the_settings_name(email: str, role: str | None) -> None:
    person = person_of(SHARED, email)
    assert (person.role if person else None) == role


def test_everyone_may_be_a_reader_and_nobody_else_an_editor() -> None:
    everyone = replace(SHARED, readers=("*",))
    for email, role in (("eve@other.example", "reader"), ("ada@lab.example", "editor")):
        person = person_of(everyone, email)
        assert person.role == role
    assert person_of(everyone, "") is None
    assert person_of(Settings(), "eve@other.example") is None


def test_each_session_has_its_own_role_and_all_one_store(small_workspace: Workspace) -> None:
    ada = small_workspace.for_person(Person("Ada Byron", "ada@lab.example", "editor"))
    bob = small_workspace.for_person(Person("", "bob@lab.example", "reader"))
    assert ada.store is bob.store is small_workspace.store
    with ada.store.read() as db:
        [run] = runs.list_all(db)
    add_note(ada, run.id, None, "mine")
    with pytest.raises(ReadOnly, match=r"bob@lab\.example is signed in as a reader"):
        add_note(bob, run.id, None, "mine too")
    add_note(ada, run.id, None, "again")
    add_note(small_workspace, run.id, None, "whoever runs the server")
    with ada.store.read() as db:
        authors = changes.latest(db, 3)["author"].tolist()
    assert authors == ["tester", "Ada Byron <ada@lab.example>", "Ada Byron <ada@lab.example>"]


def test_an_editor_of_a_read_only_workspace_reads(small_workspace: Workspace) -> None:
    closed = Workspace(replace(small_workspace.settings, read_only=True))
    ada = closed.for_person(Person("Ada", "ada@lab.example", "editor"))
    with pytest.raises(ReadOnly, match="PERTURBDESK_READ_ONLY is set"):
        add_note(ada, "debate", None, "mine")


def test_a_role_that_is_taken_away_holds_at_the_next_change(small_workspace: Workspace) -> None:
    """Whoever still has the workspace that they got with the role: an open page, a callback, a thread."""
    now = [Person("Ada", "ada@lab.example", "editor")]
    ada = small_workspace.for_person(Person("Ada", "ada@lab.example", "editor"), lambda: now[-1])
    add_note(ada, "debate", None, "mine")
    for role in (Person("Ada", "ada@lab.example", "reader"), None):
        now.append(role)
        with pytest.raises(ReadOnly, match=r"ada@lab\.example is no longer an editor"):
            add_note(ada, "debate", None, "mine too")


def test_who_only_reads_has_no_key(small_workspace: Workspace) -> None:
    with_key = Workspace(replace(small_workspace.settings, api_key="sk", ncbi_api_key="n"))
    assert with_key.for_person(Person("", "bob@lab.example", "reader")).settings.secrets == ()
    assert with_key.for_reading("a test").settings.secrets == ()
    assert with_key.for_person(Person("", "ada@lab.example", "editor")).settings.secrets == (
        "sk",
        "n",
    )
    with pytest.raises(ReadOnly, match="a test"):
        add_note(with_key.for_reading("a test"), "debate", None, "mine")


def test_signs_that_fold_to_those_of_another_address_are_another_address() -> None:
    settings = replace(SHARED, editors=("kit@lab.example",))
    assert person_of(settings, " KIT@Lab.example ") == Person("", "kit@lab.example", "editor")
    assert person_of(settings, "\u212ait@lab.example") is None
    drawn = person_of(settings, "kit@lab.example", "Eve \u202e<ada@lab.example>")
    assert drawn is not None
    assert drawn.name == "Eve <ada@lab.example>"
