"""The folder of a fine-tune."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from core.base.errors import InputError, NotFound
from core.features.finetune.job_folder import FinetuneFolder, list_folders
from tests.features.finetune.cases import EXAMPLE, folder_in, spec


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    assert folder.spec() == spec(tmp_path / "model")
    assert json.loads(folder.train.read_text("utf-8")) == EXAMPLE
    assert folder.losses() == []
    folder.write_losses([{"step": 1, "epoch": 0.5, "loss": 2.0}])
    assert folder.losses() == [{"step": 1, "epoch": 0.5, "loss": 2.0}]


def test_a_changed_specification_is_refused(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    file = folder.path / "spec.json"
    values = json.loads(file.read_text())
    values["spec"]["base"] = "another"
    file.write_text(json.dumps(values))
    with pytest.raises(InputError, match="was changed"):
        folder.spec()


def test_other_folders_are_no_fine_tunes_and_are_not_deleted(tmp_path: Path) -> None:
    other = FinetuneFolder(tmp_path / "notes")
    other.path.mkdir()
    other.remove()
    assert other.path.is_dir()
    with pytest.raises(NotFound, match="no fine-tune was begun here"):
        other.spec()
    assert list_folders(tmp_path / "nowhere") == []
    first, second = folder_in(tmp_path), folder_in(tmp_path, base="m")
    os.utime(first.path / "spec.json", (1, 1))
    assert list_folders(tmp_path) == [second, first]  # the latest begun first
    first.remove()
    assert list_folders(tmp_path) == [second]
