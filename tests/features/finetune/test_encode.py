"""Prompts and answers as tokens, with a tokenizer of one token per character."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from core.base.errors import InputError
from core.features.finetune.train import IGNORED, encode, end_of_thinking
from tests.features.finetune.cases import EXAMPLE


class Characters:
    """As much of a tokenizer as is used; thinking: its template opens a thought."""

    chat_template: str | None = "a template"
    eos_token = "$"

    def __init__(self, thinking: bool = False) -> None:
        self.end = "<think>\n" if thinking else ""

    def apply_chat_template(self, messages: Sequence[dict[str, str]], **how: bool) -> str:
        assert how == {"add_generation_prompt": True, "tokenize": False}
        [message] = messages
        return f"[{message['role']}] {message['content']} [assistant]{self.end}"

    def __call__(self, text: str, **how: bool) -> dict[str, Any]:
        assert how == {"add_special_tokens": False}
        return {"input_ids": [ord(character) for character in text]}


def text_of(tokens: Sequence[int]) -> str:
    return "".join(map(chr, tokens))


@pytest.mark.parametrize("thinking", [False, True])
def test_only_the_answer_counts_and_it_begins_where_the_server_lets_the_model_begin(
    thinking: bool,
) -> None:
    [found] = encode([EXAMPLE], Characters(thinking), 200)
    asked = [
        token
        for token, label in zip(found["input_ids"], found["labels"], strict=True)
        if label == IGNORED
    ]
    answered = [label for label in found["labels"] if label != IGNORED]
    prompt = f"[user] {EXAMPLE['prompt']} [assistant]" + ("<think>\n" if thinking else "")
    assert text_of(asked) == prompt
    assert text_of(answered) == ("\n</think>\n\n" if thinking else "") + "<answer>A</answer>$"
    assert text_of(found["input_ids"]) == text_of(asked) + text_of(answered)


def test_a_thought_is_closed_only_where_one_is_open() -> None:
    assert end_of_thinking("… <think>\n") == "\n</think>\n\n"
    assert end_of_thinking("… <think>\n\n</think>\n\n") == ""


def test_an_answer_is_never_cut_off() -> None:
    long = EXAMPLE | {"id": "Pb_Gb", "prompt": "x" * 300}
    with pytest.raises(
        InputError, match=r"1 of 2 rows have more than 200 tokens, Pb_Gb 3\d\d; raise length"
    ):
        encode([EXAMPLE, long], Characters(), 200)


def test_a_model_that_does_not_chat_is_refused() -> None:
    plain = Characters()
    plain.chat_template = None
    with pytest.raises(InputError, match="no chat template"):
        encode([EXAMPLE], plain, 200)
