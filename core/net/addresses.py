"""Addresses of servers: which can be used, and which are on this machine; and keys, which no text may show."""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urlsplit

from core.errors import InputError

_HIDDEN = "[key]"
_MIN_LENGTH = 6  # shorter keys are placeholders such as EMPTY; hiding them would mangle ordinary words


def check_address(name: str, url: str, example: str) -> None:
    """Raises InputError if `url` is not the address of a server.

    An address is http or https with a host, in printable ASCII, without user name, password, query and fragment, which
    may hold secrets and so are not shown. name: what the address belongs to; example: an address for the message.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{name}: the address cannot be read, expected one such as {example}") from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError(f"{name}: the address holds a name, a password or a query (not shown), expected one such as {example}")
    printable = all("!" <= character <= "~" for character in url)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not printable:
        raise InputError(f"{name}: address {url!r}, expected one such as {example}")


def is_local(url: str) -> bool:
    """Whether an address is on this machine: no proxy may stand in between. One that cannot be read is not."""
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether a host's name or number is this machine's own, which no other machine reaches. Other names are not looked up."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def scrub(text: str, key: str) -> str:
    """The text with `[key]` in place of the key, however each of its characters is spelled: as it is, as JSON, HTML or a URL
    escape it (once or twice, in either case), and in Base64, also behind a user's name or "Bearer".

    Keys of fewer than 6 characters are left in.
    """
    if len(key) < _MIN_LENGTH:
        return text
    return _spellings(key).sub(_HIDDEN, text)


@lru_cache(maxsize=16)
def _spellings(key: str) -> re.Pattern[str]:
    """A pattern for every spelling of a key."""
    in_base64 = [re.escape(piece) for offset in range(3) for piece in _base64_pieces(key.encode("utf-8", "replace"), offset)]
    return re.compile("|".join(["".join(map(_character_pattern, key)), *in_base64]))


def _character_pattern(character: str) -> str:
    in_url = "".join(f"%(?:25)*(?i:{byte:02x})" for byte in character.encode("utf-8", "replace"))
    code = ord(character)
    escapes = [
        in_url,
        rf"\\+u(?i:{code:04x})",
        rf"&\#(?:0*{code}|(?i:x0*{code:x}));",
        *({" ": [r"\+"], "/": [r"\\+/"], '"': [r"\\+\"", "&quot;"], "\\": [r"\\\\+"]}.get(character, [])),
        *({"&": ["&amp;"], "<": ["&lt;"], ">": ["&gt;"], "'": [r"\\+'", "&\\#x27;"]}.get(character, [])),
        re.escape(character),  # last, since it may be how another begins
    ]
    return f"(?:{'|'.join(escapes)})"


def _base64_pieces(content: bytes, offset: int) -> Iterator[str]:
    """Yields what stands in a Base64 text, in both alphabets, wherever `content` begins: `offset` bytes after a whole group."""
    encoded = b64encode(bytes(offset) + content).decode()
    first = (8 * offset + 5) // 6  # characters that other bytes have a share in
    last = 8 * (offset + len(content)) // 6
    piece = encoded[first:last]
    yield from {piece, piece.replace("+", "-").replace("/", "_")}
