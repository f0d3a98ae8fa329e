"""What a run is expected to take: calls, tokens, time and money."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import InputError
from core.methods.base import Method


def expected_calls(method: Method, options: Mapping[str, Any], rows: int) -> int:
    """Returns how many calls of a model a run takes, retries left out."""
    return math.ceil(method.calls(options) * rows) if method.needs_model else 0


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens and seconds of one call on average, measured on earlier runs."""

    prompt_tokens: float
    completion_tokens: float
    seconds: float

    def __post_init__(self) -> None:
        for name in ("prompt_tokens", "completion_tokens", "seconds"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"rate: {name} is {getattr(self, name)}, expected 0 or more")


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in any currency."""

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        for name in ("prompt", "completion"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"price: {name} is {getattr(self, name)}, expected 0 or more a million tokens")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a run is expected to take; tokens and seconds are None without a rate, money without a rate or a price."""

    calls: int
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    seconds: float | None = None
    money: float | None = None


def expect(calls: int, concurrency: int, rate: Rate | None = None, price: Price | None = None) -> Expectation:
    """Returns what so many calls take if `concurrency` of them run at a time and each takes as long as the rate says."""
    if rate is None:
        return Expectation(calls)
    prompt, completion = calls * rate.prompt_tokens, calls * rate.completion_tokens
    money = None if price is None else (prompt * price.prompt + completion * price.completion) / 1e6
    return Expectation(calls, prompt, completion, math.ceil(calls / concurrency) * rate.seconds, money)
