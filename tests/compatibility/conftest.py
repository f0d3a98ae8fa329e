"""The files of an earlier version, by the module's `FILES`: a workspace that is only copied, and a model server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from tests.compatibility.old_files import unpack
from tests.fakes.scripted import serving


@pytest.fixture(scope="module")
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace as its files lie in the archive; copied, never changed."""
    return unpack(request.module.FILES / "workspace.zip", tmp_path_factory.mktemp("unpacked"))


@pytest.fixture
def old(unpacked: Path, tmp_path: Path) -> Workspace:
    """A copy of the workspace, to change."""
    shutil.copytree(unpacked, tmp_path / "old")
    return open_workspace(Settings(workspace=tmp_path / "old", author="tester"))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as url:
        yield url
