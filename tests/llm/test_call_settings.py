from __future__ import annotations

import json
from typing import Any

import pytest

from core.base.errors import InputError
from core.base.fields.record import make, values_of
from core.llm.call_settings import CallSettings
from core.llm.messages import Message, Request

DEFAULTS = {
    "temperature": None,
    "top_p": None,
    "top_logprobs": None,
    "extra_body": "",
    "leave_out": [],
}
ASK = Request("m", (Message("user", "?"),), seed=1, max_completion_tokens=9, top_logprobs=20)


def test_by_default_nothing_changes() -> None:
    assert CallSettings().apply(ASK) == ASK
    assert CallSettings().identity == DEFAULTS
    assert CallSettings().apply(ASK).key == ASK.key


@pytest.mark.parametrize(
    ("chosen", "sent"),
    [
        ({"temperature": "0.5"}, {"temperature": 0.5}),
        ({"top_p": 0.9}, {"top_p": 0.9}),
        ({"top_logprobs": 5}, {"top_logprobs": 5}),
        (
            {"extra_body": '{"top_k": 20, "provider": {"only": ["x"]}}'},
            {"top_k": 20, "provider": {"only": ["x"]}},
        ),
        ({"leave_out": "seed,top_p"}, {"seed": None, "top_p": None}),
        ({"limit_name": "max_tokens"}, {"max_tokens": 9, "max_completion_tokens": None}),
        ({"leave_out": "max_completion_tokens", "limit_name": "max_tokens"}, {"max_tokens": None}),
    ],
)
def test_each_setting_changes_what_is_sent(chosen: dict[str, Any], sent: dict[str, Any]) -> None:
    body = make(CallSettings, chosen).apply(ASK).body
    assert {name: body.get(name) for name in sent} == sent


def test_what_can_change_an_answer_is_identity_and_what_a_server_calls_things_is_not() -> None:
    settings = CallSettings(
        temperature=0.5,
        extra_body='{"b": 1, "a": 2}',
        leave_out=("top_p", "seed"),
        limit_name="max_tokens",
        api_version="1",
    )
    chosen = {"temperature": 0.5, "extra_body": '{"a": 2, "b": 1}', "leave_out": ["seed", "top_p"]}
    assert settings.identity == DEFAULTS | chosen
    assert CallSettings(limit_name="max_tokens").apply(ASK).key == ASK.key
    assert CallSettings(extra_body='{"a": 2}').apply(ASK).key != ASK.key
    # A run that goes on keeps its identity, whatever else was chosen since.
    assert CallSettings(temperature=1, limit_name="max_tokens").with_identity(
        json.loads(json.dumps(settings.identity))
    ) == (
        CallSettings(
            temperature=0.5,
            extra_body='{"a": 2, "b": 1}',
            leave_out=("seed", "top_p"),
            limit_name="max_tokens",
        )
    )


def test_what_is_chosen_counts_before_what_a_file_says() -> None:
    found = CallSettings(temperature=0.5).over(
        CallSettings(temperature=1, top_p=0.9, api_version="1")
    )
    assert values_of(found) == values_of(CallSettings(temperature=0.5, top_p=0.9, api_version="1"))


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"extra_body": "top_k"}, "extra_body: no JSON"),
        ({"extra_body": "[1]"}, "expected a JSON object"),
        ({"extra_body": '{"messages": []}'}, "holds 'messages', which has a setting"),
        ({"extra_body": '{"seed": 1}'}, "holds 'seed'"),
        ({"extra_headers": '{"Authorization": "Bearer x"}'}, "may hold a key"),
        ({"extra_headers": '{"api-key": "x"}'}, "may hold a key"),
        ({"extra_headers": '{"Host": "elsewhere"}'}, "set by the connection itself"),
        ({"extra_headers": '{"a b": "x"}'}, "cannot be sent"),
        ({"extra_headers": '{"a": "x\\ny"}'}, "cannot be sent"),
        ({"leave_out": "messages"}, "expected .*temperature"),
        ({"temperature": -1}, "temperature"),
        ({"top_p": 0}, "top_p: got 0"),
        ({"top_logprobs": 21}, "top_logprobs"),
    ],
)
def test_what_cannot_be_sent_is_refused(chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make(CallSettings, chosen)
