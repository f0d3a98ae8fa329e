"""Secrets, which no text may show: what takes them out of texts, however they are spelled there."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

HIDDEN = "[key]"
# characters; a shorter secret is an ordinary word such as EMPTY or test, and hiding it everywhere
# mangles texts
SHORTEST = 8
# What stands before a secret, so that a short one is known for what it is.
_NAME = r"(?i:bearer|basic|authorization|api[-_ ]?key|token|secret|password)['\"\\]*[\s:=]+['\"\\]*"
_ENDS_AS_NAME = re.compile(rf"(?:{_NAME}|(?i:api)[-_ ])$")
_LONGEST_NAME = 40  # characters
_LONGEST_SPELLING = 6  # characters for one, such as \u0073
_LAST_WORD = re.compile(r"\S+$")
# With the frame or the indent of what breaks lines; a blank where lines were joined again.
_LINE_BREAK = r"(?:\\?(?:[ \t│|]*\r?\n[ \t│|>]*|\\+n)| )?"
_ODD = re.compile(r"[^A-Za-z0-9_.-]")  # which some encoders write by its number


class Scrubber:
    """Takes secrets out of texts. A secret of fewer than 8 characters is taken out only where a
    name such as "Bearer" or "api_key" stands before it."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted(set(secrets) - {""})
        long = [secret for secret in self._secrets if len(secret) >= SHORTEST]
        spellings = set[str]().union(*map(spellings_of, long))
        self._spellings = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
        self._broken = [
            (secret[:3], secret[-3:], re.compile(_LINE_BREAK.join(map(re.escape, secret))))
            for secret in long
        ]
        short = "|".join(map(re.escape, sorted({*self._secrets} - {*long})))
        self._short = re.compile(rf"({_NAME})(?:{short})(?![\w-])") if short else None

    def __call__(self, text: str) -> str:
        """Return the text with `[key]` instead of every secret: as it is, as JSON, HTML or a URL
        escape it, and in Base64, also behind a user's name or "Bearer";
        and as it is, broken over lines."""
        for spelling in self._spellings:
            text = text.replace(spelling, HIDDEN)
        for begins, ends, pattern in self._broken:
            if begins in text or ends in text:
                text = pattern.sub(HIDDEN, text)
        return text if self._short is None else self._short.sub(rf"\1{HIDDEN}", text)

    def split(self, text: str) -> tuple[str, str]:
        """Return a text in two: what can be shown, scrubbed, and an end that may be the beginning
        of a secret: its last word, and the name of a short one."""
        if not self._secrets:
            return text, ""
        most = _LONGEST_SPELLING * max(map(len, self._secrets))
        last = _LAST_WORD.search(text, max(0, len(text) - most))
        start = len(text) if last is None else last.start()
        if self._short is not None:
            name = _ENDS_AS_NAME.search(text, max(0, start - _LONGEST_NAME), start)
            start = start if name is None else name.start()
        return self(text[:start]), text[start:]


def spellings_of(secret: str) -> set[str]:
    """Return how a secret may stand in a text or a file: as it is, and as JSON, Python, HTML, a URL
    and Base64 write it."""
    in_json = json.dumps(secret)[1:-1]
    in_url = quote(secret, safe="")
    found = {secret, in_json, json.dumps(in_json)[1:-1], in_json.replace("/", "\\/")}
    found |= {json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]}
    found |= {repr(secret.encode())[2:-1], html.escape(secret)}
    urls = {in_url, quote(secret), quote_plus(secret), quote(in_url, safe="")}
    found |= urls | {re.sub("(?:%25|%)..", lambda code: code[0].lower(), url) for url in urls}
    for form in ("\\u{:04x}", "\\u{:04X}", "&#{};"):
        found.add("".join(form.format(ord(c)) if _ODD.match(c) else c for c in secret))
    return found.union(*(_base64_pieces(secret, offset) for offset in range(3)))


def _base64_pieces(secret: str, offset: int) -> Iterator[str]:
    """Yield what stands in a Base64 text, in both alphabets, wherever the secret begins: `offset`
    bytes after a whole group."""
    content = secret.encode("utf-8", "replace")
    encoded = b64encode(bytes(offset) + content).decode()
    first = (8 * offset + 5) // 6  # characters that other bytes have a share in
    last = 8 * (offset + len(content)) // 6
    yield from {encoded[first:last], encoded[first:last].replace("+", "-").replace("/", "_")}
