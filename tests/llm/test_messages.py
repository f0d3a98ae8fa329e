from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace
from typing import Any

import pytest

from core.base.config import REPOSITORY
from core.base.errors import InputError
from core.llm.messages import Message, Request, Usage

ASK = Request("m", (Message("system", "Be brief."), Message("user", "Wirkt Cbfb auf Mmp14? „ja“")))
OTHER = {
    "model": "n",
    "messages": (Message("user", "?"),),
    "seed": 42,
    "temperature": 0.6,
    "top_p": 0.9,
    "max_completion_tokens": 7,
    "reasoning_effort": "low",
    "top_logprobs": 0,
    "stop": ("</answer>",),
    "repeat": 1,
    "extra_body": '{"top_k": 20}',
    "leave_out": ("temperature",),
    "response_format": '{"type": "json_object"}',
}


def test_what_is_sent() -> None:
    assert json.loads(ASK.text) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Wirkt Cbfb auf Mmp14? „ja“"},
        ],
        "temperature": 1,
        "top_p": 1,
    }
    full = json.loads(replace(ASK, **OTHER | {"leave_out": ()}).text)
    assert full == {
        "model": "n",
        "messages": [{"role": "user", "content": "?"}],
        "temperature": 0.6,
        "top_p": 0.9,
        "logprobs": True,
        "top_logprobs": 0,
        "stop": ["</answer>"],
        "seed": 42,
        "max_completion_tokens": 7,
        "reasoning_effort": "low",
        "top_k": 20,
        "response_format": {"type": "json_object"},
    }
    assert "temperature" not in json.loads(replace(ASK, leave_out=("temperature",)).text)


def test_every_field_is_part_of_the_key() -> None:
    # What a server calls the longest answer changes none.
    assert set(OTHER) == {field.name for field in fields(Request)} - {"limit_name"}
    assert (
        replace(ASK, max_completion_tokens=7, limit_name="max_tokens").key
        == replace(ASK, max_completion_tokens=7).key
    )
    keys = {replace(ASK, **{name: value}).key for name, value in OTHER.items()}
    assert len(keys | {ASK.key}) == len(OTHER) + 1
    assert replace(ASK, temperature=1).key == ASK.key  # the number 1 is the number 1.0


@pytest.mark.soak
def test_the_key_is_the_same_in_another_process() -> None:
    code = (
        "from core.llm.messages import *; print(Request('m', (Message('user', 'x'),), seed=1).key)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == Request("m", (Message("user", "x"),), seed=1).key


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": "m\udc80"}, "character 2 of 2 is half of a surrogate pair"),
        (
            {"messages": (Message("user", "ab\ud800"),)},
            "character 3 of 3 is half of a surrogate pair",
        ),
    ],
)
def test_what_no_server_could_take(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(ASK, **changed)


def test_twice_the_budget() -> None:
    assert (
        replace(ASK, max_completion_tokens=100).with_twice_the_limit().max_completion_tokens == 200
    )
    assert ASK.with_twice_the_limit() == ASK


def test_text_and_key_of_a_request_are_made_once() -> None:
    again = replace(ASK)
    assert again.text is again.text
    assert again.key is again.key
    assert again == ASK
    assert hash(again) == hash(ASK)


def test_usage_is_summed_field_by_field() -> None:
    names = [field.name for field in fields(Usage)]
    one = Usage(**{name: i + 1 for i, name in enumerate(names)})
    assert sum([one, one, Usage()], Usage()) == Usage(
        **{name: 2 * (i + 1) for i, name in enumerate(names)}
    )
