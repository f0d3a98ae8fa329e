"""Probabilities of the answer letters, from the log-probabilities at the token that carries the letter."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from scipy.special import logsumexp, softmax

from core.llm.messages import TokenLogprob
from core.llm.parsing import Unparsed, alone, answer_span

LETTERS = ("A", "B", "C")
BEHIND = 20.0  # how far a letter that the server did not list stands behind the last that it did
_NOTHING = -9999.0  # what vLLM writes for a log-probability that it does not have
_SPELLS = re.compile(r"[^A-Za-z0-9]*+([A-Za-z0-9])(?![A-Za-z0-9_])")  # a letter behind a prefix such as ">" or " "


@dataclass(frozen=True, slots=True)
class LetterProbabilities:
    """The letter that was answered and the probability of each allowed letter, which sum to 1.

    missing: letters that the server did not list, or without a usable number; their probability is a floor.
    """

    answered: str
    probabilities: Mapping[str, float]
    missing: tuple[str, ...] = ()


def letter_probabilities(
    tokens: Sequence[TokenLogprob], letters: Sequence[str] = LETTERS, content: str | None = None
) -> LetterProbabilities | Unparsed:
    """Softmax over the allowed letters among the alternatives at the answer letter; Unparsed where it cannot be had.

    The letter is found by its offset inside the last <answer>…</answer> of all tokens together, so that it does not matter
    how the text is cut into tokens. A letter that several alternatives spell ("A", " A") has the sum of their
    probabilities; one that none spells, or only with −inf, NaN or −9999, gets the smallest found minus 20; but where that
    befalls the letter that was answered, the numbers are broken. content: what the reply says, where tokens may hold
    reasoning as well; it must give the same letter.
    """
    text = "".join(token.token for token in tokens)
    offset = _letter_at(text, letters)
    if isinstance(offset, Unparsed):
        return offset
    answered = text[offset]
    if content is not None:
        said = _letter_at(content, letters)
        if isinstance(said, Unparsed) or content[said] != answered:
            other = said.reason if isinstance(said, Unparsed) else content[said]
            return Unparsed(f"the tokens answer {answered}, the content: {other}")
    found = _spelled(*_token_at(tokens, offset), letters)
    if answered not in found:
        return Unparsed(f"the answer {answered} has no log-probability")
    floor = min(found.values()) - BEHIND
    odds = softmax([found.get(letter, floor) for letter in letters])
    missing = tuple(letter for letter in letters if letter not in found)
    return LetterProbabilities(answered, dict(zip(letters, map(float, odds), strict=True)), missing)


def is_missing(logprob: float) -> bool:
    """Whether this stands for a log-probability that the server does not have."""
    return not math.isfinite(logprob) or logprob <= _NOTHING


def _letter_at(text: str, letters: Sequence[str]) -> int | Unparsed:
    """The offset of the answer letter."""
    span = answer_span(text)
    if span is None:
        return Unparsed("no <answer>")
    found = {letter: match.start() for letter in letters if (match := alone(letter).search(text, *span))}
    if len(found) != 1:
        return Unparsed(f"<answer> names {' and '.join(found) or 'none'} of {', '.join(letters)}, expected one")
    return next(iter(found.values()))


def _token_at(tokens: Sequence[TokenLogprob], offset: int) -> tuple[TokenLogprob, int]:
    """The token that holds a character of the whole text, and where in the token."""
    ends = list(accumulate(len(token.token) for token in tokens))
    place = bisect_right(ends, offset)
    return tokens[place], offset - (ends[place] - len(tokens[place].token))


def _spelled(token: TokenLogprob, offset: int, letters: Sequence[str]) -> dict[str, float]:
    """The log-probability of each letter that an alternative spells, or the token where it is not among them."""
    prefix = token.token[:offset]
    by_text: dict[str, float] = {}
    for text, logprob in (*token.alternatives, (token.token, token.logprob)):
        if not is_missing(logprob):
            by_text.setdefault(text, logprob)
    by_letter: dict[str, list[float]] = {}
    for text, logprob in by_text.items():
        match = _SPELLS.match(text.removeprefix(prefix))
        if match and match[1] in letters:
            by_letter.setdefault(match[1], []).append(logprob)
    return {letter: float(logsumexp(logprobs)) for letter, logprobs in by_letter.items()}
