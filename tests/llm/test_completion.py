from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.llm.completion import Answer, AnswerFault, fault_of_ending, read_answer
from core.llm.messages import TokenLogprob, Usage
from core.llm.streaming import join_stream
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


def test_the_spelling_that_says_something_wins() -> None:
    assert (
        read(completion(message={"reasoning": "", "reasoning_content": "because"})).reasoning
        == "because"
    )


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
    body["usage"] = {
        "prompt_tokens": odd,
        "completion_tokens": 2,
        "completion_tokens_details": {"reasoning_tokens": odd},
    }
    assert read(body).usage == Usage(completion_tokens=2, uncounted=1)


@pytest.mark.parametrize(
    ("given", "name"),
    [("m-2026\n-11", "m-2026 -11"), ("m" * 500, "m" * 200), (7, ""), (None, ""), ([], "")],
)
def test_the_names_that_a_server_gives(given: Any, name: str) -> None:
    answer = read(completion("A", given) | {"model": given})
    assert (answer.model, answer.finish_reason) == (name, name)


def test_logprobs_are_plain_tuples_and_null_is_nan() -> None:
    tokens = [
        {
            "token": "A",
            "logprob": -0.5,
            "bytes": [65],
            "top_logprobs": [{"token": "B", "logprob": -1}],
        },
        {"token": "!", "logprob": -9999.0},
    ]
    assert read(completion(logprobs={"content": tokens})).logprobs == (
        TokenLogprob("A", -0.5, (("B", -1.0),)),
        TokenLogprob("!", -9999.0),
    )
    raw = json.dumps(
        completion(logprobs={"content": [{"token": "A", "logprob": None, "top_logprobs": None}]})
    )
    for spelled, holds in (("null", math.isnan), ("NaN", math.isnan), ("-Infinity", math.isinf)):
        answer = read_answer(raw.replace('"logprob": null', f'"logprob": {spelled}'))
        assert isinstance(answer, Answer)
        assert holds(answer.logprobs[0].logprob)


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        {"content": None},
        {"content": [{}]},
        {"content": ["A"]},
        {"content": [{"token": "A", "logprob": "?"}]},
        "x",
    ]
    + [{"content": [{"token": token, "logprob": -1}]} for token in (None, 1, ["A"])],
)
def test_logprobs_in_another_form_are_absent(given: Any) -> None:
    assert read(completion(logprobs=given)).logprobs is None


def test_a_number_too_large_for_a_float_is_no_logprob() -> None:
    assert (
        read(completion(logprobs={"content": [{"token": "A", "logprob": -(10**400)}]})).logprobs
        is None
    )


@pytest.mark.parametrize(
    ("content", "finish_reason", "whole"),
    [
        ("A", "stop", True),
        ("A", "length", False),
        (None, "stop", False),
        ("", "stop", False),
        (" \n", "stop", False),
        ("A", None, True),  # SGLang and KoboldCpp say nothing about an end
        ("A", "paused", False),
        ("<think>A", "stop", False),
        ("<think>A</think>B", "eos", True),
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
        ('{"choices": [{"text": "A"}]}', "no choices with a message, but a text completion"),
        ('{"error": {"message": "over\\nloaded"}}', "no choices but an error: over loaded"),
        (
            '{"object": "list", "data": []}',
            'no choices with a message: {"object": "list", "data": []}',
        ),
        (
            '{"detail": [{"loc": ["body", "n"], "msg": "too large"}]}',
            "no choices but an error: n: too large",
        ),
        (
            '{"errors": [{"message": "no such account"}]}',
            "no choices but an error: no such account",
        ),
        (
            '[{"error": {"message": "not here", "status": "X"}}]',
            "no choices but an error: not here",
        ),
        (
            '{"error": {"message": "Provider returned error", "metadata": {"raw": "it fell over", "provider_name": "P"}}}',
            "no choices but an error: P: it fell over",
        ),
        ('{"choices": [{"message": {"content": ["A"]}}]}', 'content ["A"]'),
        ('{"choices": [{"message": {"content": {"text": "A"}}}]}', 'content {"text": "A"}'),
        (
            '{"choices": [{"message": {"content": [{"type": "image_url"}]}}]}',
            'content [{"type": "image_url"}]',
        ),
    ],
)
def test_what_is_no_answer(text: str, said: str) -> None:
    answer = read_answer(text)
    assert isinstance(answer, AnswerFault)
    assert answer.message.startswith(said)
    # What is no JSON may have been cut; an answer of another shape will have it again.
    assert answer.retryable is (said.startswith("no ") and "text" not in said)


def test_what_cannot_be_used_is_paid_for() -> None:
    for body in (completion([{"type": "image_url"}]), {**completion(), "choices": []}):
        answer = read_answer(json.dumps(body))
        assert isinstance(answer, AnswerFault)
        assert answer.usage == Usage(prompt_tokens=3, completion_tokens=2)


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"message": "limited upstream", "code": 429}, "unanswered", True),
        ({"message": "no such model", "code": "404"}, "refused", False),
        ({"message": "x", "code": 502}, "malformed", True),
        ({"message": "x", "code": "insufficient_quota", "status": 429}, "refused", False),
        ("upstream died", "malformed", True),
    ],
)
def test_an_error_in_an_answer_of_success_counts_as_its_own_status(
    error: Any, kind: str, retryable: bool
) -> None:
    for body in (
        {"error": error},
        {"errors": [error]},
        [{"error": error}],
        {"error": error, "choices": []},
    ):
        answer = read_answer(json.dumps(body))
        assert isinstance(answer, AnswerFault)
        assert (answer.kind, answer.retryable) == (kind, retryable)


def test_a_byte_order_mark_padding_and_no_error_are_skipped() -> None:
    body = json.dumps({**completion("A"), "error": None})
    answer = read_answer("\ufeff" + "\n   \n" * 100 + body)
    assert isinstance(answer, Answer)
    assert answer.content == "A"


def test_the_parts_of_a_message() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "maybe A"}]}
    answer = read(
        completion(
            [thinking, {"type": "text", "text": "<answer>"}, {"type": "text", "text": "B</answer>"}]
        )
    )
    assert (answer.content, answer.reasoning, answer.is_complete) == (
        "<answer>B</answer>",
        "maybe A",
        True,
    )
    answer = read(completion([{"type": "reasoning", "reasoning": "maybe A"}]))
    assert (answer.content, answer.reasoning, answer.is_all_thinking) == (None, "maybe A", True)
    assert read(completion([{"type": "refusal", "refusal": "I won't."}])).refusal == "I won't."
    assert read(completion([])).content is None


@pytest.mark.parametrize(
    ("content", "final", "thinking"),
    [
        ("<think>A?</think>\n\nB", "B", "A?"),
        ("A?\n</think>\nB", "B", "A?"),
        ("<think>A?", None, "A?"),
        (
            "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B",
            "B",
            None,
        ),
    ],
)
def test_thinking_in_the_content_is_no_content(
    content: str, final: str | None, thinking: str | None
) -> None:
    answer = read(completion(content, message={"reasoning": "first"}))
    assert answer.content == final
    assert answer.reasoning.startswith("first\n\n")
    assert thinking is None or answer.reasoning == f"first\n\n{thinking}"


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (
            completion("A", "content_filter"),
            "declined",
            "a refusal (finish_reason 'content_filter'): A",
        ),
        (
            completion(None, message={"refusal": "I can't."}),
            "declined",
            "the model refused: I can't.",
        ),
        (
            completion("A", "error"),
            "unanswered",
            "the server failed while it wrote (finish_reason 'error')",
        ),
        (
            completion("A", "abort"),
            "unanswered",
            "the server failed while it wrote (finish_reason 'abort')",
        ),
        (completion(None, "tool_calls"), "malformed", "the server took the answer for a tool call"),
        (
            completion("A", "paused"),
            "malformed",
            "an answer finish_reason 'paused', which is not known to be whole",
        ),
    ],
)
def test_an_end_that_is_none(body: Any, kind: str, said: str) -> None:
    fault = fault_of_ending(read(body))
    assert (fault.kind, fault.retryable) == (kind, kind == "unanswered")
    assert fault.message.startswith(said)
    assert fault.usage == Usage(prompt_tokens=3, completion_tokens=2)


@pytest.mark.parametrize("reason", ["stop", "length", "max_tokens"])
def test_a_whole_answer_and_a_cut_one_are_no_fault(reason: str) -> None:
    assert fault_of_ending(read(completion("A", reason))) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "usage", "logprobs", "token", "logprob", "error"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@pytest.mark.soak
@given(json_values | st.builds(lambda c, u: {"choices": [c], "usage": u}, json_values, json_values))
def test_no_json_makes_it_raise(body: Any) -> None:
    text = json.dumps(body)
    assert isinstance(read_answer(text), Answer | AnswerFault)


THOUGHTS = [
    {"reasoning": "It falls."},
    {"reasoning_content": "It falls."},
    {"reasoning_text": "It falls."},
    {"thinking": "It falls."},
    {"reasoning": {"text": "It falls."}},
    {
        "reasoning_details": [
            {"type": "reasoning.text", "text": "It "},
            {"type": "reasoning.text", "text": "falls."},
        ]
    },
    {"thinking_blocks": [{"type": "thinking", "thinking": "It falls.", "signature": "x"}]},
]


@pytest.mark.parametrize("thought", THOUGHTS, ids=lambda thought: next(iter(thought)))
def test_thinking_in_any_field_is_kept_whole_or_in_a_stream(thought: dict[str, Any]) -> None:
    whole = completion("<answer>B</answer>", "stop")
    whole["choices"][0]["message"] |= thought
    assert read(whole).reasoning == "It falls."
    chunks = (
        {"choices": [{"index": 0, "delta": delta}]}
        for delta in (thought, {"content": "<answer>B</answer>"})
    )
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    assert read_answer(join_stream(stream)) == replace(
        read(whole), finish_reason="", usage=Usage(uncounted=1)
    )


@pytest.mark.parametrize("streams", [False, True])
def test_a_choice_that_carries_an_error_is_one(streams: bool) -> None:
    body = completion("<answer>B</answer>", "stop")
    body["choices"][0]["error"] = {"code": 502, "message": "upstream died"}
    text = json.dumps(body)
    if streams:
        [choice] = body["choices"]
        chunk = {"choices": [{"index": 0, "delta": {"content": "B"}, "error": choice["error"]}]}
        text = join_stream(f"data: {json.dumps(chunk)}\n\n")
    fault = read_answer(text)
    assert isinstance(fault, AnswerFault)
    assert fault.retryable
    assert "upstream died" in fault.message


@pytest.mark.parametrize(
    ("usage", "completion_tokens", "reasoning_tokens"),
    [
        (
            {"total_tokens": 1110, "completion_tokens_details": {"reasoning_tokens": 1000}},
            1010,
            1000,
        ),
        ({"total_tokens": 110}, 10, 0),
        ({"total_tokens": 1}, 10, 0),
        ({"reasoning_tokens": 7}, 10, 7),  # SGLang's
    ],
)
def test_tokens_that_a_server_counts_beside_the_completion_count(
    usage: dict[str, Any], completion_tokens: int, reasoning_tokens: int
) -> None:
    body = completion("B", "stop") | {
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, **usage}
    }
    found = read(body).usage
    assert (found.prompt_tokens, found.completion_tokens, found.reasoning_tokens) == (
        100,
        completion_tokens,
        reasoning_tokens,
    )
