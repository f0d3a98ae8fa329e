"""A workspace to fine-tune on."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.features.finetune import job_folder
from core.runs.workspace import Workspace
from tests.features.finetune.cases import labelled_workspace


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with 36 labelled rows."""
    return labelled_workspace(tmp_path, monkeypatch)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if everything were installed, so that the process begins."""
    monkeypatch.setattr(job_folder, "PACKAGES", ("json",))
