"""What is said while an answer comes is, at its end, what the whole text holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.llm.completion import part_thinking
from core.llm.streaming import LiveText, Words
from tests.llm.canned import cut
from tests.llm.test_thinking import HARMONY, PIECES, WITH_ANSWER, WITHOUT_ANSWER

TEXTS = st.text() | st.lists(
    st.sampled_from([*PIECES, "<|start|>assistant", "<", "A? ", "think>", "&gt;", "[/THINK]"]),
    max_size=20,
).map("".join)


def hear(pieces: list[tuple[str, str]]) -> list[Words]:
    live = LiveText()
    return [words for piece in pieces for words in live.add(*piece)] + list(live.end())


def shown(heard: list[Words]) -> tuple[str, str]:
    """The answer and the thinking that somebody sees who hears all of it."""
    content = reasoning = ""
    for words in heard:
        content, reasoning = ("", "") if words.is_anew else (content, reasoning)
        content, reasoning = content + words.content, reasoning + words.reasoning
    return content, reasoning


@given(TEXTS, st.sampled_from(["", "As said: "]), st.integers(0, 99))
def test_however_a_text_is_cut_its_parts_are_those_of_the_whole(
    text: str, reasoning: str, seed: int
) -> None:
    pieces = [("", reasoning), *((piece, "") for piece in cut(text, seed))]
    whole = part_thinking(text)
    assert shown(hear(pieces)) == (
        whole.text or "",
        "\n\n".join(filter(None, (reasoning, whole.thinking))),
    )


@pytest.mark.parametrize("text", [*WITH_ANSWER, *WITHOUT_ANSWER])
def test_letter_by_letter(text: str) -> None:
    whole = part_thinking(text)
    assert shown(hear([(letter, "") for letter in text])) == (whole.text or "", whole.thinking)


@pytest.mark.parametrize(
    "text",
    [
        "<think>Is it A? It is p < 0.05.</think>\n\nB it is up.",
        f"{HARMONY}B it is up.<|return|>",
        "[THINK]A?[/THINK]B it is up.<|im_end|>",
        "analysisWe need A?assistantfinalB it is up.",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 7])
def test_thinking_is_never_shown_as_the_answer(text: str, size: int) -> None:
    heard = hear([(text[i : i + size], "") for i in range(0, len(text), size)])
    assert not any(words.is_anew for words in heard)
    assert "".join(words.content for words in heard) == "B it is up."
    assert len([words for words in heard if words.content]) > 6 // size  # as it comes


def test_thinking_that_nothing_announced_stands_anew_where_it_ends() -> None:
    heard = hear([(word, "") for word in ("A? ", "or C? ", "</think> ", "B", " it is")])
    assert [words.is_anew for words in heard] == [False, False, True, False, False]
    assert shown(heard) == ("B it is", "A? or C?")


def test_a_field_of_thinking_that_goes_on_behind_the_contents_own() -> None:
    assert shown(hear([("", "One"), ("<think>two</think>B", ""), ("", " more")])) == (
        "B",
        "One more\n\ntwo",
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("piece", ["</think>", "<", " ", "<think>", "</s>", "<|channel|>", "word "])
def test_the_text_is_read_a_limited_number_of_times(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_read = 0

    def count(whole):
        nonlocal n_read
        n_read += len(whole)
        return part_thinking(whole)

    monkeypatch.setattr("core.llm.streaming.part_thinking", count)
    monkeypatch.setattr("core.llm.streaming._FREE", 1 << 12)
    text = piece * 4_000
    whole = part_thinking(text)
    assert shown(hear([(piece, "")] * 4_000)) == (whole.text or "", whole.thinking)
    assert n_read < 20 * len(text) + (1 << 12)
