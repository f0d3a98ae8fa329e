"""The folder of a fine-tune."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.environment import describe
from core.base.errors import InputError, NotFound, StateError
from core.base.fields.record import read_options
from core.base.records import from_json, to_json
from core.features.finetune.job_folder import (
    BASE,
    CONFIG,
    MANIFEST,
    FinetuneFolder,
    FinetuneSettings,
    FinetuneSpec,
    hashes_of,
    last_whole,
    list_folders,
    make_readable,
    mark_whole,
    name_tokens,
    read_base,
    read_manifest,
    refuse_occupied,
    short_name,
    write_manifest,
    write_merged,
)
from tests.features.finetune.cases import EXAMPLE, folder_in, spec, write_model


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
    (tmp_path / MANIFEST).write_text(json.dumps({"format": "another"}))
    with pytest.raises(InputError, match="is not a manifest of a fine-tune"):
        read_manifest(tmp_path)


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


def written(folder: Path, values: dict[str, Any]) -> dict[str, Any]:
    (folder / CONFIG).write_text(json.dumps(values), "utf-8")
    make_readable(folder)
    return json.loads((folder / CONFIG).read_text("utf-8"))


def test_a_list_becomes_a_mapping_and_nothing_else_changes(tmp_path: Path) -> None:
    values = {
        "eos_token": "<|im_end|>",
        "extra_special_tokens": ["<|im_start|>", "<|im_end|>"],
        "model_max_length": 8,
    }
    expected = {"im_start": "<|im_start|>", "im_end": "<|im_end|>"}
    assert written(tmp_path, values) == values | {"extra_special_tokens": expected}
    for readable in ({"extra_special_tokens": expected}, {"eos_token": "x"}):
        assert written(tmp_path, readable) == readable
    (tmp_path / CONFIG).unlink()
    make_readable(tmp_path)
    assert not (tmp_path / CONFIG).exists()


def test_names_that_would_come_twice_and_tokens_without_letters() -> None:
    assert name_tokens(["<a>", "[a]", "<<>>", {"content": "<é>"}]) == {
        "a": "<a>",
        "a_2": "[a]",
        "token": "<<>>",
        "é": {"content": "<é>"},
    }


@given(st.lists(st.text(max_size=6), max_size=8))
def test_no_token_is_lost(tokens: list[str]) -> None:
    assert list(name_tokens(tokens).values()) == tokens


def test_the_last_whole_one_counts_and_a_torn_one_goes(tmp_path: Path) -> None:
    assert last_whole(tmp_path / "nowhere") is None
    for step in (9, 10, 100):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "adapter_model.safetensors").write_text("x")
    assert last_whole(tmp_path) is None  # all were being written when their process was killed
    assert not list(tmp_path.iterdir())
    for step in (9, 10, 100):
        (tmp_path / f"checkpoint-{step}").mkdir()
    for step in (9, 10):  # by number, not by name
        mark_whole(tmp_path / f"checkpoint-{step}")
    assert last_whole(tmp_path) == tmp_path / "checkpoint-10"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["checkpoint-10", "checkpoint-9"]


def test_it_comes_back_from_json() -> None:
    assert from_json(FinetuneSpec, to_json(spec()), "fine-tune") == spec()
    with pytest.raises(InputError, match="cannot be read"):
        from_json(FinetuneSpec, {"base": "m"}, "fine-tune")


def test_the_key_changes_with_what_comes_out_and_with_nothing_else() -> None:
    key, settings = spec().key, dict(spec().settings)
    same = [
        spec("/elsewhere"),
        spec(dataset_name="x"),
        spec(settings=settings | {"checkpoint_every": 7}),
    ]
    assert {each.key for each in same} == {key}
    other = [
        spec(base="m"),
        spec(data_sha256="0"),
        *(spec(settings=settings | change) for change in ({"rank": 8}, {"seed": 1})),
    ]
    assert len({key, *(each.key for each in other)}) == 5


def test_people_read_the_model_without_its_owner() -> None:
    assert short_name("owner/Model-4B") == "Model-4B"
    assert short_name("/a/b/model") == "model"
    assert spec().name == "Model-4B on bmdm"


def test_the_defaults_are_those_of_the_specification() -> None:
    assert BASE == "Qwen/Qwen3-4B-Thinking-2507"
    chosen = read_options(FinetuneSettings, {})
    assert (chosen["rank"], chosen["alpha"], chosen["dropout"]) == (16, 32, 0.05)
    assert (chosen["epochs"], chosen["learning_rate"], chosen["warmup"]) == (3.0, 2e-4, 0.1)
    assert (chosen["batch"], chosen["accumulate"], chosen["length"]) == (4, 4, 1024)


@pytest.mark.parametrize(
    ("name", "value"),
    [("rank", "0"), ("dropout", "1"), ("epochs", "0"), ("parts", "1"), ("rates", "1")],
)
def test_what_cannot_be_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InputError, match=name):
        read_options(FinetuneSettings, {name: value})


def test_a_base_is_a_name_or_a_folder_with_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_base("Qwen/Qwen3-4B-Thinking-2507") == "Qwen/Qwen3-4B-Thinking-2507"
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    with pytest.raises(InputError, match=r"has no config\.json"):
        read_base("model")
    Path("model/config.json").write_text("{}")
    assert read_base("model") == str(tmp_path / "model")
    for wrong in ("", "./other", "/nowhere/model", "a/b/c"):
        with pytest.raises(InputError, match="no such folder"):
            read_base(wrong)
