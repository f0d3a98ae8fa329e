"""Named settings of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.actions.desk import Desk
from core.errors import InputError
from core.store import presets, versions

MAX_NAME = 60  # characters


def save(desk: Desk, page: str, name: str, settings: Mapping[str, Any]) -> None:
    """Keep a page's settings under a name; what it named before is replaced."""
    name = name.strip()
    if not 0 < len(name) <= MAX_NAME:
        raise InputError(f"preset: got a name of {len(name)} characters, expected 1 to {MAX_NAME}")
    with desk.change("preset", name) as (db, detail):
        presets.save(db, page, name, settings, desk.settings.author)
        versions.bump(db, "presets")
        detail |= {"page": page, "settings": dict(settings)}


def delete(desk: Desk, page: str, name: str) -> None:
    """Forget a preset."""
    with desk.change("delete preset", name) as (db, _):
        if not presets.delete(db, page, name):
            raise InputError(f"preset {name!r}: not in this workspace")
        versions.bump(db, "presets")
