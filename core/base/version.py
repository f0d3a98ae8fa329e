"""Which code runs: its version and the commit of its checkout."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from core import __version__
from core.base.config import REPOSITORY

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHOWN = 10  # characters of a commit


@cache
def describe() -> str:
    """Return the version and, behind a plus, the commit, such as "0.2.0+1d0391d53a"; recorded with
    every run.

    The version alone if the code is not a checkout. Uncommitted changes are not looked for. Read
    once in a process, so that a checkout that moves on meanwhile does not change what is recorded.
    """
    commit = commit_of(REPOSITORY)
    return f"{__version__}+{commit}" if commit else __version__


def version_in(description: str) -> str:
    """Return the version in a description of `describe`, without the commit."""
    return description.partition("+")[0]


def commit_of(repository: Path) -> str:
    """Return the first ten characters of the commit that a checkout is at, read from its files; ""
    if it cannot be told."""
    try:
        git = _git_folder(repository / ".git")
        head = (git / "HEAD").read_text("utf-8").strip()
        found = (
            _commit_of_reference(git, head.removeprefix("ref: "))
            if head.startswith("ref: ")
            else head
        )
    except (OSError, UnicodeDecodeError):
        return ""
    return found[:_SHOWN] if _HASH.fullmatch(found) else ""


def _git_folder(place: Path) -> Path:
    """Return where a checkout's HEAD lies: in .git, or where that file of a linked worktree
    points."""
    if place.is_dir():
        return place
    return place.parent / place.read_text("utf-8").removeprefix("gitdir: ").strip()


def _commit_of_reference(git: Path, reference: str) -> str:
    """Return the commit of a branch, whether its file stands alone or packed with others; "" before
    its first commit."""
    shared = (
        git / (git / "commondir").read_text("utf-8").strip()
        if (git / "commondir").exists()
        else git
    )
    for file in (git / reference, shared / reference):
        if file.is_file():
            return file.read_text("utf-8").strip()
    packed = (shared / "packed-refs").read_text("utf-8").splitlines()
    return next((line.split(" ")[0] for line in packed if line.endswith(f" {reference}")), "")
