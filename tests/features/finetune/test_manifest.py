"""The manifest of a merged model."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from core.base.environment import describe
from core.base.errors import InputError, NotFound
from core.features.finetune.merge import NAME, hashes_of, read_manifest, write_manifest
from tests.features.finetune.cases import spec, write_model


def test_it_says_what_the_model_is_made_of(tmp_path: Path) -> None:
    write_model(tmp_path)
    write_manifest(tmp_path, spec(), {"steps": 7, "loss": 0.5})
    found = read_manifest(tmp_path)
    assert (found["base"], found["key"], found["code"]) == (
        "owner/Model-4B",
        spec().key,
        describe(),
    )
    assert found["dataset"] == {"id": "d", "name": "bmdm", "sha256": spec().data_sha256}
    assert found["rows"] == {"train": 1, "validation": 1, "left_out": 2}
    assert found["settings"] == spec().settings
    assert (found["steps"], found["loss"]) == (7, 0.5)
    assert found["files"] == {
        name: hashlib.sha256(name.encode()).hexdigest()
        for name in ("config.json", "model.safetensors")
    }
    assert hashes_of(tmp_path) == found["files"]  # it does not count itself


def test_a_folder_without_one_or_with_less_than_it_names_is_not_complete(tmp_path: Path) -> None:
    write_model(tmp_path)
    with pytest.raises(NotFound, match="not a complete fine-tune"):
        read_manifest(tmp_path)
    write_manifest(tmp_path, spec(), {})
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"lacks model\.safetensors"):
        read_manifest(tmp_path)
    (tmp_path / NAME).write_text(json.dumps({"format": "another"}))
    with pytest.raises(InputError, match="is not a manifest of a fine-tune"):
        read_manifest(tmp_path)
