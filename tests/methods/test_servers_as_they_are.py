"""Every method that asks a model, against the ways in which servers answer: the same answer is read alike however it is wrapped,
and what is no answer is an error by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.llm.errors import Declined, Malformed, ModelError, Refused, Truncated
from core.methods.base import RowFailed, method_named
from core.types import Flag, RowResult
from tests.llm.canned import Asked, Canned, completion, serving
from tests.methods.world import predict

METHODS: dict[str, dict[str, Any]] = {
    "prompt_only": {"seeds": "42"},
    "local_model": {"answers": "letters"},
    "debate": {"rounds": 0},
    "summer": {"seeds": "1"},
    "react": {},
    "coordinator": {},
}
Wrap = Callable[[str], Any]  # content → the body of a response


def good(asked: Asked) -> str:
    """What a model answers that does as it is told."""
    text = json.dumps(asked.body["messages"])
    if "next_tool_name" in text:
        return "[[ ## next_thought ## ]]\nEnough.\n\n[[ ## next_tool_name ## ]]\nfinish\n\n[[ ## next_tool_args ## ]]\n{}"
    if "p_up_given_de" in text:
        return "[[ ## reasoning ## ]]\nA link.\n\n[[ ## p_de ## ]]\n85\n\n[[ ## p_up_given_de ## ]]\n20"
    if "<prob>" in text:
        return "A link.\n<prob>62</prob>"
    known = next((each for each in ("yes", "increase") if f"<answer>{each}</answer>" in text), "B")
    return f"A link.\n<answer>{known}</answer>"


def streamed(content: str) -> str:
    chunks: list[dict[str, Any]] = [
        {"choices": [{"delta": {"role": "assistant", "content": content[:3]}}]},
        {"choices": [{"delta": {"content": content[3:]}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    ]
    return "".join([": WAIT\n\n", *(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"])


DRAFT = "A draft: <answer>A</answer> <prob>5</prob> [[ ## p_de ## ]]\n1\n\n"
WRAPPED: dict[str, Wrap] = {
    "thinks inline": lambda text: completion(f"<think>{DRAFT}</think>\n\n{text}"),
    "thinks without an opening tag": lambda text: completion(f"{DRAFT}</think>\n{text}"),
    "harmony": lambda text: completion(
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{text}<|return|>"
    ),
    "reasoning": lambda text: completion(text, message={"reasoning": DRAFT}),
    "reasoning_content": lambda text: completion(text, message={"reasoning_content": DRAFT}),
    "parts": lambda text: completion([{"type": "thinking", "thinking": DRAFT}, {"type": "text", "text": text}]),  # type: ignore[arg-type]
    "a byte order mark": lambda text: "\ufeff" + json.dumps(completion(text)),
    "padding": lambda text: "\n   \n" * 100 + json.dumps(completion(text)),
    "a stream": streamed,
    "another end": lambda text: completion(text, "eos"),
}
NO_ANSWER: dict[str, tuple[Wrap, type[ModelError]]] = {
    "content_filter": (lambda text: completion(text, "content_filter"), Declined),
    "refusal": (lambda _: completion(None, message={"refusal": "I can't."}), Declined),
    "max_tokens": (lambda text: completion(text, "max_tokens"), Truncated),
    "the context ran out": (lambda text: completion(text, "model_context_window_exceeded"), Truncated),
    "an unclosed thought": (lambda text: completion(f"<think>{text}"), Truncated),
    "all in its thinking": (lambda text: completion(None, message={"reasoning": text}), Truncated),
    "no finish_reason": (lambda text: completion(text, None), Malformed),  # type: ignore[arg-type]
    "an unknown end": (lambda text: completion(text, "paused"), Malformed),
    "a tool call": (lambda _: completion(None, "tool_calls"), Malformed),
    "no choices": (lambda _: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}, Malformed),
    "a text completion": (lambda text: {"choices": [{"text": text, "finish_reason": "stop"}]}, Malformed),
}


def predict_with(method: str, wrap: Wrap) -> tuple[RowResult, int]:
    """The row as a method predicts it, and how many answers the server gave."""
    found: Any = method_named(method)
    with serving(lambda asked: Canned(wrap(good(asked)))) as (url, asked):
        return predict(found, url, **METHODS[method]), sum(each.path.endswith("completions") for each in asked)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_answer_is_read_alike_however_it_is_wrapped(method: str) -> None:
    plain, n_plain = predict_with(method, lambda text: completion(text))
    assert not set(plain.prediction.flags) & {Flag.DE_FALLBACK, Flag.DIR_FALLBACK}
    for name, wrap in WRAPPED.items():
        found, n_answers = predict_with(method, wrap)
        assert (found.prediction.prediction_up, found.prediction.prediction_down, found.prediction.flags, n_answers) == (
            *(plain.prediction.prediction_up, plain.prediction.prediction_down, plain.prediction.flags),
            n_plain,
        ), name
        assert found.prediction.tokens == 5 * n_answers, name  # 3 of the prompt and 2 of each answer, as the server counts


@pytest.mark.parametrize("method", METHODS)
def test_what_is_no_answer_is_an_error_by_name(method: str) -> None:
    for name, (wrap, kind) in NO_ANSWER.items():
        with pytest.raises(RowFailed) as failed:
            predict_with(method, wrap)
        assert type(failed.value.cause) is kind, name
        assert sum(call.prompt_tokens for call in failed.value.calls) > 0 or name == "a text completion", name


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, 422, Refused),
        ({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}, 429, Refused),
        ({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}, 400, Refused),
    ],
)
def test_a_refusal_that_will_be_the_same_again_is_asked_for_once(body: Any, status: int, kind: type[ModelError]) -> None:
    found: Any = method_named("prompt_only")
    with serving(lambda _: Canned(body, status)) as (url, asked), pytest.raises(RowFailed) as failed:
        predict(found, url, **METHODS["prompt_only"])
    assert (type(failed.value.cause), len(asked)) == (kind, 1)


def test_tokens_that_the_server_does_not_count_are_unknown() -> None:
    found, _ = predict_with("prompt_only", lambda text: {**completion(text), "usage": None})
    assert found.prediction.tokens is None


def test_a_fraction_is_asked_for_again_with_the_scale() -> None:
    def answer(asked: Asked) -> Canned:
        if not asked.path.endswith("completions"):
            return Canned({}, 404)
        again = "may be a fraction or per cent" in json.dumps(asked.body["messages"])
        return Canned(completion("<prob>62</prob>" if again else "<prob>0.62</prob>"))

    found: Any = method_named("debate")
    with serving(answer) as (url, asked):
        row = predict(found, url, **METHODS["debate"])
    assert (row.prediction.p_de, row.prediction.p_up_given_de) == (0.62, 0.62)
    assert sum(each.path.endswith("completions") for each in asked) == 4
    assert [event.kind for event in row.events] == ["rejected", "verdict"] * 2
