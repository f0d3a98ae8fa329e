"""Which addresses can be used, and which are local; keys are hidden in texts, however they are spelled."""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.net.addresses import check_address, is_local, scrub


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "https://api.example.org", "http://[::1]:1/v1", "http://host/a/b/"])
def test_addresses_of_servers(url: str) -> None:
    check_address("endpoint", url, "http://example.org")


@pytest.mark.parametrize(
    "url",
    [
        *("", "127.0.0.1:8000/v1", "ftp://127.0.0.1/v1", "http:///v1", "http://[", "http://127.0.0.1:99999/v1"),
        *("http://127.0.0.1:0", "http://hö.example", "http://a b/", "http://a\n/"),
        *("http://me:open-sesame@host/v1", "http://host/v1?key=open-sesame", "http://host/v1#open-sesame"),
    ],
)
def test_what_is_no_address_or_holds_a_secret(url: str) -> None:
    with pytest.raises(InputError, match=r"endpoint: .*expected one such as http://example\.org") as caught:
        check_address("endpoint", url, "http://example.org")
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://127.0.0.2", True),
        ("http://localhost:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://10.0.0.1/v1", False),
    ],
)
def test_local_addresses(url: str, local: bool) -> None:
    assert is_local(url) is local


KEY = 'sk-a/b"c\\d'
SECRET = "sk-0123456789abcdef"
IN_JSON = json.dumps(KEY)[1:-1]


def twice(text: str) -> str:
    return quote(quote(text, safe=""), safe="")


SPELLINGS = {
    "as it is": KEY,
    "JSON": IN_JSON,
    "JSON with slashes": IN_JSON.replace("/", "\\/"),
    "JSON in JSON": json.dumps(IN_JSON)[1:-1],
    "JSON by number": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "JSON by number in capitals": "".join(f"\\u{ord(c):04X}" for c in KEY),
    "URL": quote(KEY, safe=""),
    "URL in small letters": quote(KEY, safe="").lower(),
    "URL of a form": quote_plus(KEY),
    "URL twice": twice(KEY),
    "URL twice in small letters": twice(KEY).lower(),
    "URL of every character": "".join(f"%{byte:02X}" for byte in KEY.encode()),
    "URL of some": quote(KEY, safe="/"),
    "HTML": html.escape(KEY),
    "HTML by number": "".join(f"&#{ord(c)};" for c in KEY),
    "HTML by number in hexadecimal": "".join(f"&#x{ord(c):X};" for c in KEY),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_of_a_key_is_hidden(spelling: str) -> None:
    assert scrub(f"wrong key <{SPELLINGS[spelling]}>.", KEY) == "wrong key <[key]>."


KEYS = st.text(st.sampled_from("aB3-_+/=&%\"'\\ ü漢"), min_size=6, max_size=24)


@given(KEYS, st.sampled_from([quote, quote_plus, twice, html.escape, lambda key: json.dumps(key)[1:-1]]))
def test_no_encoding_lets_a_key_through(key: str, encode: Callable[[str], str]) -> None:
    assert scrub(f"<{encode(key)}>", key) == "<[key]>"
    assert scrub(f"<{encode(key).replace('%2F', '%2f')}>", key) == "<[key]>"


@given(st.text(st.sampled_from("aB3-_/ü"), min_size=6, max_size=24), st.binary(max_size=9), st.binary(max_size=9))
def test_nor_does_base64_wherever_the_key_begins(key: str, before: bytes, after: bytes) -> None:
    for encode in (b64encode, urlsafe_b64encode):
        text = encode(before + key.encode() + after).decode()
        assert "[key]" in scrub(text, key)
        left = scrub(text, key).split("[key]")
        assert all(len(part) <= 4 * (max(len(before), len(after)) // 3 + 2) for part in left)


@pytest.mark.parametrize("shown", ["Bearer {}", "user:{}", "{}:"])
def test_headers_with_a_key(shown: str) -> None:
    text = b64encode(shown.format(SECRET).encode()).decode()
    assert "[key]" in scrub(text, SECRET)


@given(st.text(max_size=40))
def test_what_holds_no_key_stays(text: str) -> None:
    assert scrub(text, "sk-0123456789-not-there") == text


@pytest.mark.parametrize("key", ["", "EMPTY", "none"])
def test_placeholders_are_not_hidden(key: str) -> None:
    assert scrub("EMPTY, none", key) == "EMPTY, none"
