"""The folder of a merged model is there whole or not at all, and takes nobody's place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from core.base.errors import StateError
from core.features.finetune.job_folder import read_manifest, refuse_occupied, write_merged
from tests.features.finetune.cases import spec


@dataclass
class Saved:
    """What peft's model and a tokenizer are asked for; fails: writes a part and raises, as a full disk does."""

    name: str
    fails: bool = False

    def merge_and_unload(self) -> Saved:
        return self

    def save_pretrained(self, folder: Path) -> None:
        (folder / self.name).write_text("{}")
        if self.fails:
            raise OSError("no space")


MODEL, TOKENIZER = Saved("config.json"), Saved("tokenizer_config.json")


def test_it_is_renamed_to_its_name_when_everything_is_in_it(tmp_path: Path) -> None:
    out = tmp_path / "models" / "mine"
    assert write_merged(MODEL, TOKENIZER, spec(out), {"steps": 1}) == out
    assert set(read_manifest(out)["files"]) == {"config.json", "tokenizer_config.json"}
    assert [entry.name for entry in out.parent.iterdir()] == ["mine"]


def test_a_failure_leaves_no_folder_of_that_name_and_the_next_try_starts_anew(
    tmp_path: Path,
) -> None:
    out = tmp_path / "mine"
    with pytest.raises(OSError, match="no space"):
        write_merged(Saved("torn.json", fails=True), TOKENIZER, spec(out), {})
    assert not out.exists()
    write_merged(MODEL, TOKENIZER, spec(out), {})
    assert not (out / "torn.json").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine"]


def test_another_folder_or_file_is_never_replaced(tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    refuse_occupied(out)  # empty
    (out / "notes.txt").write_text("mine")
    for place, what in ((out, "holds other files"), (out / "notes.txt", "is a file")):
        with pytest.raises(StateError, match=what):
            refuse_occupied(place)
    with pytest.raises(StateError, match="holds other files"):
        write_merged(MODEL, TOKENIZER, spec(out), {})
    assert (out / "notes.txt").read_text() == "mine"
    (out / "notes.txt").unlink()
    assert write_merged(MODEL, TOKENIZER, spec(out), {}) == out
