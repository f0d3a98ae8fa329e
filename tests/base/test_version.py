"""The version and the commit, as git itself tells it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from core import __version__
from core.base.config import REPOSITORY
from core.base.environment import commit_of, describe, version_in
from core.runs.workspace import Workspace
from core.store import runs
from tests import commands

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "first")
    return folder


@needs_git
def test_a_detached_head_and_a_linked_worktree_have_theirs(
    repository: Path, tmp_path: Path
) -> None:
    first = git(repository, "rev-parse", "HEAD")[:10]
    git(repository, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    git(tmp_path / "linked", "commit", "--quiet", "--allow-empty", "-m", "second")
    second = git(tmp_path / "linked", "rev-parse", "HEAD")[:10]
    assert (commit_of(repository), commit_of(tmp_path / "linked")) == (first, second)
    git(repository, "checkout", "--quiet", "--detach", second)
    assert commit_of(repository) == second


@needs_git
def test_before_the_first_commit_there_is_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert commit_of(tmp_path) == ""


def test_without_git_there_is_none(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == ""


def test_a_description_holds_both() -> None:
    commit = commit_of(REPOSITORY)
    assert describe() == (f"{__version__}+{commit}" if commit else __version__)
    assert version_in(describe()) == version_in(__version__) == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_the_command_line_tells_it(tmp_path: Path) -> None:
    done = commands.core(tmp_path, "--version")
    assert (done.status, done.out) == (0, f"perturbdesk {describe()}\n")


def test_every_run_records_the_version_and_the_commit(small_workspace: Workspace) -> None:
    commands.core_json(small_workspace, "run evidence_rules --name 'made here'")
    with small_workspace.store.read() as db:
        recorded = {run.name: run.code_version for run in runs.list_all(db)}
    assert recorded == {"debate": describe(), "made here": describe()}
