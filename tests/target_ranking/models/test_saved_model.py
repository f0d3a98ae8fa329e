"""Folders of models: complete or refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError, NotFound
from core.target_ranking.models.base import load_model
from core.target_ranking.models.saved_model import ARRAYS, MANIFEST, SavedModel, read_manifest, read_model, write_model

HISTORY = pd.DataFrame({"epoch": [1.0, 2.0], "validation_mrr": [0.25, np.nan]})
SAVED = SavedModel("made", ("A", "B"), {"k": 3}, {"mean": np.arange(4, dtype=np.float32)[::2]}, HISTORY, ("a note",))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_model(tmp_path / "here", SAVED)
    assert sorted(file.name for file in (tmp_path / "here").iterdir()) == [MANIFEST, ARRAYS]
    found = read_model(tmp_path / "here", "made")
    assert (found.genes, found.facts, found.notes) == (SAVED.genes, SAVED.facts, SAVED.notes)
    assert found.arrays["mean"].tolist() == [0, 2]
    pd.testing.assert_frame_equal(found.history, HISTORY)


def test_without_a_manifest_it_is_no_model(tmp_path: Path) -> None:
    write_model(tmp_path, SAVED)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(NotFound, match="not a complete ranking model"):
        load_model(tmp_path)


def test_the_manifest_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.target_ranking.models import saved_model

    write_model(tmp_path, SAVED)

    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(saved_model, "replace_file", refuse)
    with pytest.raises(OSError, match="no space"):
        write_model(tmp_path, SAVED)
    with pytest.raises(NotFound):
        read_manifest(tmp_path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    write_model(tmp_path, SAVED)
    with pytest.raises(InputError, match="holds a model 'made', expected other"):
        read_model(tmp_path, "other")
    with pytest.raises(NotFound, match="'made': not known"):
        load_model(tmp_path)
    content = (tmp_path / ARRAYS).read_bytes()
    (tmp_path / ARRAYS).write_bytes(content[:-1] + b"!")
    with pytest.raises(InputError, match="is not the file that its manifest"):
        read_model(tmp_path, "made")
    for text, message in (
        ("{", "not the manifest"),
        ("[]", "not the manifest"),
        (json.dumps({"format": "x", "version": 1}), "'x' of version"),
    ):
        (tmp_path / MANIFEST).write_text(text)
        with pytest.raises(InputError, match=message):
            read_manifest(tmp_path)
