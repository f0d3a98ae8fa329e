"""Tokenizer settings that older releases can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.features.finetune.job_folder import CONFIG, make_readable, name_tokens


def written(folder: Path, values: dict[str, Any]) -> dict[str, Any]:
    (folder / CONFIG).write_text(json.dumps(values), "utf-8")
    make_readable(folder)
    found: dict[str, Any] = json.loads((folder / CONFIG).read_text("utf-8"))
    return found


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
