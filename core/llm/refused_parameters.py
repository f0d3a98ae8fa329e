"""What a server refuses of a request, and which setting helps."""

from __future__ import annotations

import re

from core.llm.messages import LIMIT_NAMES, SAMPLING
from core.net.retry import Fault

_LOGPROBS = re.compile(r"log[\s_-]?prob", re.IGNORECASE)
_AT_MOST = re.compile(
    r"(?:(?:less|lower) than or equal to|at most|no more than|up to|<=|≤|not exceed|maximum|max|between \d+ and|\[\d+, ?)"
    r"[^\d\n]{0,30}(\d{1,2})\b",
    re.IGNORECASE,
)
_STEPS = (
    10,
    5,
)  # down from what was asked for, where a server does not say how many it allows; five are enough for three letters


def refuses_logprobs(fault: Fault) -> bool:
    """Whether a server rejects a request because of its log-probabilities, or of their number."""
    return fault.kind == "refused" and _LOGPROBS.search(fault.message) is not None


def fewer_logprobs(fault: Fault, asked: int | None) -> int | None:
    """Return how many log-probabilities to ask for instead of those that a server refused: what it says that it allows, else, if
    it is their number that it refuses, the next smaller one; None if it wants none."""
    if asked is None:
        return None
    said = [int(number) for number in _AT_MOST.findall(fault.message)]
    allowed = [number for number in said if 1 <= number < asked]
    if allowed:
        return max(allowed)
    return next((step for step in _STEPS if step < asked), None) if "top_logprobs" in fault.message else None


def describe_remedy(message: str) -> str:
    """Return which setting sends a request without what a server's message names, "" if none does."""
    if LIMIT_NAMES[0] in message:
        return f"set --limit-name {LIMIT_NAMES[1]}"
    if re.search(rf"\b{LIMIT_NAMES[1]}\b.{{0,60}}(?:not supported|unsupported)", message):
        return f"set --limit-name {LIMIT_NAMES[0]}"
    refused = [name for name in SAMPLING if re.search(rf"(?<![\w-]){name}(?![\w-])", message)]
    if refused:
        return f"set --leave-out {','.join(refused)}"
    return "set --auth-header api-key if it is Azure's" if "subscription key" in message else ""
