from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.net.retry import Fault
from core.llm.errors import error_message_of, judge_fault, meaning_of


@pytest.mark.few(18)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"error": {"message": "no such\\n model", "code": 404}}', "no such model"),
        ('{"error": "plain"}', "plain"),
        ('{"detail": "Not Found"}', "Not Found"),
        (
            '{"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}',
            "seed: Extra inputs are not permitted",
        ),
        ('{"errors": [{"code": 7003, "message": "No route"}], "success": false}', "No route"),
        (
            '[{"error": {"code": 400, "message": "max_tokens too large", "status": "INVALID_ARGUMENT"}}]',
            "max_tokens too large",
        ),
        ('"quota used up"', '"quota used up"'),
        (
            '{"error": {"message": "Provider returned error", "metadata": {"raw": "too long", "provider_name": "X"}}}',
            "X: too long",
        ),
        (
            '{"error": {"message": "Bad request", "metadata": {"raw": "{\\"error\\": {\\"message\\": \\"inner\\"}}"}}}',
            "inner",
        ),
        (
            '{"message": {"detail": [{"loc": ["body", "x"], "msg": "forbidden"}]}, "type": "invalid"}',
            "x: forbidden",
        ),
        ('{"detail": "Invalid top_logprobs"}', "Invalid top_logprobs"),
        (
            '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
            "Overloaded",
        ),
        ('{"error": {"message": "Bad request"}}', "Bad request"),
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


CONTEXT = [
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
    "request (9123 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "Context size has been exceeded.",
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens",
    "prompt is too long: 209000 tokens > 200000 maximum",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Input is too long for requested model.",
    "Please reduce the length of the messages or completion.",
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "Invalid request: Your request exceeded model token limit: 131072",
    "Prompt 超长",
    "input is too long for this model",
    "Requested tokens (9000) exceed context window of 8192",
    "The prompt is too large for the context of this model",
    "输入超出模型的最大上下文长度",
    "Input length 9000 exceeds maximum allowed token length 8192",
    "Range of input length should be [1, 30720]",
    "Die Eingabe überschreitet die maximale Kontextlänge",
    "La requête dépasse la longueur maximale du contexte",
]
QUOTA = [
    "You exceeded your current quota, please check your plan and billing details.", "Insufficient Balance",
    "Insufficient credits.", "You are out of credits", "Billing hard limit has been reached", "账户余额不足",
    "Your credit balance is too low to access the API.", "This request requires more credits, or fewer max_tokens.",
]  # fmt: skip
OTHERS = [
    "no such model", "Rate limit reached. Please try again in 1.2s.", "Invalid API key", "Unsupported parameter: 'top_p'", "",
    "You exceeded your current quota. Please retry in 32s.", "max_tokens must be at least 1",
]  # fmt: skip


@pytest.mark.parametrize(
    ("messages", "meaning"),
    [
        (CONTEXT, "context"),
        (QUOTA, "quota"),
        (OTHERS, ""),
        (["Overloaded", "Loading model"], "overload"),
    ],
)
def test_what_a_message_means(messages: list[str], meaning: str) -> None:
    for message in messages:
        for body in (
            {"error": {"message": message, "code": 400}},
            {"object": "error", "message": message},
            {"detail": message},
        ):
            assert meaning_of(json.dumps(body)) == meaning, message


@pytest.mark.parametrize(
    ("body", "meaning"),
    [
        ({"error": {"message": "no", "type": "exceed_context_size_error"}}, "context"),
        ({"error": {"message": "no", "code": "context_length_exceeded"}}, "context"),
        ({"error": {"message": "no", "code": "insufficient_quota"}}, "quota"),
        (
            {"error": {"message": "the context length is fine", "type": "overloaded_error"}},
            "overload",
        ),  # a type before words
    ],
)
def test_codes_and_types_come_before_words(body: Any, meaning: str) -> None:
    assert meaning_of(json.dumps(body)) == meaning


def fault_of(status: int, message: str, wait_s: float | None = None) -> Fault:
    raw = json.dumps({"error": {"message": message}})
    retryable = status == 429 or status >= 500
    return judge_fault(
        Fault(
            "unanswered" if retryable else "refused",
            f"HTTP {status}",
            retryable,
            status,
            wait_s,
            raw,
        )
    )


def test_what_will_be_the_same_again_is_not_retried() -> None:
    assert not fault_of(500, "Context size has been exceeded.").retryable
    assert fault_of(500, "Context size has been exceeded.").kind == "refused"
    spent = fault_of(429, "You exceeded your current quota")
    assert (spent.kind, spent.retryable, spent.message) == (
        "refused",
        False,
        "HTTP 429, the account has no quota",
    )
    assert fault_of(
        429, "You exceeded your current quota", wait_s=3.0
    ).retryable  # a rate limit: it says when to come back
    assert fault_of(429, "Request too large: reduce the length of the prompt").retryable
    assert fault_of(529, "Overloaded").retryable
    assert fault_of(503, "busy").meaning == ""


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just('{"error": "x"}'),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "message", "detail", "errors", "metadata", "raw", "loc", "msg", "code"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(values)
def test_no_body_makes_it_raise(body: Any) -> None:
    assert "\n" not in error_message_of(json.dumps(body))
    assert isinstance(meaning_of(json.dumps(body)), str)
