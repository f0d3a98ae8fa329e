"""How a completion ended, by its finish_reason: an answer is whole only if it is known to be."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Ending = Literal["whole", "cut", "declined", "failed", "tool call", "unknown"]

# In the words of OpenAI, vLLM, SGLang, TGI, Anthropic, Gemini, Bedrock, Mistral, DeepSeek, Zhipu, OpenRouter and Inspect.
_WORDS: Mapping[Ending, tuple[str, ...]] = {
    "whole": ("stop", "eos", "eos_token", "end_turn", "stop_sequence", "stop_token"),
    "cut": (
        *("length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit", "incomplete"),
        *("model_context_window_exceeded", "context_length_exceeded", "context_window_exceeded"),
    ),
    "declined": (
        *("content_filter", "content_filtered", "refusal", "refused", "safety", "recitation", "blocklist", "blocked"),
        *("prohibited_content", "spii", "image_safety", "language", "guardrail_intervened", "sensitive"),
    ),
    "failed": (
        *("error", "abort", "aborted", "cancelled", "canceled", "failed", "timeout", "network_error", "unexpected_error"),
        *("insufficient_system_resource", "malformed_response", "overloaded"),
    ),
    "tool call": ("tool_calls", "tool_call", "tool_use", "function_call", "malformed_function_call"),
}
_ENDINGS: Mapping[str, Ending] = MappingProxyType({word: ending for ending, words in _WORDS.items() for word in words})


def ending_of(finish_reason: str) -> Ending:
    """Return what a finish_reason says, in any case and whatever its prefix (FINISH_REASON_STOP); "" is an unknown one."""
    word = finish_reason.strip().lower().removeprefix("finish_reason_").replace("-", "_").replace(" ", "_")
    return _ENDINGS.get(word, "unknown")
