"""Checkpoints of a fine-tune: which one is whole. One that was being written when its process was killed is not."""

from __future__ import annotations

import shutil
from pathlib import Path

from core.file_io import replace_file

WHOLE = "whole"  # written into a checkpoint when everything else is there


def mark_whole(checkpoint: Path) -> None:
    """Records that everything of a checkpoint is written."""
    replace_file(checkpoint / WHOLE, b"", durable=True)


def last_whole(checkpoints: Path) -> Path | None:
    """Returns the whole checkpoint of most steps; None without one. Removes those that are not whole."""
    found: dict[int, Path] = {}
    for entry in checkpoints.glob("checkpoint-*"):
        step = entry.name.removeprefix("checkpoint-")
        if (entry / WHOLE).is_file() and step.isdecimal():
            found[int(step)] = entry
        else:
            shutil.rmtree(entry)
    return found[max(found)] if found else None
