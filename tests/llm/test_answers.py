from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.llm.answers import Answer, error_message_of, read_answer
from core.llm.messages import TokenLogprob, Usage
from tests.llm.canned import completion


def read(body: Any) -> Answer:
    answer = read_answer(json.dumps(body))
    assert isinstance(answer, Answer)
    return answer


def test_halves_of_surrogate_pairs_are_marked_and_pairs_joined() -> None:
    body = '{"choices": [{"message": {"content": "a\\ud83d b \\ud83d\\ude00", "reasoning": "\\ude00"}, "finish_reason": "stop"}]}'
    answer = read_answer(body)
    assert isinstance(answer, Answer)
    assert (answer.content, answer.reasoning) == ("a\ufffd b \U0001f600", "\ufffd")


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_both_spellings_of_reasoning(name: str) -> None:
    assert read(completion("A", message={name: "because"})).reasoning == "because"
    assert read(completion("A", message={name: None})).reasoning == ""


def test_the_spelling_that_says_something_wins() -> None:
    assert read(completion(message={"reasoning": "", "reasoning_content": "because"})).reasoning == "because"


def test_usage() -> None:
    body = completion()
    assert read(body).usage == Usage(prompt_tokens=3, completion_tokens=2)
    body["usage"]["completion_tokens_details"] = {"reasoning_tokens": 1}
    assert read(body).usage == Usage(prompt_tokens=3, completion_tokens=2, reasoning_tokens=1)
    body["usage"] = {"prompt_tokens": None, "completion_tokens": 2}
    assert read(body).usage == Usage(completion_tokens=2, uncounted=1)
    del body["usage"]
    assert read(body).usage == Usage(uncounted=1)


@pytest.mark.parametrize("odd", [-1, "2", 2.0, 1e308, math.nan, True, 10**20, 10**4_000, [2], {}])
def test_numbers_of_tokens_that_are_none_are_not_counted(odd: Any) -> None:
    body = completion()
    body["usage"] = {"prompt_tokens": odd, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": odd}}
    assert read(body).usage == Usage(completion_tokens=2, uncounted=1)


@pytest.mark.parametrize(
    ("given", "name"), [("m-2026\n-11", "m-2026 -11"), ("m" * 500, "m" * 200), (7, ""), (None, ""), ([], "")]
)
def test_the_names_that_a_server_gives(given: Any, name: str) -> None:
    answer = read(completion("A", given) | {"model": given})
    assert (answer.model, answer.finish_reason) == (name, name)


def test_logprobs_are_plain_tuples_and_null_is_nan() -> None:
    tokens = [
        {"token": "A", "logprob": -0.5, "bytes": [65], "top_logprobs": [{"token": "B", "logprob": -1}]},
        {"token": "!", "logprob": -9999.0},
    ]
    assert read(completion(logprobs={"content": tokens})).logprobs == (
        TokenLogprob("A", -0.5, (("B", -1.0),)),
        TokenLogprob("!", -9999.0),
    )
    raw = json.dumps(completion(logprobs={"content": [{"token": "A", "logprob": None, "top_logprobs": None}]}))
    for spelled, holds in (("null", math.isnan), ("NaN", math.isnan), ("-Infinity", math.isinf)):
        answer = read_answer(raw.replace('"logprob": null', f'"logprob": {spelled}'))
        assert isinstance(answer, Answer)
        assert answer.logprobs is not None
        assert holds(answer.logprobs[0].logprob)


@pytest.mark.parametrize(
    "given",
    [None, {}, {"content": None}, {"content": [{}]}, {"content": ["A"]}, {"content": [{"token": "A", "logprob": "?"}]}, "x"]
    + [{"content": [{"token": token, "logprob": -1}]} for token in (None, 1, ["A"])],
)
def test_logprobs_in_another_form_are_absent(given: Any) -> None:
    assert read(completion(logprobs=given)).logprobs is None


def test_a_number_too_large_for_a_float_is_no_logprob() -> None:
    assert read(completion(logprobs={"content": [{"token": "A", "logprob": -(10**400)}]})).logprobs is None


@pytest.mark.parametrize(
    ("content", "finish_reason", "whole"),
    [
        ("A", "stop", True),
        ("A", "length", False),
        (None, "stop", False),
        ("", "stop", False),
        (" \n", "stop", False),
        ("A", None, True),
    ],
)
def test_what_is_complete(content: str | None, finish_reason: Any, whole: bool) -> None:
    assert read(completion(content, finish_reason)).is_complete is whole


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON"),
        ('{"choices": [{"mess', "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"created": ' + "9" * 5_000 + "}", "no JSON"),
        ("<html>busy</html>", "no JSON"),
        ("[]", "no choices"),
        ("{}", "no choices"),
        ('{"choices": []}', "no choices"),
        ('{"choices": null}', "no choices"),
        ('{"choices": [{"message": null}]}', "no choices"),
        ('{"choices": [null]}', "no choices"),
        ('{"error": {"message": "over\\nloaded"}}', "no choices but an error: over loaded"),
        ('{"choices": [{"message": {"content": ["A"]}}]}', "content of type list"),
    ],
)
def test_what_is_no_answer(text: str, said: str) -> None:
    answer = read_answer(text)
    assert isinstance(answer, str)
    assert answer.startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"error": {"message": "no such\\n model", "code": 404}}', "no such model"),
        ('{"error": "plain"}', "plain"),
        ('{"detail": "Not Found"}', "Not Found"),
        ('{"detail": [{"loc": ["body"]}]}', '{"detail": [{"loc": ["body"]}]}'),
        ("<html>\n Bad  Gateway</html>", "<html> Bad Gateway</html>"),
        ("", ""),
        ("x" * 500, "x" * 300 + "…"),
        ("a\x00b\x1b[31mc\u200bd", "a b [31mc d"),
        ('{"error": {"code": 1}}', '{"error": {"code": 1}}'),
    ],
)
def test_what_a_server_says_is_wrong(text: str, said: str) -> None:
    assert error_message_of(text) == said


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "logprobs", "token", "logprob", "error"]), inner
        )
    ),
    max_leaves=12,
)


@given(json_values | st.builds(lambda c, u: {"choices": [c], "usage": u}, json_values, json_values))
def test_no_json_makes_it_raise(body: Any) -> None:
    text = json.dumps(body)
    assert isinstance(read_answer(text), Answer | str)
    assert "\n" not in error_message_of(text)
