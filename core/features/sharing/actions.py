"""Reports: what they show is saved under a name, as a preset of the page Share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from core.base.errors import NotFound, StateError
from core.base.texts import list_known
from core.runs import actions as runs
from core.runs.workspace import Workspace
from core.store import notes

PAGE = "report"


def save_report(
    workspace: Workspace, name: str, selection: Mapping[str, Any], *, replace: bool = False
) -> bool:
    """Save a selection (plain data) under a name; return whether there was none of that name.

    The same selection again changes nothing. Raise StateError where another has the name, unless
    `replace`; ReadOnly.
    """
    name = name.strip()
    workspace.refuse_if_read_only("save report", name)
    known = saved_reports(workspace)
    if known.get(name) == dict(selection):
        return False
    if name in known and not replace:
        raise StateError(
            f"report {name!r}: the name is taken by another selection; choose another, or use"
            " --replace"
        )
    runs.save_preset(workspace, PAGE, name, selection)
    return name not in known


def delete_report(workspace: Workspace, name: str) -> None:
    """Delete a saved selection."""
    runs.delete_preset(workspace, PAGE, name)


def saved_reports(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """Name → selection of every saved report, by name."""
    with workspace.store.read() as db:
        return notes.presets_of_page(db, PAGE)


def author_and_day(workspace: Workspace, name: str) -> tuple[str, date] | None:
    """Return who saved the selection of a name, and on which day; None if there is none."""
    with workspace.store.read() as db:
        found = notes.preset_written(db, PAGE, name)
    return None if found is None else (found[0], found[1].date())


def find_report(workspace: Workspace, name: str) -> dict[str, Any]:
    """Return the selection of a name. Raise NotFound, which lists the names."""
    known = saved_reports(workspace)
    if name not in known:
        raise NotFound(f"report {name!r}: not in this workspace, {list_known(name, list(known))}")
    return known[name]
