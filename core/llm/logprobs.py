"""Probabilities of the answer letters, from the log-probabilities of the token that holds the letter."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from scipy.special import logsumexp, softmax

from core.llm.messages import TokenLogprob
from core.llm.parsing import Unparsed, answer_span, standalone_pattern

LETTERS = ("A", "B", "C")
FLOOR_GAP = 20.0  # a letter that the server did not list gets the smallest listed log-probability minus this
_VLLM_MISSING = -9999.0  # what vLLM writes for a log-probability that it does not have
_LETTER = re.compile(r"[^A-Za-z0-9]*+([A-Za-z0-9])(?![A-Za-z0-9_])")  # after a prefix such as ">" or " "


@dataclass(frozen=True, slots=True)
class LetterProbabilities:
    """The letter that was answered and the probability of each allowed letter; the probabilities sum to 1.

    missing: letters that the server did not list, or without a usable number; their probability is a lower bound.
    """

    answered: str
    probabilities: Mapping[str, float]
    missing: tuple[str, ...] = ()


def letter_probabilities(
    tokens: Sequence[TokenLogprob], letters: Sequence[str] = LETTERS, content: str | None = None
) -> LetterProbabilities | Unparsed:
    """Softmax over the allowed letters among the alternatives at the answer letter; Unparsed if there is none.

    The answer letter is found by its offset inside the last <answer>…</answer> of the joined tokens, so that it does not
    matter how the text is cut into tokens. A letter that several alternatives spell ("A", " A") gets the sum of their
    probabilities. A letter that none spells, or only with −inf, NaN or −9999, gets the smallest log-probability minus 20;
    if that is the answered letter, the result is Unparsed. content: the text of the reply, if the tokens may also hold
    reasoning; it must give the same letter.
    """
    text = "".join(token.token for token in tokens)
    offset = _answer_offset(text, letters)
    if isinstance(offset, Unparsed):
        return offset
    answered = text[offset]
    if content is not None:
        place = _answer_offset(content, letters)
        if isinstance(place, Unparsed) or content[place] != answered:
            other = place.reason if isinstance(place, Unparsed) else content[place]
            return Unparsed(f"the tokens answer {answered}, the content: {other}")
    logprobs = _letter_logprobs(*_token_at(tokens, offset), letters)
    if answered not in logprobs:
        return Unparsed(f"the answer {answered} has no log-probability")
    floor = min(logprobs.values()) - FLOOR_GAP
    probabilities = softmax([logprobs.get(letter, floor) for letter in letters])
    missing = tuple(letter for letter in letters if letter not in logprobs)
    return LetterProbabilities(answered, dict(zip(letters, map(float, probabilities), strict=True)), missing)


def is_missing(logprob: float) -> bool:
    """Whether a server sends this number for a log-probability that it does not have."""
    return not math.isfinite(logprob) or logprob <= _VLLM_MISSING


def _answer_offset(text: str, letters: Sequence[str]) -> int | Unparsed:
    """The offset of the answer letter in the text."""
    span = answer_span(text)
    if span is None:
        return Unparsed("no <answer>")
    offsets = {letter: match.start() for letter in letters if (match := standalone_pattern(letter).search(text, *span))}
    if len(offsets) != 1:
        return Unparsed(f"<answer> names {' and '.join(offsets) or 'none'} of {', '.join(letters)}, expected one")
    return next(iter(offsets.values()))


def _token_at(tokens: Sequence[TokenLogprob], offset: int) -> tuple[TokenLogprob, int]:
    """The token that holds the character at an offset of the joined tokens, and the offset inside that token."""
    ends = list(accumulate(len(token.token) for token in tokens))
    index = bisect_right(ends, offset)
    return tokens[index], offset - (ends[index] - len(tokens[index].token))


def _letter_logprobs(token: TokenLogprob, offset: int, letters: Sequence[str]) -> dict[str, float]:
    """The log-probability of each letter that an alternative, or the token itself, spells at the offset."""
    prefix = token.token[:offset]
    by_text: dict[str, float] = {}
    for text, logprob in (*token.alternatives, (token.token, token.logprob)):
        if not is_missing(logprob):
            by_text.setdefault(text, logprob)
    by_letter: dict[str, list[float]] = {}
    for text, logprob in by_text.items():
        match = _LETTER.match(text.removeprefix(prefix))
        if match and match[1] in letters:
            by_letter.setdefault(match[1], []).append(logprob)
    return {letter: float(logsumexp(logprobs)) for letter, logprobs in by_letter.items()}
