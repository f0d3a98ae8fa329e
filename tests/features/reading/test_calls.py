"""Seconds and tokens of the calls behind a row."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from core.base.types import Call
from core.features.reading.rows.sources import call_table, thinking_of


def call(tokens: tuple[int, int], **more: Any) -> Call:
    known = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "reasoning_tokens": 0}
    return Call(
        "key",
        "de",
        "EFFECT",
        "{}",
        "{}",
        **{"cached": False, "attempts": 1, "latency_ms": 1500.0, **known, **more},
    )


def test_each_call_has_its_seconds_and_the_tokens_that_the_server_counted() -> None:
    table = call_table(
        [
            call((100, 20)),
            call((0, 0), attempts=3, error="late"),
            call((100, 20), cached=True, latency_ms=0.0),
        ]
    )
    assert table["step"].tolist() == ["1. de · EFFECT", "2. de · EFFECT", "3. de · EFFECT"]
    assert table["seconds"].tolist() == [1.5, 1.5, 0.0]
    assert [None if pd.isna(n) else n for n in table["sent"]] == [
        100,
        None,
        100,
    ]  # no request has no tokens
    assert table["remark"].tolist() == ["", "3 attempts, failed", "from the cache"]


@pytest.mark.parametrize(
    ("message", "thinking"),
    [
        (
            {"content": "<think>Rela activates it.</think>\n\n<answer>B</answer>"},
            "Rela activates it.",
        ),
        ({"content": "B", "reasoning": "Rela activates it."}, "Rela activates it."),
        ({"content": "B"}, ""),
    ],
)
def test_the_thinking_of_a_call_is_shown_as_thinking(
    message: dict[str, str], thinking: str
) -> None:
    reply = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    asked = Call("k", "de", "JUDGE", "{}", reply, False, 1, 1.0, 1, 1, 0)
    assert thinking_of(asked) == thinking
    assert thinking_of(replace(asked, reply="<html>")) == ""
