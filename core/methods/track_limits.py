"""The limits of the challenge's tracks for each row; methods obey them and submissions are checked against them."""

from __future__ import annotations

from typing import Final

A_PROMPT_TOKENS: Final = 4_096
B_PROMPT_TOKENS: Final = 16_384  # of the system prompt with the definitions of its tools
B_TOOL_CALLS: Final = 250
B_TOOLS: Final = 100  # distinct ones
C_NEW_TOKENS: Final = 16_000
