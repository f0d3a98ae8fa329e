"""The passage of a text that a model marks as what decided its answer: taken out of the reply, and
found in the text."""

from __future__ import annotations

import re
from dataclasses import replace

from core.llm.messages import Reply, TokenLogprob

FEWEST_WORDS = 2  # one word alone stands in many places, and so marks none
_PASSAGE = re.compile(r"<passage>(.*?)(?:</passage>|\Z)", re.IGNORECASE | re.DOTALL)
QUOTES = "\"'“”‘’«»„`* \n\t"


def take_passage(reply: Reply) -> tuple[Reply, str]:
    """Return a reply without its passage, and the passage, "" without one.

    What is copied may look like an answer, so that the letter is read from what remains, and from
    its tokens alone.
    """
    found = _PASSAGE.search(reply.content)
    if found is None:
        return reply, ""
    content = reply.content[: found.start()] + reply.content[found.end() :]
    tokens = (
        None if reply.logprobs is None else _outside(reply.logprobs, reply.content, found.span())
    )
    return replace(reply, content=content.strip(), logprobs=tokens), found[1].strip(QUOTES)


def find_passage(text: str, passage: str) -> str:
    """Return a passage as it stands in a text, whatever its white space; "" if it does not, or is a
    single word."""
    words = passage.split()
    if len(words) < FEWEST_WORDS:
        return ""
    spelled = r"\s+".join(map(re.escape, words))
    found = re.search(rf"(?<!\w){spelled}(?!\w)", text)
    return found[0] if found else ""


def _outside(
    tokens: tuple[TokenLogprob, ...], content: str, span: tuple[int, int]
) -> tuple[TokenLogprob, ...]:
    """Return the tokens that do not lie within a span of the content, before which they may hold
    the thinking."""
    begin = max("".join(token.token for token in tokens).rfind(content), 0)
    left, place = [], -begin
    for token in tokens:
        end = place + len(token.token)
        if place < span[0] or end > span[1]:
            left.append(token)
        place = end
    return tuple(left)
