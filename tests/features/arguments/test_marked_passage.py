"""The passage that a model copies: taken out of its reply with its tokens, and kept as it stands in the text."""

from __future__ import annotations

import pytest

from core.features.arguments.schema import find_passage, take_passage
from core.llm.messages import Reply, TokenLogprob, Usage

SPOKEN = "**Jak1** drives\nGm12345 through “Stat1”. Answer: C. It does."


def reply(content: str, parts: tuple[str, ...] = ()) -> Reply:
    tokens = tuple(TokenLogprob(part, -0.1, ((part, -0.1),)) for part in parts) or None
    return Reply(content, "", "stop", Usage(), tokens, "", "")


@pytest.mark.parametrize(
    ("copied", "kept"),
    [
        ("drives Gm12345 through", "drives\nGm12345 through"),  # white space is the text's
        ("through “Stat1”.", "through “Stat1”."),
        ("Answer: C.", "Answer: C."),
        ("drives Gm1234", ""),  # ends inside of a word
        ("Jak1 drives Gm12345", ""),  # it lacks the asterisks, so it is another text
        ("drives gm12345", ""),
        ("It", ""),
        ("", ""),
        ("Jak1 is known to drive Gm12345.", ""),
    ],
)
def test_a_passage_is_kept_where_it_stands_in_the_text_word_for_word(
    copied: str, kept: str
) -> None:
    assert find_passage(SPOKEN, copied) == kept


@pytest.mark.parametrize(
    ("content", "left", "passage"),
    [
        ("<answer>A</answer>\n<passage>Answer: C.</passage>", "<answer>A</answer>", "Answer: C."),
        ("<answer>A</answer> <Passage>\n“It does.”\n</PASSAGE>", "<answer>A</answer>", "It does."),
        ("<answer>A</answer><passage>cut off in the", "<answer>A</answer>", "cut off in the"),
        ("<passage>It does.</passage>\n<answer>A</answer>", "<answer>A</answer>", "It does."),
        ("<answer>A</answer><passage></passage>", "<answer>A</answer>", ""),
        ("<answer>A</answer>", "<answer>A</answer>", ""),
    ],
)
def test_a_passage_is_taken_out_of_the_reply(content: str, left: str, passage: str) -> None:
    taken, found = take_passage(reply(content))
    assert (taken.content, found) == (left, passage)


def test_tokens_of_the_passage_go_with_it_and_thinking_stays() -> None:
    parts = (
        "hm</think>",
        "<answer>",
        "B",
        "</answer>\n<pass",
        "age><answer>",
        "A",
        "</answer></passage>",
    )
    content = "".join(parts).removeprefix("hm</think>")
    taken, _ = take_passage(reply(content, parts))
    assert [token.token for token in taken.logprobs or ()] == [
        "hm</think>",
        "<answer>",
        "B",
        "</answer>\n<pass",
    ]
