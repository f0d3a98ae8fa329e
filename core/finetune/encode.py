"""Prompts and answers as tokens, as the server of the model will see them: only those of the answer count in the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import InputError

IGNORED = -100  # the label of tokens that do not count


def encode(examples: Sequence[Mapping[str, Any]], tokenizer: Any, longest: int) -> list[dict[str, list[int]]]:
    """Returns input_ids and labels of each example.

    A prompt goes through the tokenizer's chat template and is tokenised by itself, as a server does. Raises InputError for a
    tokenizer without a template, and for an example longer than `longest` tokens: its answer would be cut off.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise InputError("base: its tokenizer has no chat template, expected a model that chats")
    encoded = [_encode_one(example, tokenizer) for example in examples]
    long = [(len(each["input_ids"]), example["id"]) for each, example in zip(encoded, examples, strict=True)]
    too_long = [(n, name) for n, name in long if n > longest]
    if too_long:
        n, name = max(too_long)
        raise InputError(f"{len(too_long):,} of {len(long):,} rows have more than {longest:,} tokens, {name} {n:,}; raise length")
    return encoded


def _encode_one(example: Mapping[str, Any], tokenizer: Any) -> dict[str, list[int]]:
    messages = [{"role": "user", "content": example["prompt"]}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    start = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    answer = f"{end_of_thinking(prompt)}{example['answer']}{tokenizer.eos_token}"
    end = tokenizer(answer, add_special_tokens=False)["input_ids"]
    return {"input_ids": [*start, *end], "labels": [IGNORED] * len(start) + [*end]}


def end_of_thinking(prompt: str) -> str:
    """Returns what closes the thoughts that a template opened at the end of a prompt; "" if it opened none."""
    return "\n</think>\n\n" if prompt.rstrip().endswith("<think>") else ""
