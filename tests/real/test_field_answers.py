"""What models and servers said in the field is read as its README says is right, or asked again."""

from __future__ import annotations

import json

import pytest

from core.llm.answers import Unread, read_label, read_probability
from core.llm.completion import Answer, AnswerFault, fault_of_ending, read_answer
from tests.real.conftest import FIELD, needs_field

pytestmark = needs_field
UNREAD = "unread"
# Folder of field/llm → what is right: what may be read, or the kind of the fault.
BODIES = {
    "answer_is_then_reason": ("up", UNREAD),
    "answer_lower": ("down",),
    "answer_word": ("down",),
    "content_list": ("down",),
    "error_in_a_choice": ("malformed", "unanswered"),
    "finish_content_filter": ("declined",),
    "finish_error": ("unanswered",),
    "finish_max_tokens": ("cut",),
    "finish_word_of_a_template": ("down",),
    "gemma4_channel": ("down",),
    "harmony_leak": ("down",),
    "letter_a_read_as_article": ("up", UNREAD),
    "letter_then_reason": ("up", UNREAD),
    "prob_0_to_1": (UNREAD,),
    "prob_from_prose": (UNREAD,),
    "probability_of_the_opposite": (UNREAD, 0.2),
    "reasoning_in_another_field": ("down",),
    "reasoning_only_stop": ("all thinking",),
    "refusal_field": ("declined",),
    "refusal_with_letter": (UNREAD,),
    "tag_then_correction": (UNREAD, "down"),
    "think_draft_answer": ("down",),
    "think_draft_probability": (0.8,),
    "think_only_close": ("down",),
    "tokens_beside_completion": ("down",),
    "tool_calls_only": ("malformed",),
}
PROBABILITIES = {name for name in BODIES if name.startswith("prob") or name.endswith("probability")}
THOUGHTS = {
    "content_list": "maybe A",
    "gemma4_channel": "At first sight my answer is A.",
    "reasoning_in_another_field": "The activator is lost, so it falls.",
}


def outcome_of(name: str, answer: Answer | AnswerFault) -> object:
    """What becomes of a body: what is read, UNREAD, or the kind of its fault."""
    fault = answer if isinstance(answer, AnswerFault) else fault_of_ending(answer)
    if fault is not None:
        return fault.kind
    assert isinstance(answer, Answer)
    if answer.content is None:
        return "all thinking" if answer.is_all_thinking else "nothing"
    if not answer.is_complete:
        return "cut"
    found = (read_probability if name in PROBABILITIES else read_label)(answer.content)
    return UNREAD if isinstance(found, Unread) else found


@pytest.mark.parametrize("name", BODIES)
def test_bodies_of_servers(name: str) -> None:
    answer = read_answer((FIELD / "llm" / name / "BODY.json").read_text())
    assert outcome_of(name, answer) in BODIES[name]
    if isinstance(answer, Answer):
        assert answer.reasoning.startswith(THOUGHTS.get(name, ""))


def test_every_body_of_the_field_is_tried() -> None:
    assert {path.parent.name for path in FIELD.glob("llm/*/BODY.json")} == BODIES.keys()


def test_texts_of_models() -> None:
    files = [FIELD / "answers.jsonl", *sorted(FIELD.glob("llm/*/ANSWERS.jsonl"))]
    cases = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    wrong = []
    for case in cases:
        found = (read_label if case["kind"] == "letter" else read_probability)(case["text"])
        value = None if isinstance(found, Unread) else found
        right = (
            case["want"] if isinstance(case["want"], str | None) else pytest.approx(case["want"])
        )
        if value != right and not (value is None and case.get("or_unread")):
            wrong.append((case["text"], case["want"], found))
    assert not wrong
    assert len(cases) > 100
