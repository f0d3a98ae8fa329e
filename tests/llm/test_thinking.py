from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.llm.completion import ending_of, part_thinking

HARMONY = "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>"


WITH_ANSWER = [
    "B", "<think>A?</think>B", "<think>\nA?\n</think>\n\nB", "A?</think>B", "<thinking>A?</thinking>\nB",
    "<think></think>\n\nB", "<reasoning>A?</reasoning>B", "<thought>A?</thought>B", "<seed:think>A?</seed:think>B",
    "[THINK]A?[/THINK]B", "◁think▷A?◁/think▷B", "<THINK>A?</THINK>B", "&lt;think&gt;A?&lt;/think&gt;B",
    "< think >A?< / think >B", "<think>A?</think>C?<think>A?</think>B", "<think>A? </think> no </think>B",
    "<unused94>thought A?<unused95>B", "<|START_THINKING|>A?<|END_THINKING|><|START_RESPONSE|>B<|END_RESPONSE|>",
    "<scratchpad>A?</scratchpad>B", "<|begin_of_thought|>A?<|end_of_thought|><|begin_of_solution|>B<|end_of_solution|>",
    f"{HARMONY}B", f"{HARMONY}B<|return|>", f"<|start|>assistant{HARMONY}B<|end|>", f"{HARMONY}C<|end|>{HARMONY}B",
    "final A?<|end|><|channel|>final<|message|>B", "<|channel|>final <|constrain|>json<|message|>B",
    "analysisWe need A?assistantfinalB", "B<|im_end|>", "B</s>", "B<|eot_id|>\n",
    "A?<|end|><|start|>assistant<|channel|>final<|message|>B",
    "<think lang=en>A?</think>B", "<longcat_think>A?</longcat_think>B", "<mm:think>A?</mm:think>B", "<|think|>A?<|/think|>B",
    "<|thinking|>A?<|/thinking|>B", "A?<|end_of_thinking|>B", "<｜begin▁of▁thinking｜>A?<｜end▁of▁thinking｜>B",
    "<reason>A?</reason>B", "<rationale>A?</rationale>\n\nB", "<reflection>A?</reflection>B", "<analysis>A?</analysis>B",
    "<chain_of_thought>A?</chain_of_thought>B", "<CoT>A?</CoT>B", "<thinking>A?</thinking>B",
    "<antthinking>A?</antthinking>B", "<reasoning_content>A?</reasoning_content>B",
    "<internal_monologue>A?</internal_monologue>B",
]  # fmt: skip


@pytest.mark.parametrize("whole", WITH_ANSWER)
def test_the_answer_is_what_follows_the_thinking(whole: str) -> None:
    found = part_thinking(whole)
    assert found.text == "B"
    assert whole[found.start : found.end] == "B"
    assert not set("<|[◁") & set(found.thinking)


def test_the_thinking_is_kept() -> None:
    for whole in (
        "<think>A?</think>B",
        "A?</think>B",
        f"{HARMONY}B",
        "[THINK]A?[/THINK]\n\nB",
        "<think>A?",
    ):
        assert part_thinking(whole).thinking == "A?"


WITHOUT_ANSWER = [
    "", " \n", "<think>A", "<think>A</think>", "<think>A</think>\n", "A</think>", "<think>A</think>B<think>C", "[THINK]A",
    "<|channel|>analysis<|message|>A<|end|>", "<|channel|>commentary<|message|>{}<|end|>", "<|channel|>analysis", "◁think▷A",
    f"{HARMONY}", f"{HARMONY}<|return|>", "analysisWe need A", "<|START_THINKING|>A", "<unused94>thought A", "&lt;think&gt;A",
    "<reasoning>A", "<|im_end|>", "<think lang=en>A", "<analysis>A", "<|thinking|>A", "<longcat_think>A", "<rationale>A",
]  # fmt: skip


@pytest.mark.parametrize("whole", WITHOUT_ANSWER)
def test_only_thinking_is_no_answer(whole: str) -> None:
    found = part_thinking(whole)
    assert (found.text, found.start, found.end) == (None, len(whole), len(whole))


@pytest.mark.parametrize(
    "text",
    [
        "I think it is B.",
        "analysis of variance: B",
        "thinking > doing",
        "a < b, c > d",
        "[think] B",
        "  B\n",
        "<analyst>B",
        "<reasons>B",
        "x <cotton> B",
    ],
)
def test_text_without_thinking_stays_as_it_is(text: str) -> None:
    assert part_thinking(text) == (text, "", 0, len(text))


PIECES = [
    "<think>",
    "</think>",
    "<|channel|>",
    "final",
    "analysis",
    "<|message|>",
    "<|end|>",
    "B",
    " ",
    "\n",
    "&lt;",
    "assistantfinal",
    "</s>",
]


@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_the_answer_is_a_part_of_the_text(whole: str) -> None:
    found = part_thinking(whole)
    assert found.text is None or (
        found.text.strip() and whole[found.start : found.end] == found.text
    )
    assert "<think>" not in (found.text or "")


@pytest.mark.few(10)
@pytest.mark.parametrize("piece", [*PIECES, "<", "&lt;think", "<|channel|>x<|message|>", "<|a|>"])
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    def seconds(n):
        text = piece * (n // len(piece))
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            part_thinking(text)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(160_000) < 64 * seconds(10_000) + 0.05


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (
            [
                "stop",
                "STOP",
                "eos_token",
                "end_turn",
                "",
                "FINISH_REASON_STOP",
                "FinishReason.STOP",
                "COMPLETE",
            ],
            "whole",
        ),
        (["<|eot_id|>", "<|im_end|>", "</s>", "<end_of_turn>", "<eos>", "done"], "whole"),
        (
            [
                "length",
                "max_tokens",
                "MAX_TOKENS",
                "model_context_window_exceeded",
                "token_limit",
                "model_length",
            ],
            "cut",
        ),
        (
            [
                "content_filter",
                "content-filter",
                "refusal",
                "SAFETY",
                "RECITATION",
                "guardrail_intervened",
            ],
            "declined",
        ),
        (["error", "abort", "insufficient_system_resource", "cancelled"], "failed"),
        (["tool_calls", "function_call", "tool_use"], "tool call"),
        (["null", "stopped maybe", "<b>", "pause_turn", "other", "完了"], "unknown"),
    ],
)
def test_what_a_finish_reason_says(words: list[str], ending: str) -> None:
    assert {ending_of(word) for word in words} == {ending}
