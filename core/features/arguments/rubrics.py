"""Rubrics: those that come with PerturbDesk, and those that people add from a file."""

from __future__ import annotations

from pathlib import Path

from core.base.errors import InputError, StateError
from core.base.feature import find_named
from core.base.fields.toml_table import read_toml
from core.features.arguments import rubric_tables
from core.features.arguments.finding_kinds import kinds
from core.features.arguments.rubric import Rubric
from core.features.arguments.rule_answers import built_in_rubrics
from core.runs.workspace import Workspace
from core.store import changes

_ACTION = "add rubric"


def built_in() -> list[Rubric]:
    """Return the rubrics of all rules, and of what a model lists in single texts, by name."""
    listing = (kind.schema.rubric for kind in kinds().values() if kind.schema.of == "text")
    return sorted([*built_in_rubrics(), *listing], key=lambda rubric: rubric.name)


def list_all(workspace: Workspace) -> list[Rubric]:
    """Return the built-in rubrics by name, then those that people added, in the order in which they
    did."""
    with workspace.store.read() as db:
        return [*built_in(), *rubric_tables.list_own(db)]


def find(workspace: Workspace, name: str) -> Rubric:
    """Return the rubric of a name. Raise NotFound, with the known names, if there is none."""
    return find_named({rubric.name: rubric for rubric in list_all(workspace)}, "rubric", name)


def add(workspace: Workspace, rubric: Rubric) -> bool:
    """Keep a rubric; whether it is new. The same one again changes nothing.

    Raise StateError if another one has its name, InputError if it names a rule: a rule has its own
    rubric; ReadOnly.
    """
    workspace.refuse_if_read_only(_ACTION, rubric.name)
    if rubric.rule:
        raise InputError(
            f"rubric {rubric.name}: rule is {rubric.rule!r}, expected none; rules have built-in"
            " rubrics"
        )
    if rubric.name in {*kinds(), *(each.name for each in built_in())}:
        raise StateError(
            f"rubric {rubric.name!r}: a built-in one has that name; choose another name, since"
            " labels store it"
        )
    if rubric in list_all(workspace):
        return False
    with workspace.change(_ACTION, rubric.name) as (db, detail):
        detail |= {"sha256": rubric.sha256, "question": rubric.question}
        changes.bump(db, "rubrics")
        return rubric_tables.put(db, rubric, workspace.settings.author)


def add_file(workspace: Workspace, path: Path) -> Rubric:
    """Keep the rubric of a TOML file and return it. Raise InputError for a file that holds none,
    and what `add` raises."""
    workspace.refuse_if_read_only(_ACTION, path.name)
    rubric = read_toml(path).record(Rubric)
    add(workspace, rubric)
    return rubric
