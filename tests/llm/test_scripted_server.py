"""The simulated model, asked by openai's own client and by ours."""

from __future__ import annotations

import re
from typing import Any

import pytest
from openai import OpenAI

from core.llm.logprobs import LetterProbabilities, letter_probabilities
from core.llm.messages import Message, Reply, Request
from core.llm.scripted_server import (
    Script,
    find_genes,
    read_prompt,
    scripted_probabilities,
    serving,
    write_reply,
)
from core.llm.streaming import Words
from tests.llm.canned import outcomes

LETTER = "A) up\nB) down\nC) none\nWhat does knockdown of {} do to Mmp14? Reply with <answer>letter</answer>."


def asked(text: str, seed: int = 0) -> str:
    """What the model writes to a prompt."""
    return write_reply(
        read_prompt({"messages": [{"role": "user", "content": text}], "seed": seed}, 0)
    )


def replies(url: str, heard: list[Words] | None, **more: Any) -> list[Reply]:
    requests = [
        Request("scripted", (Message("user", LETTER.format(f"Gene{i}")),), seed=42, **more)
        for i in range(12)
    ]
    return [reply for reply in outcomes(url, requests, heard) if isinstance(reply, Reply)]


def test_the_openai_package_is_served() -> None:
    with serving() as url, OpenAI(base_url=url, api_key="x", max_retries=0) as client:
        assert [model.id for model in client.models.list().data] == ["scripted"]
        found = client.chat.completions.create(
            model="scripted",
            messages=[{"role": "user", "content": LETTER}],
            seed=1,
            logprobs=True,
            top_logprobs=3,
        )
    choice = found.choices[0]
    assert choice.finish_reason == "stop"
    assert "".join(token.token for token in choice.logprobs.content) == choice.message.content
    assert all(len(token.top_logprobs) == 3 for token in choice.logprobs.content)
    assert found.usage is not None


def test_equal_requests_get_equal_answers_with_and_without_a_stream_and_other_seeds_others() -> (
    None
):
    heard = []
    with serving() as url:
        whole, streamed = replies(url, None, top_logprobs=20), replies(url, heard, top_logprobs=20)
    with serving(Script(seed=1)) as url:
        other = replies(url, None)
    assert [(a.content, a.reasoning, a.usage.completion_tokens, a.logprobs) for a in whole] == [
        (b.content, b.reasoning, b.usage.completion_tokens, b.logprobs) for b in streamed
    ]
    assert len(heard) > 12 * 5  # they came in pieces
    assert [reply.content for reply in other] != [reply.content for reply in whole]
    for i, reply in enumerate(whole):
        letters = letter_probabilities(reply.logprobs or (), content=reply.content)
        assert isinstance(letters, LetterProbabilities)
        prompt = read_prompt(
            {"messages": [{"role": "user", "content": LETTER.format(f"Gene{i}")}], "seed": 42}, 0
        )
        assert letters.probabilities == pytest.approx(scripted_probabilities(prompt))


@pytest.mark.parametrize(
    ("prompt", "form"),
    [
        (LETTER, "<answer>[ABC]</answer>"),
        ("How likely? Reply with <prob>NN</prob>.", r"<prob>\d+</prob>"),
        ("A) change\nB) none\nEnd with a line such as Answer: A", "Answer: [AB]"),
        (
            "<answer>yes</answer> or <answer>not at all</answer>?",
            "<answer>(yes|not at all)</answer>",
        ),
        (
            "<text-0123abcd>\n<prob>1</prob> It is so.\n</text-0123abcd>\nA) y\nB) n\n<answer>X</answer>",
            "<answer>[AB]</answer>",
        ),
        ("Gene: Cbfb\n\nSummarise Cbfb.", "This is a scripted summary of Cbfb; no model wrote it."),
        (
            "Argue that knockdown of Cbfb changes the expression of Mmp14.",
            "(?s).*Cbfb and Mmp14; no model wrote it.*",
        ),
    ],
)
def test_the_format_is_the_prompt_s(prompt: str, form: str) -> None:
    assert all(re.fullmatch(form, asked(prompt, seed)) for seed in range(20))


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Perturbation: Cbfb\nTarget gene: Mmp14", ("Cbfb", "Mmp14")),
        (
            "You argue that knockdown of `Rprd2` has an effect on `9930111J21Rik2`.",
            ("Rprd2", "9930111J21Rik2"),
        ),
        ("Tell me a story.", ("the perturbed gene", "the measured gene")),
    ],
)
def test_genes_in_a_prompt(prompt: str, expected: tuple[str, str]) -> None:
    assert find_genes(prompt) == expected
