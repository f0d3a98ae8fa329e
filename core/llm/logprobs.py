"""Probabilities of the answer letters, from the log-probabilities of the token with the letter."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from core.llm.answers import Unread, find_letter, readable
from core.llm.completion import part_thinking
from core.llm.messages import TokenLogprob

LETTERS = ("A", "B", "C")
# a letter that the server did not list gets the smallest listed log-probability minus this
FLOOR_GAP = 20.0
_VLLM_MISSING = -9999.0  # what vLLM writes for a log-probability that it does not have
# after a prefix such as ">" or " "
_LETTER = re.compile(r"[^A-Za-z0-9]*+([A-Za-z0-9])(?![A-Za-z0-9_])")


@dataclass(frozen=True, slots=True)
class LetterProbabilities:
    """The letter that was answered and the probability of each allowed letter; the probabilities
    sum to 1.

    That of a letter that the server did not list, or without a usable number, is a lower bound.
    """

    answered: str
    probabilities: Mapping[str, float]


def letter_probabilities(
    tokens: Sequence[TokenLogprob], letters: Sequence[str] = LETTERS, content: str | None = None
) -> LetterProbabilities | Unread:
    """Return softmax over the allowed letters among the alternatives at the answer letter; Unread
    if there is none.

    The answer letter is found by its offset inside the last <answer>…</answer> of the joined
    tokens, so that it does not matter how the text is cut into tokens. A letter that several
    alternatives spell ("A", " A") gets the sum of their probabilities. A letter that none spells,
    or only with −inf, NaN or −9999, gets the smallest log-probability minus 20; if that is the
    answered letter, the result is Unread. content: the final text of the reply; the tokens may also
    hold its thinking, in which no answer is looked for, and must give the same letter.
    """
    from scipy.special import softmax

    text = "".join(token.token for token in tokens)
    start = text.rfind(content) if content else -1
    end = start + len(content or "")
    if start < 0:
        parts = part_thinking(text)
        start, end = parts.start, parts.end
    place = find_letter(text[start:end], letters)
    if isinstance(place, Unread):
        return place
    answered, offset = place[0], start + place[1]
    if content is not None:
        said = find_letter(content, letters)
        if isinstance(said, Unread) or said[0] != answered:
            other = said.reason if isinstance(said, Unread) else said[0]
            return Unread(f"the tokens answer {answered}, the content: {other}")
    ends = list(accumulate(len(token.token) for token in tokens))
    index = bisect_right(ends, offset)
    logprobs = _letter_logprobs(
        *(tokens[index], offset - (ends[index] - len(tokens[index].token))), letters
    )
    if answered not in logprobs:
        return Unread(f"the answer {answered} has no log-probability")
    floor = min(logprobs.values()) - FLOOR_GAP
    probabilities = softmax([logprobs.get(letter, floor) for letter in letters])
    return LetterProbabilities(answered, dict(zip(letters, map(float, probabilities), strict=True)))


def is_missing(logprob: float) -> bool:
    """Return whether a server sends this number for a log-probability that it does not have."""
    return not math.isfinite(logprob) or logprob <= _VLLM_MISSING


def _letter_logprobs(token: TokenLogprob, offset: int, letters: Sequence[str]) -> dict[str, float]:
    """Return the log-probability of each letter that the token or an alternative has at the offset.

    Only letters in the case of the token's own count.
    """
    from scipy.special import logsumexp

    prefix = token.token[:offset]
    is_small = token.token[offset].islower()
    as_written = {letter.lower() if is_small else letter: letter for letter in letters}
    by_text: dict[str, float] = {}
    for text, logprob in (*token.alternatives, (token.token, token.logprob)):
        if not is_missing(logprob):
            by_text.setdefault(text, logprob)
    by_letter: dict[str, list[float]] = {}
    for text, logprob in by_text.items():
        match = _LETTER.match(readable(text.removeprefix(prefix)))
        letter = as_written.get(match[1]) if match else None
        if letter is not None:
            by_letter.setdefault(letter, []).append(logprob)
    return {letter: float(logsumexp(logprobs)) for letter, logprobs in by_letter.items()}
