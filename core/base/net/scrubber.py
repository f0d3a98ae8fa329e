"""Secrets, which no text may show: what takes them out of texts, however they are spelled there."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote

HIDDEN = "[key]"
# characters; a shorter secret is an ordinary word such as EMPTY or test, and hiding it everywhere
# mangles texts
SHORTEST = 8
# What stands before a secret, so that a short one is known for what it is.
_NAME = re.compile(
    r"(?:bearer|basic|authorization|api[-_ ]?key|token|secret|password)['\"\\]*[\s:=]+['\"\\]*$",
    re.IGNORECASE,
)
_LONGEST_NAME = 40  # characters
_HALF_A_NAME = re.compile(r"api[-_ ]$", re.IGNORECASE)  # of which the other half may come
# With the frame or the indent of what breaks lines; a blank where lines were joined again.
_LINE_BREAK = r"(?:\\?(?:[ \t│|]*\r?\n[ \t│|>]*|\\+n)| )?"


_LONGEST_SPELLING = 6  # characters for one, such as \u0073
_LAST_WORD = re.compile(r"\S+$")
_LAST_WORD_AND_BLANKS = re.compile(r"(\S+)\s+$")


class Scrubber:
    """Takes secrets out of texts. A secret of fewer than 8 characters is taken out only where a
    name such as "Bearer" or "api_key" stands before it."""

    def __init__(self, secrets: Iterable[str]) -> None:
        ordered = sorted(set(secrets) - {""}, key=lambda secret: (-len(secret), secret))
        self._long = tuple(secret for secret in ordered if len(secret) >= SHORTEST)
        self._short = tuple(secret for secret in ordered if len(secret) < SHORTEST)

    def __call__(self, text: str) -> str:
        """Return the text with `[key]` instead of every secret: as it is, as JSON, HTML or a URL
        escape it (once or twice, in either case), in Base64, also behind a user's name or "Bearer",
        and broken over lines."""
        if self._long and _may_hold(self._long, text):
            text = _pattern(self._long).sub(HIDDEN, text)
        for start, end in reversed(list(_find_short(text, self._short))):
            text = f"{text[:start]}{HIDDEN}{text[end:]}"
        return text

    def find(self, text: str) -> list[tuple[int, int]]:
        """Return where secrets stand in a text, and where one was taken out of it: begins and
        ends."""
        if not self._long and not self._short:
            return []
        found = [match.span() for match in re.finditer(re.escape(HIDDEN), text)]
        if self._long and _may_hold(self._long, text):
            found += [match.span() for match in _pattern(self._long).finditer(text)]
        return sorted([*found, *_find_short(text, self._short)])

    def split(self, text: str) -> tuple[str, str]:
        """Return a text in two: what can be shown, scrubbed, and an end that may be the beginning
        of a secret: its last word, and the one before that if a secret begins as it ends, since a
        line may break there; also the name of a short one."""
        if not self._long and not self._short:
            return text, ""
        most = _LONGEST_SPELLING * max(map(len, self._long + self._short))
        last = _LAST_WORD.search(text, max(0, len(text) - most))
        start = len(text) if last is None else last.start()
        before = _LAST_WORD_AND_BLANKS.search(text, max(0, start - most), start)
        if before is not None and any(
            before[1].endswith(secret[:n])
            for secret in self._long
            for n in range(4, len(secret) + 1)
        ):
            start = before.start()
        if self._short:
            begin = max(0, start - _LONGEST_NAME)
            found = _NAME.search(text, begin, start) or _HALF_A_NAME.search(text, begin, start)
            start = start if found is None else found.start()
        return self(text[:start]), text[start:]


def escapes_of(secret: str) -> set[bytes]:
    """Return the spellings of a secret in a file: as it is, and as JSON, HTML and a URL escape
    it."""
    return {
        text.encode()
        for text in (secret, json.dumps(secret)[1:-1], html.escape(secret), quote(secret, safe=""))
    }


def _find_short(text: str, secrets: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Yield where the short secrets stand that follow a name of what is secret."""
    if any(secret in text for secret in secrets):
        for found in re.finditer(
            rf"(?<![\w-])(?:{'|'.join(map(re.escape, secrets))})(?![\w-])", text
        ):
            if _NAME.search(text, max(0, found.start() - _LONGEST_NAME), found.start()):
                yield found.span()


def _may_hold(secrets: tuple[str, ...], text: str) -> bool:
    """Return False if no spelling of a secret can stand in a text, which takes a hundredth of the
    time of looking for each."""
    pieces, escaped, has_others = _traces(secrets)
    return (
        has_others
        or any(piece in text for piece in pieces)
        or (escaped is not None and escaped.search(text) is not None)
    )


@lru_cache(maxsize=16)
def _traces(secrets: tuple[str, ...]) -> tuple[tuple[str, ...], re.Pattern[str] | None, bool]:
    """Return pieces of which one stands in a text that holds a secret, unless a character of theirs
    is escaped by its number; a pattern for such escapes; and whether a secret has no such
    pieces."""
    pieces: set[str] = set()
    characters: set[str] = set()
    for secret in secrets:
        found = _pieces(secret)
        if not found:
            return (), None, True
        pieces |= found
        characters |= set("".join(found))
        for offset in range(3):
            for in_base64 in _base64_pieces(secret, offset):
                pieces |= _pieces(in_base64) or {in_base64[:2]}
    escaped = "|".join(escape for character in sorted(characters) for escape in _numbers(character))
    return (
        tuple(sorted(pieces)),
        re.compile(rf"(?=%|&\#|\\+[ux])(?:{escaped})") if escaped else None,
        False,
    )


def _pieces(text: str) -> set[str]:
    """Return the first, a middle and the last piece of a text whose characters no escape changes
    but one by number: a break of a line cannot fall into all of them."""
    n = 6 if len(text) >= 18 else 4
    found = [piece.group(1) for piece in re.finditer(rf"(?=([\w.~-]{{{n}}}))", text, re.ASCII)]
    return {found[0], found[len(found) // 2], found[-1]} if found else set()


@lru_cache(maxsize=16)
def _pattern(secrets: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for every spelling of some secrets."""
    begins = "".join(
        sorted({re.escape(first) for secret in secrets for first in _first_characters(secret)})
    )
    return re.compile(
        f"(?=[{begins}%\\\\&])"
        f"(?:{'|'.join(spelling for secret in secrets for spelling in _spellings(secret))})"
    )


def _spellings(secret: str) -> Iterator[str]:
    """Yield patterns for the spellings of a secret."""
    yield _LINE_BREAK.join(map(_character_pattern, secret))
    for offset in range(3):
        yield from (
            _LINE_BREAK.join(map(re.escape, piece)) for piece in _base64_pieces(secret, offset)
        )


def _first_characters(secret: str) -> Iterator[str]:
    """Yield how the spellings of a secret may begin, but for escapes."""
    yield from {secret[0], "+" if secret[0] == " " else secret[0]}
    yield from (piece[0] for offset in range(3) for piece in _base64_pieces(secret, offset))


def _numbers(character: str) -> Iterator[str]:
    """Yield patterns for a character that is escaped by its number: in a URL, in JSON, in Python's
    `repr` and in HTML."""
    code = ord(character)
    yield "".join(f"%(?:25)*(?i:{byte:02x})" for byte in character.encode("utf-8", "replace"))
    yield rf"\\+u(?i:{code:04x})"
    yield rf"\\+x(?i:{code:02x})"
    yield rf"&\#(?:0*{code}|(?i:x0*{code:x}));"


def _character_pattern(character: str) -> str:
    named = {
        " ": [r"\+"],
        "/": [r"\\+/"],
        '"': [r"\\+\"", "&quot;"],
        "\\": [r"\\\\+"],
        "'": [r"\\+'", "&\\#x27;"],
    }
    named |= {"&": ["&amp;"], "<": ["&lt;"], ">": ["&gt;"]}
    # The character itself is last, since it may be how another begins.
    escapes = [*_numbers(character), *named.get(character, []), re.escape(character)]
    return f"(?:{'|'.join(escapes)})"


def _base64_pieces(secret: str, offset: int) -> Iterator[str]:
    """Yield what stands in a Base64 text, in both alphabets, wherever the secret begins: `offset`
    bytes after a whole group."""
    content = secret.encode("utf-8", "replace")
    encoded = b64encode(bytes(offset) + content).decode()
    first = (8 * offset + 5) // 6  # characters that other bytes have a share in
    last = 8 * (offset + len(content)) // 6
    piece = encoded[first:last]
    yield from sorted({piece, piece.replace("+", "-").replace("/", "_")})
