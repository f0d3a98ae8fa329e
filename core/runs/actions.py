"""What a person can do to a run: rename it, record a public score, add a note, delete it; and
presets of a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from core.base.errors import DeskError, InputError
from core.base.log import record_error
from core.base.texts import check_name
from core.features import hooks
from core.runs.workspace import Workspace
from core.store import changes, imports, notes, runs
from core.store.notes import Subject
from core.store.runs import Run

MAX_NAME = 120  # characters of the name of a run
MAX_PRESET_NAME = 60  # characters


def rename(workspace: Workspace, run: str, name: str) -> Run:
    """Give a run another name; links keep working, since they carry its id."""
    name = name.strip()
    if not 0 < len(name) <= MAX_NAME:
        raise InputError(f"new name of {run}: got {len(name)} characters, expected 1 to {MAX_NAME}")
    with workspace.change("rename", run) as (db, detail):
        found = runs.find(db, run)
        if name != found.name:
            runs.refuse_taken_name(db, found.dataset, name)
            runs.change(db, found.id, name=name)
            changes.bump(db, "runs")
        detail |= {"run": found.id, "from": found.name, "to": name}
        return runs.find(db, found.id)


def set_values(workspace: Workspace, run: str, values: Mapping[str, str]) -> Run:
    """Set `public_score` (a number in [0, 1], or empty for none) and `note` (text) of a run."""
    checked: dict[str, str | float | None] = {}
    for key, value in values.items():
        if key == "public_score":
            try:
                score = float(value) if value.strip() else None
            except ValueError:
                score = math.nan
            if score is not None and not 0 <= score <= 1:
                raise InputError(f"public_score: got {value!r}, expected a number between 0 and 1")
            checked[key] = score
        elif key == "note":
            checked[key] = value.strip() or None
        else:
            raise InputError(
                f"set {run}: got {key}={value}, expected public_score=NUMBER or note=TEXT"
            )
    with workspace.change("set", run) as (db, detail):
        found = runs.find_predicting(db, run) if "public_score" in checked else runs.find(db, run)
        runs.change(db, found.id, **checked)
        changes.bump(db, "runs")
        detail |= {"run": found.id, **checked}
        return runs.find(db, found.id)


def delete(workspace: Workspace, run: str) -> Run:
    """Delete a run with its traces, journal and notes (the notes' text stays in the audit log); its
    file can be imported again.

    Raise StateError while a worker is on it.
    """
    from core.runs.run_state import refuse_live

    with workspace.store.read() as db:
        refuse_live(workspace.run_folder(runs.find(db, run).id))
    with workspace.change("delete", run) as (db, detail):
        found = runs.find(db, run)
        detail |= {"run": found.id, "name": found.name, "rows": found.done}
        detail["notes"] = notes.of_run(db, found.id).to_dict("records")
        imports.delete_with_run(db, found.id)
        changes.bump(db, "runs", "notes", f"run:{found.id}")
    workspace.run_folder(found.id).remove()
    return found


def add_note(
    workspace: Workspace, run: str, pair_id: str | None, text: str, author: str = ""
) -> str:
    """Add a note on a row of a run, or on the run if `pair_id` is None; return the note's id."""
    return _add_note(workspace, Subject(run, pair_id), text, author)


def add_figure_note(workspace: Workspace, run: str, figure: str, address: str, text: str) -> str:
    """Add a note on a figure of a run, by its title; address: of the view that has it. Return the
    note's id."""
    return _add_note(workspace, Subject(run, figure=figure, address=address), text, "")


def _add_note(workspace: Workspace, subject: Subject, text: str, author: str) -> str:
    text, on = text.strip(), subject.pair_id or subject.figure or subject.run
    if not text:
        raise InputError(f"note on {on}: got an empty text, expected a remark")
    with workspace.change("note", on) as (db, detail):
        found = runs.find(db, subject.run)
        if subject.pair_id is not None:
            runs.refuse_unknown_row(db, found.id, subject.pair_id)
        note = notes.add(
            db, subject._replace(run=found.id), author.strip() or workspace.settings.author, text
        )
        changes.bump(db, "notes", f"run:{found.id}")
        detail |= {"run": found.id, "note": note, "text": text}
        return note


def delete_note(workspace: Workspace, note: str) -> None:
    """Delete a note that this author wrote; its text stays in the audit log, which has it since it
    was written."""
    with workspace.change("delete note", note) as (db, _):
        author = notes.author_of(db, note)
        if author is None:
            raise InputError(f"note {note!r}: not in this workspace")
        if author != workspace.settings.author:
            raise InputError(
                f"note {note!r}: {author} wrote it, expected one by {workspace.settings.author}"
            )
        notes.delete(db, note)
        changes.bump(db, "notes")


def save_preset(workspace: Workspace, page: str, name: str, settings: Mapping[str, Any]) -> None:
    """Save a page's settings under a name; a preset of that name is replaced."""
    name = name.strip()
    if not 0 < len(name) <= MAX_PRESET_NAME:
        raise InputError(
            f"preset: got a name of {len(name)} characters, expected 1 to {MAX_PRESET_NAME}"
        )
    check_name("preset", name)
    with workspace.change("preset", name) as (db, detail):
        notes.save_preset(db, page, name, settings, workspace.settings.author)
        changes.bump(db, "presets")
        detail |= {"page": page, "settings": dict(settings)}


def delete_preset(workspace: Workspace, page: str, name: str) -> None:
    """Delete a preset."""
    with workspace.change("delete preset", name) as (db, _):
        if not notes.delete_preset(db, page, name):
            raise InputError(f"preset {name!r}: not in this workspace")
        changes.bump(db, "presets")


def keep_results(workspace: Workspace) -> None:
    """Compute what pages show first of runs whose rows or labels changed, such as scores, in the
    process that changed them. What fails is logged, and computed when it is looked at."""
    if workspace.settings.read_only:
        return
    try:
        with workspace.store.read() as db:
            finders = hooks("kept_results") if runs.list_all(db) else ()
    except DeskError as error:  # a store that is held now: what was imported is told all the same
        record_error("results to keep", error)
        return
    for find_missing in finders:
        try:
            workspace.keep(*find_missing(workspace.store))
        except DeskError as error:
            record_error("results to keep", error)
