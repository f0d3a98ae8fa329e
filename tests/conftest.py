"""Fixtures that every room's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from core.actions.demo import make_demo
from core.actions.imports import import_paths, import_upload
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from tests import cases

settings.register_profile("patient", deadline=None)  # how long an example takes says nothing on a busy machine
settings.load_profile("patient")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of published files; tests that need it are skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"needs the published files in {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace of its own."""
    return open_workspace(Settings(workspace=tmp_path / "workspace", author="tester"))


@pytest.fixture
def small_workspace(workspace: Workspace) -> Workspace:
    """A workspace with six rows, four of them labelled, and a debate over four of them, called "debate"."""
    for content, name in ((cases.TRAIN, "train.csv"), (cases.TEST, "test.csv"), (cases.DEBATES, "debate.csv")):
        assert import_upload(workspace, content, name).kind != "failed"
    return workspace


@pytest.fixture(scope="session")
def demo_workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The simulated workspace, shared: tests only read it."""
    demo = open_workspace(Settings(workspace=tmp_path_factory.mktemp("demo"), author="tester"))
    make_demo(demo)
    return demo


@pytest.fixture(scope="session")
def real_workspace(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The challenge and every published submission, imported; shared: tests only read it."""
    real = open_workspace(Settings(workspace=tmp_path_factory.mktemp("real"), author="tester"))
    import_paths(real, [shared_data / "challenge", shared_data / "perturbagent"])
    return real
