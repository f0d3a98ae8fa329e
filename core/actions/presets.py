"""Named settings of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.actions.workspace import Workspace
from core.errors import InputError
from core.store import changes, presets

MAX_NAME = 60  # characters


def save(workspace: Workspace, page: str, name: str, settings: Mapping[str, Any]) -> None:
    """Saves a page's settings under a name; a preset of that name is replaced."""
    name = name.strip()
    if not 0 < len(name) <= MAX_NAME:
        raise InputError(f"preset: got a name of {len(name)} characters, expected 1 to {MAX_NAME}")
    with workspace.change("preset", name) as (db, detail):
        presets.save(db, page, name, settings, workspace.settings.author)
        changes.bump(db, "presets")
        detail |= {"page": page, "settings": dict(settings)}


def delete(workspace: Workspace, page: str, name: str) -> None:
    """Deletes a preset."""
    with workspace.change("delete preset", name) as (db, _):
        if not presets.delete(db, page, name):
            raise InputError(f"preset {name!r}: not in this workspace")
        changes.bump(db, "presets")
