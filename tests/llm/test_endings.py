from __future__ import annotations

import pytest

from core.llm.endings import ending_of


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (["stop", "STOP", "eos", "eos_token", "end_turn", "stop_sequence", "FINISH_REASON_STOP"], "whole"),
        (["length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "token_limit", "model_length"], "cut"),
        (["content_filter", "content-filter", "refusal", "SAFETY", "RECITATION", "guardrail_intervened"], "declined"),
        (["error", "abort", "insufficient_system_resource", "cancelled"], "failed"),
        (["tool_calls", "function_call", "tool_use"], "tool call"),
        (["", "null", "stopped maybe", "pause_turn", "other", "完了"], "unknown"),
    ],
)
def test_what_a_finish_reason_says(words: list[str], ending: str) -> None:
    assert {ending_of(word) for word in words} == {ending}
