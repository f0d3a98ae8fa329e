"""What can be chosen for a fine-tune: the challenge's settings by default, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.errors import InputError
from core.base.fields.record import read_options
from core.features.finetune.job_folder import BASE, FinetuneSettings, read_base


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
